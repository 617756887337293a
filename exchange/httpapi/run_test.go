package httpapi_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/httpapi"
)

// running is a house whose door is served as in a program.
type running struct {
	*house
	stop func() error // ends the door and returns what Run has returned
}

func run(t *testing.T) *running {
	t.Helper()
	h := made(t, httpapi.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.url = "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.door.Run(ctx, l) }()
	t.Cleanup(cancel)
	return &running{h, func() error { cancel(); return <-done }}
}

// A program that ends does not wait for streams, which have no end of their
// own.
func TestTheDoorClosesOnStreams(t *testing.T) {
	h := run(t)
	s := h.stream(root+"/events?after=now", h.op)
	if _, name, _ := next(t, s); name != "reset" {
		t.Fatalf("got %s", name)
	}
	polled := make(chan reply, 1)
	id := strings.TrimSpace(h.do("GET", root+"/events?wait=0s", h.op, "").field("last"))
	go func() { polled <- h.do("GET", root+"/events?wait=50s&after="+id, h.op, "") }()
	h.create(h.op, `{"intent":"look"}`) // the poll may or may not see it
	if err := h.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if r := <-polled; r.code != 200 || !strings.Contains(r.body, `"last":`) {
		t.Errorf("the poll: %d %s", r.code, r.body)
	}
	if _, err := io.ReadAll(s); err != nil {
		t.Errorf("the stream: %v", err)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://")); err == nil {
		t.Error("the port is still open")
	}
}

// What has begun when the program ends is finished.
func TestWhatHasBegunIsFinished(t *testing.T) {
	h := run(t)
	r, w := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", h.url+root+"/requests", r)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.op)
	answered := make(chan *http.Response, 1)
	go func() {
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Error(err)
		}
		answered <- res
	}()
	if _, err := io.WriteString(w, `{"intent":`); err != nil {
		t.Fatal(err)
	}
	s := h.stream(root+"/events?after=now", h.op) // by now the server is at work
	next(t, s)
	stopped := make(chan error, 1)
	go func() { stopped <- h.stop() }()
	if _, err := io.ReadAll(s); err != nil { // its end is the end of the program
		t.Error(err)
	}
	if _, err := io.WriteString(w, `"look"}`); err != nil {
		t.Fatal(err)
	}
	w.Close()
	res := <-answered
	if res == nil {
		t.FailNow()
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if res.StatusCode != 201 || !strings.Contains(string(data), `"status":"pending"`) || err != nil {
		t.Errorf("%d %s, %v", res.StatusCode, data, err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestAPortThatIsGone(t *testing.T) {
	h := made(t, httpapi.Config{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.door.Run(t.Context(), l); err == nil {
		t.Error("Run is content without a port")
	}
}
