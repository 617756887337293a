package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// raw sends bytes as no client of HTTP would, and reads one answer.
func (h *harness) raw(method, path, headers, body string) reply {
	h.Helper()
	conn, err := new(net.Dialer).DialContext(h.Context(), "tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.Fatal(err)
	}
	defer conn.Close()
	sent := make(chan error, 1)
	go func() {
		_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s", method, path, len(body), headers, body)
		sent <- err // the server may have closed the connection before
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		h.Fatalf("%.60s %.60q: %v", method, path, err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	_ = conn.Close()
	<-sent
	return reply{res.StatusCode, strings.TrimSpace(string(data)), res.Header}
}

// wantReadableError checks that an answer is one refusal, in JSON, that a person can read.
func (h *harness) wantReadableError(what string, r reply, codes ...int) {
	h.Helper()
	fits := false
	for _, c := range codes {
		fits = fits || r.code == c
	}
	var v map[string]any
	dec := json.NewDecoder(strings.NewReader(r.body))
	err := dec.Decode(&v)
	_, more := dec.Token()
	text, _ := v["error"].(string)
	if !fits || err != nil || more != io.EOF || text == "" || len(text) > 2000 || strings.ContainsAny(text, "\x00\r") ||
		!strings.HasPrefix(r.head.Get("Content-Type"), "application/json") || r.head.Get("Location") != "" || strings.Contains(text, "goroutine") {
		h.Errorf("%s: %d %.300s, want %v", what, r.code, r.body, codes)
	}
}

func TestInvalidPathIs404(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	ref := h.create(h.op, `{"intent":"look"}`)
	auth := "Authorization: Bearer " + h.op + "\r\n"
	long := strings.Repeat("x", 8000)
	for _, path := range []string{
		root + "/requests/..", root + "/requests/../../../../etc/passwd", root + "/requests/./" + ref, root + "/requests/" + ref + "/../" + ref,
		root + "/requests/%2e%2e", root + "/requests/..%2f..%2fetc%2fpasswd", root + "/requests/%2Fetc%2Fpasswd", root + "/requests/%00", root + "/requests/" + ref + "%00",
		root + "/requests//" + ref, root + "/requests/" + ref + "/", "/" + root + "/requests", root + "//requests", "//", "/..", "/%2e%2e/health", "/health/", "/health%00", "//health",
		"/api/v1/exchanges/", "/api/v1/exchanges//requests", "/api//v1/exchanges/home/requests", "/API/v1/exchanges/home/requests", "/api/openapi.json/",
		root + "/requests/" + long, root + "/requests/" + ref + "/attachments/" + long, root + "/requests/%ff%fe", root + "/requests/a%2Fb%2Fc",
		root + "/requests/" + ref + "/attachments/..", root + "/requests/" + ref + "/attachments/..%2f..%2fkeys.json", root + "/requests/" + ref + "/attachments/%00.png", root + "/requests/" + ref + "/attachments/",
		root + "/requests/" + ref + "/attachments/a\\b", root + "/requests/%F0%9F%92%A9", root + "/requests/x%0d%0aX-Evil:%201", root + "/keys.json", root + "/requests;x", root + "/requests/%",
	} {
		r := h.raw("GET", path, auth, "")
		if strings.HasSuffix(path, "%") { // net/http itself rejects an invalid path
			if r.code != 400 {
				t.Errorf("%q: %d", path, r.code)
			}
			continue
		}
		h.wantReadableError(fmt.Sprintf("%.80q", path), r, 400, 403, 404)
		if r.head.Get("X-Evil") != "" {
			t.Errorf("%q: a header of its own", path)
		}
	}
	for _, q := range []string{"status=%ff", "limit=1e9", "limit=-1", "limit=99999999999999999999", "since=yesterday", "cursor=%00", "status=claimed&status=bogus", "limit=%zz;"} {
		r := h.raw("GET", root+"/requests?"+q, auth, "")
		if r.code != 200 {
			h.wantReadableError(q, r, 400)
		}
		if strings.HasPrefix(q, "limit=") && !strings.Contains(q, "%zz") && r.code != 400 {
			t.Errorf("%s: %d", q, r.code)
		}
	}
	for _, method := range []string{"DELETE", "TRACE", "PROPFIND", "get", "PUT", "X", strings.Repeat("X", 200)} {
		for _, path := range []string{"/health", root + "/requests", root + "/requests/" + ref, root + "/register", root + "/mess", root + "/events"} {
			h.wantReadableError(method+" "+path, h.raw(method, path, auth, ""), 405)
		}
	}
}

// Every wrong key gets 401 with the same text.
func TestWrongKeyIs401(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	wrong := h.do("GET", root+"/requests", "mess_home_x", "").body
	none := h.do("GET", root+"/requests", "", "").body
	for what, c := range map[string]struct{ header, want string }{
		"none":                     {"", none},
		"an empty header":          {"Authorization:\r\n", none},
		"only a scheme":            {"Authorization: Bearer\r\n", none},
		"a scheme and a space":     {"Authorization: Bearer \r\n", none},
		"another scheme":           {"Authorization: Basic " + h.op + "\r\n", none},
		"no scheme":                {"Authorization: " + h.op + "\r\n", none},
		"another header":           {"X-Api-Key: " + h.op + "\r\n", none},
		"a short one":              {"Authorization: Bearer x\r\n", wrong},
		"one too few":              {"Authorization: Bearer " + h.op[:len(h.op)-1] + "\r\n", wrong},
		"one too many":             {"Authorization: Bearer " + h.op + "0\r\n", wrong},
		"in capitals":              {"Authorization: Bearer " + strings.ToUpper(h.op) + "\r\n", wrong},
		"twice":                    {"Authorization: Bearer " + h.op + " " + h.op + "\r\n", wrong},
		"quoted":                   {"Authorization: Bearer \"" + h.op + "\"\r\n", wrong},
		"of another exchange":      {"Authorization: Bearer mess_other" + strings.TrimPrefix(h.op, "mess_home") + "\r\n", wrong},
		"15 KB":                    {"Authorization: Bearer " + strings.Repeat("x", 15<<10) + "\r\n", wrong},
		"no UTF-8":                 {"Authorization: Bearer \xff\xfe\r\n", wrong},
		"the hash of the right":    {"Authorization: Bearer " + strings.Repeat("0", 64) + "\r\n", wrong},
		"a wrong one before right": {"Authorization: Bearer x\r\nAuthorization: Bearer " + h.op + "\r\n", wrong},
	} {
		for _, path := range []string{root + "/requests", root + "/keys", root + "/nothing", "/api/v1/exchanges/other/requests"} {
			r := h.raw("GET", path, c.header, "")
			if r.code != 401 || r.body != c.want || r.head.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%s: %s: %d %s", what, path, r.code, r.body)
			}
		}
	}
	if r := h.raw("GET", root+"/requests?key="+h.op+"&api_key="+h.op+"&access_token="+h.op, "", ""); r.code != 401 {
		t.Errorf("a key in the address: %d", r.code)
	}
}

func TestInvalidBodyIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{Import: func(string, map[string][]byte) error { return nil }})
	phone := h.register("phone", `"x"`)
	ref := h.create(h.op, `{"intent":"look","requires":["x"]}`)
	deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
	paths := map[string][2]string{ // method and key
		root + "/requests": {"POST", h.op}, root + "/requests/" + ref: {"PATCH", phone}, root + "/mess": {"POST", phone}, root + "/register": {"POST", ""},
		root + "/executors/phone": {"PATCH", phone}, root + "/stop": {"POST", h.op}, root + "/hold": {"POST", h.op}, root + "/resume": {"POST", h.op}, root + "/keys": {"POST", h.op}, root + "/keys/phone": {"PATCH", h.op},
		root + "/keys/phone/rotate": {"POST", h.op}, root + "/codes": {"POST", h.op}, root + "/import": {"POST", h.op},
	}
	for path, by := range paths {
		auth := ""
		if by[1] != "" {
			auth = "Authorization: Bearer " + by[1] + "\r\n"
		}
		for what, c := range map[string]struct {
			body  string
			codes []int
		}{
			"11 MB":            {`{"intent":"` + strings.Repeat("x", 11<<20) + `"}`, []int{413}},
			"100 deep":         {`{"executor_id":"a","intent":"x","x":` + deep + `}`, []int{400}},
			"100 lists":        {strings.Repeat("[", 100) + strings.Repeat("]", 100), []int{400}},
			"no UTF-8":         {"{\"intent\":\"\xff\xfe\",\"executor_id\":\"\xff\"}", []int{400}},
			"a trailing comma": {`{"intent":"x","executor_id":"a",}`, []int{400}},
			"a comment":        {`{"intent":"x" /* why */}`, []int{400}},
			"two values":       {`{"intent":"x","executor_id":"a"} {}`, []int{400}},
			"a key twice":      {`{"intent":"x","intent":"y","executor_id":"a"}`, []int{400}},
			"a number":         {`7`, []int{400}},
			"a text":           {`"x"`, []int{400}},
			"null":             {`null`, []int{400}},
			"NUL":              {"{\x00}", []int{400}},
			"half":             {`{"intent":`, []int{400}},
			"an anchor":        {"{intent: &a x, context: [*a]}", []int{400}},
			"HTML":             {"<html>", []int{400}},
			"single quotes":    {`{'intent':'x','executor_id':'a'}`, []int{400}},
			"bare keys":        {`{intent: x, executor_id: a}`, []int{400}},
			"YAML":             {"intent: x\nexecutor_id: a\nwhy: x\n", []int{400}},
			"NaN":              {`{"intent":"x","executor_id":"a","why":NaN}`, []int{400}},
			"more at the end":  {`{"intent":"x","executor_id":"a"}]`, []int{400}},
		} {
			h.wantReadableError(by[0]+" "+path+" "+what, h.raw(by[0], path, auth, c.body), c.codes...)
		}
	}
	for what, c := range map[string]struct {
		body string
		code int
	}{
		"10,000 elements":       {`{"intent":"x","context":[` + strings.TrimSuffix(strings.Repeat(`"a",`, 10_000), ",") + `]}`, 0},
		"10,000 mappings":       {`{"intent":"x","context":[` + strings.TrimSuffix(strings.Repeat(`{"a":{}},`, 10_000), ",") + `]}`, 0},
		"10,000 keys":           {`{"intent":"x"` + manyKeys(10_000) + `}`, 400},
		"a very long id":        {`{"intent":"x","id":"` + strings.Repeat("x", 60_000) + `"}`, 400},
		"a very long intent":    {`{"intent":"` + strings.Repeat("x", 70_000) + `"}`, 400},
		"a number that is huge": {`{"intent":"x","x":1e99999}`, 0},
	} {
		r := h.do("POST", root+"/requests", h.op, c.body)
		switch {
		case c.code == 0 && r.code == http.StatusCreated:
		case c.code == 0:
			h.wantReadableError(what, r, 400, 413)
		default:
			h.wantReadableError(what, r, c.code, 413)
		}
	}
}

