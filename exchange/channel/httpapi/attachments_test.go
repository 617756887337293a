package httpapi_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/store/memory"
)

const holding = `{"status":"claimed"}`

func TestAttachments(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, tablet, agent := h.register("phone", `"x"`), h.register("tablet", `"x"`), h.register("agent", "")
	one := root + "/requests/" + h.create(agent, `{"intent":"look","requires":["x"]}`)
	h.want(h.do("PUT", one+"/attachments/a.png", phone, "x"), 403, "") // not yet
	h.want(h.do("PATCH", one, phone, holding), 200, "")
	h.want(h.do("PUT", one+"/attachments/a.png", tablet, "x"), 404, "")
	h.want(h.do("PUT", one+"/attachments/a.png", "", "x"), 401, "")
	h.want(h.do("PUT", one+"/attachments/a.png", phone, "x", "Content-Type", "/"), 415, "")
	h.want(h.do("POST", one+"/attachments/a.png", phone, "x"), 405, "")

	sum := sha256.Sum256([]byte("0123456789"))
	for _, c := range []struct {
		name, sent    string // name and content type of the upload; "" for no content type
		kept          string // media type in the answer
		entry, served string // content entry, media type when it comes back
		saved         bool   // the browser saves it instead of showing it
	}{
		{"door.png", "image/png", "image/png", "image", "image/png", false},
		{"note.txt", "text/plain; charset=utf-8", "text/plain", "file", "text/plain", false},
		{"plan.pdf", "", "application/pdf", "file", "application/pdf", true},
		{"page.html", "text/html", "text/html", "file", "application/octet-stream", true},
		{"page2.html", "TEXT/HTML", "text/html", "file", "application/octet-stream", true},
		{"draw.svg", "image/svg+xml", "image/svg+xml", "image", "application/octet-stream", true},
		{"run.js", "text/javascript", "text/javascript", "file", "application/octet-stream", true},
		{"look.css", "text/css", "text/css", "file", "application/octet-stream", true},
		{"what", "", "application/octet-stream", "file", "application/octet-stream", true},
		{"form.png", "application/x-www-form-urlencoded", "image/png", "image", "image/png", false},
		{"../../a b%2Fc\"d.jpg", "image/jpeg", "image/jpeg", "image", "image/jpeg", false},
	} {
		headers := []string{}
		if c.sent != "" {
			headers = append(headers, "Content-Type", c.sent)
		}
		path := one + "/attachments/" + strings.NewReplacer("/", "%2F", " ", "%20", `"`, "%22").Replace(c.name)
		up := h.do("PUT", path, phone, "0123456789", headers...)
		if up.code != 200 || up.field("mime") != c.kept || up.field("size") != "10" || up.field("sha256") != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: upload: %d %s", c.name, up.code, up.body)
			continue
		}
		h.want(h.do("PATCH", one, phone, `{"status":"in_progress","mess":[{"response":{"content":[{"`+c.entry+`":`+up.body+`}]}}]}`), 200, "")
		file := one + "/attachments/" + newestAttachment(h, one, agent)
		r := h.do("GET", file, agent, "")
		saved := strings.HasPrefix(r.head.Get("Content-Disposition"), "attachment")
		if r.code != 200 || r.body != "0123456789" || r.head.Get("Content-Type") != c.served || saved != c.saved {
			t.Errorf("%s: got %d %q %v", file, r.code, r.body, r.head)
		}
		if r.head.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(r.head.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%s: a browser may run it: %v", c.name, r.head)
		}
	}
}

// newestAttachment is the name of the last attachment of a thread.
func newestAttachment(h *harness, one, key string) string {
	h.Helper()
	var v struct {
		Thread struct {
			Attachments []struct{ Name string }
		}
	}
	if err := json.Unmarshal([]byte(h.do("GET", one, key, "").body), &v); err != nil || len(v.Thread.Attachments) == 0 {
		h.Fatalf("no attachments: %v", err)
	}
	return v.Thread.Attachments[len(v.Thread.Attachments)-1].Name
}

