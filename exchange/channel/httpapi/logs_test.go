package httpapi_test

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// logBuffer is a log for concurrent reads and writes.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *logBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *logBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// The log has a request under the id of its response. It contains no secret: no key, no
// enrollment code and no query.
func TestLogHasRequestIDAndNoSecret(t *testing.T) {
	h := newHarness(t, httpapi.Config{})
	log := &logBuffer{}
	h.server = httpapi.New(h.x, h.keys, httpapi.Config{EnrollmentCode: "standing-code"}, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	s := httptest.NewServer(h.server.Handler())
	t.Cleanup(s.Close)
	h.url = s.URL

	secrets := []string{h.op, "standing-code", "wrong-code", "mess_home_wrong", "in-the-path"}
	logged := func(what string, r reply, words ...string) {
		t.Helper()
		id := r.head.Get("X-Request-Id")
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, "request="+id) {
				for _, w := range words {
					if !strings.Contains(line, w) {
						t.Errorf("%s: the log says %s, want %s in it", what, line, w)
					}
				}
				return
			}
		}
		t.Errorf("%s: the log has no request %s:\n%s", what, id, log)
	}
	r := h.do("POST", root+"/register", "", `{"executor_id":"phone","capabilities":["x"],"enrol":"standing-code"}`, away...)
	phone := r.field("api_key")
	logged("a registration", r, "registered", "actor=phone")
	h.do("POST", root+"/register", "", `{"executor_id":"x","enrol":"wrong-code"}`, away...)
	h.do("GET", root+"/requests?key=in-the-path", "mess_home_wrong", "")
	r = h.do("POST", root+"/keys", h.op, `{"actor":"dash","roles":["observer"]}`)
	logged("a key", r, "actor=dash", "by=operator")
	dash := r.field("api_key")
	r = h.do("POST", root+"/keys/dash/rotate", h.op, `{"overlap":"1m"}`)
	logged("another key", r, "actor=dash", "overlap=1m")
	again := r.field("api_key")
	r = h.do("POST", root+"/codes", h.op, `{"actor":"pi"}`)
	logged("a code", r, "actor=pi")
	code := r.field("code")
	h.do("POST", root+"/register", "", `{"executor_id":"pi","enrol":"`+code+`"}`, away...)
	r = h.do("DELETE", root+"/keys/dash", h.op, "")
	logged("a revocation", r, "actor=dash")
	h.create(phone, `{"intent":"look"}`)
	if phone == "" || dash == "" || again == "" || code == "" {
		t.Fatalf("%q %q %q %q", phone, dash, again, code)
	}
	for _, secret := range append(secrets, phone, dash, again, code) {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log:\n%s", secret, log)
		}
	}
	for _, refused := range h.server.DeniedRequests() {
		for _, secret := range secrets {
			if strings.Contains(refused.Path+refused.Error, secret) {
				t.Errorf("%q is told: %+v", secret, refused)
			}
		}
	}
}