// The content type decides between JSON and YAML. Without one the body is JSON.
func TestContentTypeDecidesFormat(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	for _, path := range []string{"/requests", "/mess"} {
		body, js := "intent: look\nid: 5\n", `{"intent":"look"}`
		if path == "/mess" {
			body, js = "MESS:\n- request: {intent: look}\n", "\xef\xbb\xbf"+`[{"request":{"intent":"look"}}]`
		}
		auth := "Authorization: Bearer " + h.op + "\r\n"
		for _, kind := range []string{"", "application/json", "text/json", "application/json; charset=utf-8", "application/x-www-form-urlencoded"} {
			said := auth
			if kind != "" {
				said += "Content-Type: " + kind + "\r\n"
			}
			r := h.raw("POST", root+path, said, body)
			h.wantReadableError(path+" "+kind, r, 400)
			if !strings.Contains(r.body, "send Content-Type: application/yaml") {
				t.Errorf("%s %s: what is to be sent? %s", path, kind, r.body)
			}
			if r := h.raw("POST", root+path, said, js); r.code >= 300 {
				t.Errorf("%s %s: %d %s", path, kind, r.code, r.body)
			}
		}
		for _, kind := range []string{"application/yaml", "application/x-yaml", "text/yaml; charset=utf-8"} {
			if r := h.raw("POST", root+path, auth+"Content-Type: "+kind+"\r\n", body); r.code >= 300 {
				t.Errorf("%s %s: %d %s", path, kind, r.code, r.body)
			}
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":1`, i)
	}
	return b.String()
}

// An invalid query is an error, and never ignored.
func TestInvalidQueryIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	ref := h.create(h.op, `{"intent":"look"}`)
	auth := "Authorization: Bearer " + h.op + "\r\n"
	for _, path := range []string{"requests?", "events?wait=0s&", "capabilities?", "export/" + ref + "?"} {
		for _, query := range []string{"status=%zz", "status=pending;limit=1", "tag=%", "format=v2&x=%a"} {
			h.wantReadableError(path+query, h.raw("GET", root+"/"+path+query, auth, ""), 400)
		}
	}
}

