package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/live"
	"github.com/messkit/messkit/exchange/store/memory"
)

// liveSource is the executor vm with a camera. Its viewers get the pictures that the test sends.
type liveSource struct {
	mu       sync.Mutex
	watching int
	pictures chan []byte
	ended    chan error
}

func (s *liveSource) Has(executor, device string) bool { return executor == "vm" && device == "cam" }

func (s *liveSource) Watch(string) live.Viewer { s.add(1); return liveViewer{s} }

func (s *liveSource) add(n int) { s.mu.Lock(); defer s.mu.Unlock(); s.watching += n }

func (s *liveSource) viewers() int { s.mu.Lock(); defer s.mu.Unlock(); return s.watching }

type liveViewer struct{ *liveSource }

func (v liveViewer) Next(ctx context.Context) ([]byte, string, error) {
	select {
	case p := <-v.pictures:
		return p, "image/jpeg", nil
	case err := <-v.ended:
		return nil, "", err
	case <-ctx.Done():
		return nil, "", context.Cause(ctx)
	}
}

func (v liveViewer) Close() { v.add(-1) }

// liveFixture is an exchange with the camera, and an executor that answers each request for it.
type liveFixture struct {
	*homeFixture
	source *liveSource
	refs   chan string // of the requests that the executor has answered
}

// startLive starts the exchange. The executor posts the messages of answer, in JSON, to each request.
func startLive(t *testing.T, answer ...string) *liveFixture {
	t.Helper()
	cfg := exchange.DefaultConfig()
	cfg.States = true
	s := &liveSource{pictures: make(chan []byte), ended: make(chan error)}
	h := newHarnessOver(t, httpapi.Config{Rate: unlimited, Live: s}, cfg, memory.New()).serve()
	f := &liveFixture{&homeFixture{harness: h, vm: h.register("vm", `{"take-photo":{"devices":["cam"],"effect":"query"}},{"open":{"devices":["gate"]}}`), agent: h.register("agent", "")}, s, make(chan string, 10)}
	h.register("hub", `{"take-photo":{"devices":["far-cam"],"effect":"query"}}`)
	events, ended := f.stream(root+"/events", f.vm), make(chan struct{})
	t.Cleanup(func() { <-ended })
	go func() {
		defer close(ended)
		for {
			var offer strings.Builder
			for {
				line, err := events.ReadString('\n')
				if err != nil {
					return
				}
				if offer.WriteString(line); line == "\n" {
					break
				}
			}
			_, rest, is := strings.Cut(offer.String(), `"re":"`)
			if ref, _, _ := strings.Cut(rest, `"`); is && strings.Contains(offer.String(), "event: offer") {
				for _, one := range answer {
					f.answer(ref, one)
				}
				f.refs <- ref
			}
		}
	}()
	return f
}

// answer posts a status of the executor. The test may end meanwhile.
func (f *liveFixture) answer(ref, status string) {
	req, err := http.NewRequestWithContext(f.Context(), "PATCH", f.url+root+"/requests/"+ref, strings.NewReader(`{"mess":[{"status":`+status+`}]}`))
	if err != nil {
		f.Error(err)
		return
	}
	req.Header.Set("Authorization", "Bearer "+f.vm)
	res, err := f.line.RoundTrip(req)
	if err == nil {
		err = res.Body.Close()
	}
	if err != nil && f.Context().Err() == nil {
		f.Error(err)
	}
}

// watch begins a viewing.
func (f *liveFixture) watch(path, key string) *http.Response {
	f.Helper()
	req, err := http.NewRequestWithContext(f.Context(), "GET", f.url+path, nil)
	if err != nil {
		f.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	res, err := f.line.RoundTrip(req)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { res.Body.Close() })
	return res
}

// note waits for the note in a thread.
func (f *liveFixture) note(ref, want string) {
	f.Helper()
	body := ""
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if body = f.do("GET", root+"/requests/"+ref, f.agent, "").body; strings.Contains(body, want) && f.source.viewers() == 0 {
			return
		}
	}
	f.Errorf("no %q and %d viewers: %s", want, f.source.viewers(), body)
}

const photographed = `{"code":"completed","evidence":"photographed"}`