func TestAttachmentRanges(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone := h.register("phone", `"x"`)
	one := root + "/requests/" + h.create(phone, `{"intent":"look","requires":["x"]}`)
	h.want(h.do("PATCH", one, phone, holding), 200, "")
	up := h.do("PUT", one+"/attachments/a.png", phone, "0123456789", "Content-Type", "image/png")
	h.want(h.do("PATCH", one, phone, `{"mess":[{"response":{"content":[{"image":`+up.body+`}]}}]}`), 200, "")
	file := one + "/attachments/" + newestAttachment(h, one, phone)
	tag := h.do("HEAD", file, phone, "").head.Get("ETag")
	for _, c := range []struct {
		name, header, value string
		code                int
		body                string
	}{
		{"a part", "Range", "bytes=2-4", 206, "234"},
		{"the end", "Range", "bytes=-3", 206, "789"},
		{"too far", "Range", "bytes=10-", 416, `{"error":"the range lies outside the file; Content-Range says how large that is"}`},
		{"no range", "Range", "bytes=x", 416, `{"error":"the range lies outside the file; Content-Range says how large that is"}`},
		{"what the client has", "If-None-Match", tag, 304, ""},
		{"something else", "If-Match", `"x"`, 412, `{"error":"precondition failed"}`},
	} {
		r := h.do("GET", file, phone, "", c.header, c.value)
		if r.code != c.code || r.body != c.body || r.head.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %d %s %v", c.name, r.code, r.body, r.head)
		}
		if c.code >= 400 && !strings.HasPrefix(r.head.Get("Content-Type"), "application/json") {
			t.Errorf("%s: an error in %s", c.name, r.head.Get("Content-Type"))
		}
	}
	if r := h.do("HEAD", file, phone, ""); r.code != 200 || r.body != "" || r.head.Get("Content-Length") != "10" {
		t.Errorf("HEAD: %d %q %v", r.code, r.body, r.head)
	}
}

// Whichever limit is the lower one, the answer is 413.
func TestTooLargeUploadIsRejected(t *testing.T) {
	for _, c := range []struct{ body, attachment int64 }{{1 << 10, 1 << 20}, {1 << 20, 1 << 10}, {1 << 10, 1 << 10}} {
		ec := exchange.DefaultConfig()
		ec.MaxAttachment = c.attachment
		h := newHarnessOver(t, httpapi.Config{MaxBody: c.body}, ec, memory.New()).serve()
		phone := h.register("phone", `"x"`)
		path := root + "/requests/" + h.create(phone, `{"intent":"look"}`) + "/attachments/a.bin"
		for _, size := range []int{1<<10 + 1, 4 << 10} {
			if r := h.do("PUT", path, phone, strings.Repeat("x", size)); r.code != 413 || r.field("why") != "too_large" {
				t.Errorf("%+v: %d bytes: %d %s", c, size, r.code, r.body)
			}
			if r := h.doUnsized("PUT", path, phone, strings.Repeat("x", size)); r.code != 413 || r.field("why") != "too_large" {
				t.Errorf("%+v: %d bytes of unknown size: %d %s", c, size, r.code, r.body)
			}
		}
		if r := h.do("PUT", path, phone, strings.Repeat("x", 1<<10)); r.code != 200 {
			t.Errorf("%+v: as much as may be: %d %s", c, r.code, r.body)
		}
	}
}

// doUnsized sends a body without a Content-Length.
func (h *harness) doUnsized(method, path, key, body string) reply {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, h.url+path, io.MultiReader(strings.NewReader(body)))
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := h.line.RoundTrip(req)
	if err != nil {
		h.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.Fatal(err)
	}
	return reply{res.StatusCode, strings.TrimSpace(string(data)), res.Header}
}

func TestUploadLimitsOfThread(t *testing.T) {
	ec := exchange.DefaultConfig()
	ec.MaxAttachment, ec.MaxThreadAttachments = 20_000, 30_000
	h := newHarnessOver(t, httpapi.Config{}, ec, memory.New()).serve()
	phone, agent := h.register("phone", `"x"`), h.register("agent", "")
	one := root + "/requests/" + h.create(agent, looking)
	h.want(h.do("PATCH", one, phone, holding), 200, "")
	h.want(h.do("PUT", one+"/attachments/a.bin", phone, strings.Repeat("a", 20_001)), 413, "")
	h.want(h.do("PUT", one+"/attachments/a.bin", phone, strings.Repeat("a", 20_000)), 200, "")
	if r := h.do("PUT", one+"/attachments/b.bin", phone, strings.Repeat("b", 20_000)); r.code != 413 || !strings.Contains(r.body, "10000 remain") {
		t.Errorf("beyond the thread's limit: %d %s", r.code, r.body)
	}
	h.want(h.do("PATCH", one, agent, `{"status":"cancelled"}`), 200, "")
	h.want(h.do("PUT", one+"/attachments/c.bin", agent, "c"), 409, "")
	h.want(h.do("PUT", one+"/attachments/c.bin", phone, "c"), 200, "") // late evidence
}

// A part of a file is none, and so is nothing.
func TestPartialUploadIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	ref := h.create(h.op, `{"intent":"look"}`)
	path := root + "/requests/" + ref + "/attachments/a.png"
	h.wantReadableError("a part", h.do("PUT", path, h.op, "abcd", "Content-Range", "bytes 0-3/100"), 400)
	h.wantReadableError("nothing", h.do("PUT", path, h.op, "", "Content-Type", "image/png"), 400)
	h.wantReadableError("no type", h.do("PUT", path, h.op, "abcd", "Content-Type", "x"), 415)
	if r := h.do("PUT", path, h.op, "abcd", "Content-Type", "image/png"); r.code != 200 {
		t.Errorf("%d %s", r.code, r.body)
	}
}