// The server rejects an unknown kind of stream, because a stream of another kind would look like
// one without events.
func TestUnknownStreamIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	for _, query := range []string{"as=bogus", "as=", "as=Executor", "as=executor&as=bogus", "as=%00"} {
		for _, more := range []string{"", "&wait=0s"} {
			r := h.do("GET", root+"/events?"+query+more, h.op, "")
			h.wantReadableError(query+more, r, 400)
			if !strings.Contains(r.body, "write as=executor, or leave it out") {
				t.Errorf("%s: what may be written? %s", query, r.body)
			}
		}
	}
}

// A number in place of a text, and half of a surrogate pair, are errors. The server does not
// convert them.
func TestNumbersInQuotesAreText(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone := h.register("phone", `"x"`)
	ref := h.create(h.op, `{"intent":"look","requires":["x"]}`)
	for _, c := range []struct{ method, path, key, body, want string }{
		{"POST", "/requests", h.op, `{"intent":"look","requires":5}`, "requires[0]: is a number; write text"},
		{"POST", "/requests", h.op, `{"intent":"look","requires":["x",5]}`, "requires[1]: is a number; write text"},
		{"POST", "/requests", h.op, `{"intent":"look","requires":true}`, "requires[0]: is not a capability"},
		{"POST", "/requests", h.op, `{"intent":"look","response_hint":5}`, "response_hint[0]: is a number; write text"},
		{"POST", "/register", "", `{"executor_id":"pi","capabilities":[5]}`, "capabilities[0]: is a number; write text"},
		{"PATCH", "/executors/phone", phone, `{"capabilities":5}`, "capabilities[0]: is a number; write text"},
		{"POST", "/mess", h.op, `[{"request":{"intent":"look","requires":5}}]`, "requires[0]: is a number; write text"},
		{"POST", "/requests", h.op, `{"intent":"look \ud800"}`, "half a character"},
		{"POST", "/requests", h.op, `{"intent":"look","\udc00":1}`, "half a character"},
		{"PATCH", "/requests/" + ref, phone, `{"status":"claimed","message":"\ude00\ud83d"}`, "half a character"},
		{"POST", "/register", "", `{"executor_id":"pi","display_name":"\ud83d"}`, "half a character"},
		{"POST", "/mess", h.op, `[{"request":{"intent":"look","context":["\ud83d."]}}]`, "half a character"},
	} {
		r := h.do(c.method, root+c.path, c.key, c.body)
		h.wantReadableError(c.path+" "+c.body, r, 400)
		var v struct{ Error string }
		if err := json.Unmarshal([]byte(r.body), &v); err != nil || !strings.Contains(v.Error, c.want) {
			t.Errorf("%s %s: %s, want %q", c.path, c.body, r.body, c.want)
		}
	}
	if r := h.do("GET", root+"/requests", h.op, ""); strings.Count(r.body, `"ref"`) != 1 {
		t.Errorf("what was refused has left something: %s", r.body)
	}
	// Both halves are a character, a name is a list of one, and a written U+FFFD stays.
	for _, body := range []string{`{"intent":"look \ud83d\ude00","requires":"x"}`, `{"intent":"look \ufffd \\ud800"}`} {
		if r := h.do("POST", root+"/requests", h.op, body); r.code != 201 {
			t.Errorf("%s: %d %s", body, r.code, r.body)
		}
	}
}