// A viewing is one thread: the request for a photo, then the pictures, and a note of the end.
func TestLivePictureIsMultipart(t *testing.T) {
	f := startLive(t, `{"code":"claimed"}`, `{"code":"in_progress"}`, photographed)
	for _, path := range []string{"/api/v1/devices/vm:cam/live", root + "/devices/cam/live"} {
		res := f.watch(path, f.agent)
		kind, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
		if res.StatusCode != http.StatusOK || err != nil || kind != "multipart/x-mixed-replace" {
			t.Fatalf("%s: %d %v", path, res.StatusCode, res.Header)
		}
		ref := <-f.refs
		if at := res.Header.Get("Location"); at != root+"/requests/"+ref {
			t.Errorf("Location is %q, want that of %s", at, ref)
		}
		parts := multipart.NewReader(res.Body, params["boundary"])
		sent := [][]byte{[]byte("one"), bytes.Repeat([]byte{1}, live.MaxPicture+1), bytes.Repeat([]byte("\r\n--"), 30000)}
		done := make(chan struct{})
		go func() {
			for i := 0; ; i++ { // the server notices with a later picture that the client has gone
				p := []byte("more")
				if i < len(sent) {
					p = sent[i]
				}
				select {
				case f.source.pictures <- p:
				case <-done:
					return
				}
			}
		}()
		for _, want := range [][]byte{sent[0], sent[2]} { // a picture above the limit is left out
			part, err := parts.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(part); err != nil || !bytes.Equal(got, want) || part.Header.Get("Content-Type") != "image/jpeg" {
				t.Errorf("got %d bytes, %v, %v; want %d", len(got), part.Header, err, len(want))
			}
		}
		res.Body.Close()
		f.note(ref, "it ended: the viewer has left")
		close(done)
	}
}

// The executor ends the live picture when its policy rejects a picture.
func TestRejectedPictureEndsLivePicture(t *testing.T) {
	f := startLive(t, `{"code":"claimed"}`, `{"code":"in_progress"}`, photographed)
	res := f.watch("/api/v1/devices/cam/live", f.agent)
	f.source.ended <- errors.New("cam: stop: smoke")
	if data, err := io.ReadAll(res.Body); err != nil || string(data) != "--messkit-picture--\r\n" {
		t.Errorf("%q, %v", data, err)
	}
	f.note(<-f.refs, "it ended: cam: stop: smoke")
}

func TestNoLivePicture(t *testing.T) {
	observer := func(f *liveFixture) string {
		key, err := f.keys.Issue("observer", exchange.Observer)
		if err != nil {
			f.Fatal(err)
		}
		return key
	}
	agent := func(f *liveFixture) string { return f.agent }
	for name, c := range map[string]struct {
		path   string
		key    func(*liveFixture) string
		answer []string
		code   int
		text   string
		status string // of the thread; "" for no thread
	}{
		"the policy rejects the look": {"vm:cam", agent, []string{`{"code":"declined","reason":{"detail":"cam: locked: paint is wet"}}`}, 409, "paint is wet", "declined"},
		"the camera fails":            {"vm:cam", agent, []string{`{"code":"claimed"}`, `{"code":"in_progress"}`, `{"code":"failed","reason":{"detail":"no route"}}`}, 409, "failed: no route", "failed"},
		"it needs a confirmation":     {"vm:cam", agent, []string{`{"code":"claimed"}`, `{"code":"needs_confirmation","action":"look","action_hash":"h"}`}, 409, "needs an answer of a person", "cancelled"},
		"another program":             {"hub:far-cam", agent, nil, 404, "runs in another program", ""},
		"no camera":                   {"vm:gate", agent, nil, 404, "no verb", ""},
		"no device":                   {"none", agent, nil, 404, "no device", ""},
		"no right":                    {"vm:cam", observer, nil, 403, "", ""},
		"no key":                      {"vm:cam", func(*liveFixture) string { return "x" }, nil, 401, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := startLive(t, c.answer...)
			r := f.do("GET", "/api/v1/devices/"+c.path+"/live", c.key(f), "")
			if r.code != c.code || !strings.Contains(r.field("error"), c.text) || f.source.viewers() != 0 {
				t.Errorf("%d %s, want %d %s", r.code, r.body, c.code, c.text)
			}
			list := f.do("GET", root+"/requests", f.agent, "").body
			if n := strings.Count(list, `"ref"`); c.status == "" && n != 0 || c.status != "" && (n != 1 || !strings.Contains(list, `"status":"`+c.status+`"`)) {
				t.Errorf("the threads are %s, want one that is %q", list, c.status)
			}
		})
	}
	f := startLive(t)
	f.want(f.do("HEAD", "/api/v1/devices/cam/live", f.agent, ""), http.StatusMethodNotAllowed, "")
}

// The number of viewers has a limit, so that live pictures cannot take all connections.
func TestViewersAreLimited(t *testing.T) {
	f := startLive(t, `{"code":"claimed"}`, `{"code":"in_progress"}`, photographed)
	for range live.MaxViewers {
		if res := f.watch("/api/v1/devices/cam/live", f.agent); res.StatusCode != http.StatusOK {
			t.Fatal(res.Status)
		}
		<-f.refs
	}
	f.want(f.do("GET", "/api/v1/devices/cam/live", f.agent, ""), http.StatusServiceUnavailable, "")
}
