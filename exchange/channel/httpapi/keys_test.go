package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
)

func TestKeysOverHTTP(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	keys := root + "/keys"
	issued := h.do("POST", keys, h.op, `{"actor":"dash","roles":["observer"]}`)
	h.want(issued, 201, `{"actor":"dash","api_key":"mess_home_KEY","message":"Keep this key; the exchange shows it only once."}`)
	dash := issued.field("api_key")
	h.want(h.do("GET", keys, h.op, ""), 200, `{"keys":[{"actor":"dash","created":"TIME","roles":["observer"]},{"actor":"operator","created":"TIME","roles":["observer","operator","requester"]}]}`)

	rotated := h.do("POST", keys+"/dash/rotate", h.op, `{"overlap":"1h"}`)
	h.want(rotated, 201, "")
	h.want(h.do("GET", root+"/requests", dash, ""), 200, "")
	h.want(h.do("GET", root+"/requests", rotated.field("api_key"), ""), 200, "")
	h.want(h.do("PATCH", keys+"/dash", h.op, `{"roles":["executor","requester"]}`), 200, `{"actor":"dash","updated":true}`)
	h.want(h.do("POST", root+"/requests", dash, `{"intent":"look"}`), 201, "")
	h.want(h.do("DELETE", keys+"/dash", h.op, ""), 200, `{"actor":"dash","revoked":true}`)
	h.want(h.do("GET", root+"/requests", dash, ""), 401, "")
	h.want(h.do("GET", root+"/requests", rotated.field("api_key"), ""), 401, "")

	agent := h.register("agent", "")
	for _, c := range []struct {
		method, path, key, body string
		code                    int
	}{
		{"GET", "keys", agent, "", 403},
		{"POST", "keys", agent, `{"actor":"x","roles":["operator"]}`, 403},
		{"POST", "keys/operator/rotate", agent, "", 403},
		{"PATCH", "keys/agent", agent, `{"roles":["operator"]}`, 403},
		{"DELETE", "keys/operator", agent, "", 403},
		{"POST", "codes", agent, "", 403},
		{"POST", "keys", h.op, `{"roles":["observer"]}`, 400},
		{"POST", "keys", h.op, `{"actor":"x","roles":[]}`, 400},
		{"POST", "keys", h.op, `{"actor":"x","roles":"observer"}`, 400},
		{"POST", "keys", h.op, `{"actor":"x","roles":["king"]}`, 400},
		{"POST", "keys", h.op, `{"actor":"agent","roles":["observer"]}`, 409},
		{"POST", "keys/agent/rotate", h.op, `{"overlap":"1y"}`, 400},
		{"POST", "keys/agent/rotate", h.op, `{"overlap":60}`, 400},
		{"POST", "keys/nobody/rotate", h.op, "", 404},
		{"PATCH", "keys/nobody", h.op, `{"roles":["observer"]}`, 404},
		{"DELETE", "keys/nobody", h.op, "", 404},
		{"DELETE", "keys/operator", h.op, "", 409},
		{"POST", "codes", h.op, `{"within":"25h"}`, 400},
		{"POST", "codes", h.op, `{"actor":5}`, 400},
		{"POST", "codes", h.op, `{"actor":["pi"]}`, 400},
		{"POST", "codes", h.op, `{"actor":""}`, 400},
		{"GET", "codes", h.op, "", 405},
	} {
		if r := h.do(c.method, root+"/"+c.path, c.key, c.body); r.code != c.code || r.field("error") == "" {
			t.Errorf("%s %s %s: %d %s, want %d", c.method, c.path, c.body, r.code, r.body, c.code)
		}
	}
}