// A compressed body is neither text nor an image.
func TestCompressedBodyIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	ref := h.create(h.op, `{"intent":"look"}`)
	auth := "Authorization: Bearer " + h.op + "\r\n"
	for _, one := range [][2]string{{"POST", "/requests"}, {"PATCH", "/requests/" + ref}, {"POST", "/mess"}, {"PUT", "/requests/" + ref + "/attachments/a.png"}} {
		for _, packed := range []string{"gzip", "deflate, gzip", "br", "zstd"} {
			h.wantReadableError(one[0]+" "+packed, h.raw(one[0], root+one[1], auth+"Content-Encoding: "+packed+"\r\n", `{"intent":"look"}`), 415)
		}
	}
	if r := h.raw("POST", root+"/requests", auth+"Content-Encoding: identity\r\n", `{"intent":"look"}`); r.code != 201 {
		t.Errorf("as it is: %d %s", r.code, r.body)
	}
}

// A client that sends all of a too large body before it reads gets the error.
func TestClientGetsErrorOfTooLargeBody(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	large := strings.Repeat("x", 11<<20)
	for what, head := range map[string]string{
		"said":    fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(large), large),
		"in bits": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(large), large),
	} {
		for _, path := range []string{"/requests", "/register"} {
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n%s", root+path, h.op, head); err != nil {
				t.Errorf("%s, %s: it cannot be sent: %v", path, what, err)
				continue
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil || res.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("%s, %s: %v, %+v", path, what, err, res)
				continue
			}
			if err := res.Body.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
