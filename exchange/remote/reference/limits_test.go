package reference_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/reference"
	"github.com/messkit/messkit/mess"
)

// Without news, the server does not resend content: it answers that the thread has not changed.
// A heartbeat is an empty change.
func TestUnchangedThreadIsNotResent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newReferenceServer(t, "express")
		same, bodies := 0, ""
		p.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method == "PATCH" {
				buf := make([]byte, 100)
				n, _ := r.Body.Read(buf)
				bodies += string(buf[:n])
				r.Body = io.NopCloser(strings.NewReader(bodies))
			}
			if r.Header.Get("If-None-Match") != "" {
				same++
			}
			return false
		})
		b := p.newExecutor("pi", "run1", reference.Config{Poll: 10 * time.Second})
		if _, err := b.send("", 0, &mess.Config{Executor: &mess.Executor{ID: "pi", Holding: []mess.HeldThread{}}}); err != nil || bodies != "{}" {
			t.Errorf("a sign of life: %q, %v", bodies, err)
		}
		_, stop := b.follow()
		time.Sleep(1000 * time.Second)
		stop()
		if n := p.RequestCount("GET", "list"); n < 60 || n > 210 || same < n-2 {
			t.Errorf("asked %d times in 1000 s, %d with a tag", n, same)
		}
		p.SetFault(func(w http.ResponseWriter, r *http.Request) bool { same--; w.WriteHeader(503); return true })
		same = 0
		_, stop = b.follow()
		time.Sleep(1000 * time.Second)
		stop()
		if n := -same; n > 60 || n < 20 {
			t.Errorf("asked %d times in 1000 s a server that is away", n)
		}
	})
}

// The client rejects reports above the server's limit with mess.TooLarge, so that the agent
// sends text only.
func TestTooLargeReportIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newReferenceServer(t, "express")
		b := p.newExecutor("pi", "run1", reference.Config{})
		ref := p.request(map[string]any{"intent": "look"})
		epoch, err := b.claim(ref)
		if err == nil {
			err = b.start(ref, epoch)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Attach(t.Context(), ref, "a.jpg", "image/jpeg", strings.NewReader(strings.Repeat("x", 4<<20))); err != nil {
			t.Error(err)
		}
		if _, err := b.Attach(t.Context(), ref, "b.jpg", "image/jpeg", strings.NewReader(strings.Repeat("x", 4<<20))); !errors.Is(err, mess.TooLarge) {
			t.Errorf("two of 4 MB: %v", err)
		}
		p.SetFault(func(w http.ResponseWriter, r *http.Request) bool { // a proxy that takes less
			if r.Method == "PATCH" {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(413)
			}
			return r.Method == "PATCH"
		})
		if _, err := b.send(ref, epoch, &mess.Status{Code: mess.Completed, Evidence: mess.Photographed}); !errors.Is(err, mess.TooLarge) {
			t.Errorf("%v", err)
		}
	})
}

// The clock of the server counts, not that of the executor.
func TestServerClockCounts(t *testing.T) {
	for _, c := range []struct {
		ahead time.Duration // of the server
		dated bool
		left  time.Duration  // until needed_by, by the server
		want  mess.ErrorCode // "": it starts
	}{
		{10 * 365 * 24 * time.Hour, true, time.Hour, ""},
		{-24 * time.Hour, true, time.Hour, ""},
		{24 * time.Hour, true, -time.Second, mess.StaleToken},
		{0, false, time.Hour, mess.StaleToken}, // it does not tell the time
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, "php")
			p.Keep("needed_by")
			p.Now = func() time.Time { return time.Now().Add(c.ahead) }
			b := p.newExecutor("pi", "run1", reference.Config{})
			ref := p.request(map[string]any{"intent": "look", "needed_by": p.Now().Add(c.left + 10*time.Second).UTC().Format(time.RFC3339)})
			epoch, err := b.claim(ref)
			if err != nil {
				t.Fatal(err)
			}
			if !c.dated {
				p.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
					p.Answer(&withoutDate{w}, r)
					return true
				})
			}
			time.Sleep(10 * time.Second)
			if err := b.start(ref, epoch); c.want == "" && err != nil || c.want != "" && !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
			if is := p.thread(ref).Status; (is == "in-progress") != (c.want == "") || is == "claimed" {
				t.Errorf("%+v: it is %s", c, is)
			}
		})
	}
}

// slowBody is an endless body that gives a byte from time to time.
type slowBody struct{ r *http.Request }

func (d slowBody) Read(p []byte) (int, error) {
	select {
	case <-d.r.Context().Done():
		return 0, d.r.Context().Err()
	case <-time.After(20 * time.Second):
		p[0] = ' '
		return 1, nil
	}
}

func (slowBody) Close() error { return nil }

// slowTransport is a transport on which every answer to a list is a dripping body.
type slowTransport struct {
	plainTransport
	asked int
}

func (d *slowTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/requests") {
		return d.plainTransport.RoundTrip(r)
	}
	d.asked++
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: slowBody{r}}, nil
}

// An endless answer does not block the executor for long.
func TestSlowResponseTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newReferenceServer(t, "express")
		p.join("pi")
		way := &slowTransport{plainTransport: plainTransport{p.Server}}
		c, err := httpclient.New(httpclient.Config{URL: "http://field.example", Exchange: "home", Key: httpclient.Secret(p.keys["pi"]), Transport: way}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		b := &executor{reference.New(c, reference.Config{Executor: "pi"}), t, "run1", 0}
		_, stop := b.follow()
		time.Sleep(10 * time.Minute)
		stop()
		if way.asked < 4 {
			t.Errorf("asked %d times in ten minutes", way.asked)
		}
	})
}

// withoutDate writes responses without a Date header.
type withoutDate struct{ http.ResponseWriter }

func (u *withoutDate) WriteHeader(code int) {
	u.Header().Del("Date")
	u.ResponseWriter.WriteHeader(code)
}