// Revoking a key ends its streams and polls. Those of other keys go on.
func TestRevokedKeyEndsStreams(t *testing.T) {
	withRunningServer(t, func(t *testing.T, h *runningServer) {
		key := func(id string) string {
			k, err := h.keys.Issue(id, exchange.ExecutorRole)
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		stolen, other := key("pi"), key("other")
		s, stays := h.stream(root+"/events?after=now", stolen), h.stream(root+"/events?after=now", other)
		for _, s := range []*bufio.Reader{s, stays} {
			if _, name, _ := nextEvent(t, s); name != "reset" {
				t.Fatalf("got %s", name)
			}
		}
		polled := make(chan reply, 1)
		go func() {
			defer close(polled)
			polled <- h.do("GET", root+"/events?wait=50s", stolen, "")
		}()
		synctest.Wait() // the poll waits
		began := time.Now()
		h.want(h.do("DELETE", root+"/keys/pi", h.op, ""), 200, "")
		if data, err := io.ReadAll(s); len(data) > 0 || err != nil {
			t.Errorf("the stream: %q, %v", data, err)
		}
		if r := <-polled; r.code != 200 {
			t.Errorf("the poll: %d %s", r.code, r.body)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
		h.want(h.do("GET", root+"/events?wait=1s", stolen, ""), 401, "")
		beat := make([]byte, len(": beat\n\n"))
		if _, err := io.ReadFull(stays, beat); err != nil || string(beat) != ": beat\n\n" {
			t.Errorf("somebody else's stream: %q, %v", beat, err)
		}
	})
}

// serveOutsideLoopback starts the server on an address of this machine that is not loopback.
func (h *harness) serveOutsideLoopback() {
	h.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		h.Fatal(err)
	}
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.IsLoopback() || ip.IP.To4() == nil {
			continue
		}
		l, err := new(net.ListenConfig).Listen(h.Context(), "tcp", net.JoinHostPort(ip.IP.String(), "0"))
		if err != nil {
			continue
		}
		s := &httptest.Server{Listener: l, Config: &http.Server{Handler: h.server.Handler()}}
		s.Start()
		h.Cleanup(s.Close)
		h.url = s.URL
		return
	}
	h.Skip("this machine has no address but loopback, so nobody comes from elsewhere")
}

func TestRemoteRegistrationNeedsCode(t *testing.T) {
	h := newHarness(t, httpapi.Config{})
	h.serveOutsideLoopback()
	register := func(id, more string) reply {
		return h.do("POST", root+"/register", "", fmt.Sprintf(`{"executor_id":%q%s}`, id, more))
	}
	code := func(body string) string {
		t.Helper()
		r := h.do("POST", root+"/codes", h.op, body)
		if r.code != 201 || r.field("until") == "" {
			t.Fatalf("%d %s", r.code, r.body)
		}
		return r.field("enrol")
	}
	h.want(register("pi", ""), 403, "")
	h.want(register("pi", `,"enrol":""`), 403, "")
	one := code("")
	h.want(register("pi", `,"capabilities":[{}],"enrol":"`+one+`"`), 400, "") // which does not use it up
	r := register("pi", `,"enrol":"`+one+`"`)
	h.want(r, 201, "")
	h.want(h.do("GET", root+"/requests", r.field("api_key"), ""), 200, "")
	h.want(register("pi-2", `,"enrol":"`+one+`"`), 403, "")
	named := code(`{"actor":"garage","within":"1m"}`)
	h.want(register("pi-2", `,"enrol":"`+named+`"`), 403, "")
	h.want(register("garage", `,"enrol":"`+named+`"`), 201, "")
}

// Concurrent guesses have no more attempts than consecutive ones.
func TestConcurrentGuessesAreLimited(t *testing.T) {
	h := startHarness(t, httpapi.Config{EnrollmentCode: "standing-code"})
	codes := make(chan int, 64)
	for i := range cap(codes) {
		go func() {
			req := httptest.NewRequest("POST", root+"/register", strings.NewReader(fmt.Sprintf(`{"executor_id":"pi","enrol":"wrong-%d"}`, i)))
			w := httptest.NewRecorder()
			h.server.Handler().ServeHTTP(w, req) // from 192.0.2.1
			codes <- w.Code
		}()
	}
	told := map[int]int{}
	for range cap(codes) {
		told[<-codes]++
	}
	if told[403] != 5 || told[429] != cap(codes)-5 {
		t.Errorf("%v, want 5 that are told that they are wrong", told)
	}
}

// Many clients use one code at the same time: only one can register.
func TestCodeWorksOnce(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	code, _, err := h.keys.NewCode("", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	codes := make(chan int)
	for i := range 8 {
		go func() {
			r := h.do("POST", root+"/register", "", fmt.Sprintf(`{"executor_id":"pi-%d","enrol":%q}`, i, code), away...)
			select {
			case codes <- r.code:
			case <-ctx.Done():
			}
		}()
	}
	in := 0
	for range 8 {
		switch c := <-codes; c {
		case 201:
			in++
		case 403, 429:
		default:
			t.Errorf("got %d", c)
		}
	}
	if in != 1 {
		t.Errorf("%d were let in", in)
	}
}
