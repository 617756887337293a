package reference_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/exchange/remote/reference"
	"github.com/messkit/messkit/mess"
)

// lag returns random times up to a limit.
func lag(limit time.Duration) func() time.Duration {
	return func() time.Duration { return rand.N(limit) }
}

// The server accepts answers of any actor; the client decides which confirmation is valid.
func TestValidConfirmations(t *testing.T) {
	yes := func(more map[string]any) any {
		r := map[string]any{"confirm": true}
		for k, v := range more {
			r[k] = v
		}
		return map[string]any{"reply": r}
	}
	for what, c := range map[string]struct {
		by     string // "operator": not the requester alone
		early  bool   // it comes before the question
		from   string
		item   any
		counts bool
	}{
		"the requester's":                     {"", false, "agent", yes(nil), true},
		"before the question":                 {"", true, "agent", yes(nil), false},
		"a stranger's":                        {"", false, "stranger", yes(nil), false},
		"with last":                           {"", false, "agent", yes(map[string]any{"re": "last"}), false},
		"of text":                             {"", false, "agent", yes(map[string]any{"confirm": "true"}), false},
		"as an answer":                        {"", false, "agent", map[string]any{"answer": map[string]any{"value": true}}, true},
		"as an answer with last":              {"", false, "agent", map[string]any{"answer": map[string]any{"value": true, "re": "last"}}, false},
		"the requester's where a person must": {"operator", false, "agent", yes(nil), false},
		"a person's where a person must":      {"operator", false, "anna", yes(nil), true},
		"a person's":                          {"", false, "anna", yes(nil), true},
		"a stranger's where a person must":    {"operator", false, "stranger", yes(nil), false},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newReferenceServer(t, "php")
				p.join("anna")
				p.join("stranger")
				b := p.newExecutor("pi", "run1", reference.Config{Operators: []string{"anna"}})
				b.register()
				ref := p.request(map[string]any{"intent": "open the door"})
				m, stop := b.follow()
				defer stop()
				epoch, err := b.claim(ref)
				if err != nil {
					t.Fatal(err)
				}
				if c.early {
					p.post(c.from, ref, c.item)
				}
				if _, err := b.send(ref, epoch, &mess.Status{Code: mess.NeedsConfirmation, Action: "open", ConfirmBy: c.by}); err != nil {
					t.Fatal(err)
				}
				if !c.early {
					p.post(c.from, ref, c.item)
				}
				time.Sleep(10 * time.Second)
				heard := 0
				for _, one := range m.all() {
					switch i := one.Items[0].(type) {
					case *mess.Reply:
						if i.Confirm != nil {
							heard++
						}
					case *mess.Answer:
						heard++
					}
				}
				if (heard == 1) != c.counts || heard > 1 {
					t.Errorf("heard %d times: %v", heard, m.kinds())
				}
			})
		})
	}
}

// The client does not start a thread that another executor has started, that an actor has
// cancelled, or that is too late. The thread records its end.
func TestInvalidStartIsRefused(t *testing.T) {
	for what, c := range map[string]struct {
		between func(p *referenceServer, ref string)
		why     mess.ErrorCode
		status  string // of the thread afterwards
	}{
		"cancelled in words":      {func(p *referenceServer, ref string) { p.post("agent", ref, map[string]any{"cancel": map[string]any{}}) }, mess.StaleToken, "cancelled"},
		"cancelled by its status": {func(p *referenceServer, ref string) { p.set("agent", ref, "cancelled") }, mess.StaleToken, "cancelled"},
		"set back":                {func(p *referenceServer, ref string) { p.set("agent", ref, "pending") }, mess.StaleToken, "pending"},
		"completed by another":    {func(p *referenceServer, ref string) { p.set("other", ref, "completed") }, mess.StaleToken, "completed"},
		"claimed by another": {func(p *referenceServer, ref string) {
			p.set("other", ref, "pending")
			p.set("other", ref, "claimed")
		}, mess.AlreadyClaimed, "claimed"},
		"begun by another": {func(p *referenceServer, ref string) {
			p.post("other", ref, map[string]any{"status": map[string]any{"code": "in-progress", "executor": "other"}})
		}, mess.AlreadyClaimed, "claimed"},
		"claimed by another process": {func(p *referenceServer, ref string) {
			p.post("pi", ref, map[string]any{"status": map[string]any{"code": "claimed", "executor": "pi", "instance": "run2"}})
		}, mess.Conflict, "claimed"},
		"too late": {func(*referenceServer, string) { time.Sleep(2 * time.Hour) }, mess.StaleToken, "expired"},
	} {
		t.Run(what, func(t *testing.T) {
			eachReferenceServer(t, func(t *testing.T, name string) {
				synctest.Test(t, func(t *testing.T) {
					p := newReferenceServer(t, name)
					p.Keep("needed_by")
					p.join("other")
					b := p.newExecutor("pi", "run1", reference.Config{})
					b.register()
					ref := p.request(map[string]any{"intent": "look", "needed_by": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
					epoch, err := b.claim(ref)
					if err != nil {
						t.Fatal(err)
					}
					c.between(p, ref)
					if err := b.start(ref, epoch); !errors.Is(err, c.why) {
						t.Errorf("the start: %v, want %s", err, c.why)
					}
					if got := p.thread(ref); got.Status != c.status || has(got.texts("pi"), "in_progress") {
						t.Errorf("the thread: %s %v, want %s", got.Status, got.texts("pi"), c.status)
					}
				})
			})
		})
	}
}

// set changes a status without a message, like some clients do.
func (p *referenceServer) set(as, ref, status string) {
	p.Helper()
	p.call(as, "PATCH", "/requests/"+ref, map[string]any{"status": status}, nil)
}

// For each message during the work: whether it ends the work.
func TestMessagesThatEndWork(t *testing.T) {
	for what, c := range map[string]struct {
		during func(p *referenceServer, ref string)
		hears  mess.Kind // "": nothing
	}{
		"cancelled in words":      {func(p *referenceServer, ref string) { p.post("agent", ref, map[string]any{"cancel": map[string]any{}}) }, mess.KindCancel},
		"by somebody else":        {func(p *referenceServer, ref string) { p.post("other", ref, map[string]any{"cancel": map[string]any{}}) }, mess.KindCancel},
		"cancelled by its status": {func(p *referenceServer, ref string) { p.set("agent", ref, "cancelled") }, mess.KindCancel},
		"ended by its status":     {func(p *referenceServer, ref string) { p.set("agent", ref, "completed") }, mess.KindStatus},
		"a late claim":            {func(p *referenceServer, ref string) { p.set("other", ref, "claimed") }, ""},
		"nonsense": {func(p *referenceServer, ref string) {
			p.call("other", "PATCH", "/requests/"+ref, map[string]any{"mess": "hello"}, nil)
		}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			eachReferenceServer(t, func(t *testing.T, name string) {
				synctest.Test(t, func(t *testing.T) {
					p := newReferenceServer(t, name)
					p.join("other")
					b := p.newExecutor("pi", "run1", reference.Config{})
					ref := p.request(map[string]any{"intent": "clean"})
					epoch, err := b.claim(ref)
					if err == nil {
						err = b.start(ref, epoch)
					}
					if err != nil {
						t.Fatal(err)
					}
					m, stop := b.follow()
					defer stop()
					c.during(p, ref)
					time.Sleep(20 * time.Second)
					switch k := m.kinds(); {
					case c.hears == "" && len(k) > 0, c.hears != "" && (len(k) == 0 || k[len(k)-1] != c.hears):
						t.Errorf("hears %v, want %q", k, c.hears)
					}
					if _, err := b.send(ref, epoch, &mess.Status{Code: mess.Completed, Evidence: mess.ReadBack}); err != nil {
						t.Fatal(err)
					}
					end := p.thread(ref)
					if !has(end.texts("pi"), "completed") || c.hears == "" && end.Status != "completed" || c.hears == mess.KindCancel && strings.Contains(what, "status") && end.Status != "cancelled" {
						t.Errorf("the end: %s %v", end.Status, end.texts("pi"))
					}
				})
			})
		})
	}
}

// After a restart, an executor releases threads that it has claimed, and gets a report of those
// that it has started.
func TestRestartReleasesClaims(t *testing.T) {
	eachReferenceServer(t, func(t *testing.T, name string) {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, name)
			b := p.newExecutor("pi", "run1", reference.Config{})
			b.register()
			claimed, begun, known := p.request(map[string]any{"intent": "a"}), p.request(map[string]any{"intent": "b"}), p.request(map[string]any{"intent": "c"})
			epochs := map[string]uint64{}
			for _, ref := range []string{claimed, begun, known} {
				epoch, err := b.claim(ref)
				if err == nil && ref != claimed {
					err = b.start(ref, epoch)
				}
				if err != nil {
					t.Fatal(err)
				}
				epochs[ref] = epoch
			}
			again := p.newExecutor("pi", "run2", reference.Config{})
			ack := again.register(mess.HeldThread{Ref: known, Epoch: epochs[known]})
			if len(ack.Threads) != 2 || ack.Threads[0].Ref != known || !*ack.Threads[0].Yours || ack.Threads[1].Ref != begun || ack.Threads[1].Status != mess.InProgress {
				t.Errorf("told: %+v", ack.Threads)
			}
			if s := p.thread(claimed).Status; s != "pending" {
				t.Errorf("what was claimed is %s", s)
			}
			if err := b.start(claimed, epochs[claimed]); err == nil {
				t.Error("the earlier process begins all the same")
			}
			m, stop := again.follow()
			defer stop()
			time.Sleep(10 * time.Second)
			if o := m.offers(); len(o) != 1 || o[0] != claimed {
				t.Errorf("offers: %v", o)
			}
		})
	})
}

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
		if n := p.Asked("GET", "list"); n < 60 || n > 210 || same < n-2 {
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

// An executor that declines without the claim writes nothing: on some servers its write would
// undo other changes.
func TestDeclineWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newReferenceServer(t, "php")
		b := p.newExecutor("pi", "run1", reference.Config{})
		ref := p.request(map[string]any{"intent": "sing"})
		m, stop := b.follow()
		defer stop()
		time.Sleep(5 * time.Second)
		if _, err := b.send(ref, 0, &mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: "no"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := p.Asked("PATCH", "update"); n != 0 || len(m.all()) != 1 {
			t.Errorf("%d updates, %d offers", n, len(m.all()))
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

// AutoDetect asks for the kind of a server once.
func TestAutoDetectFindsReferenceServer(t *testing.T) {
	eachReferenceServer(t, func(t *testing.T, name string) {
		p := newReferenceServer(t, name)
		p.join("pi")
		for exchange, want := range map[string]string{"home": "", "my_home": "has a _"} {
			c, err := httpclient.New(httpclient.Config{URL: "http://field.example", Exchange: exchange, Key: httpclient.Secret(p.keys["pi"]), Transport: plainTransport{p.Server}}, quiet)
			if err != nil {
				t.Fatal(err)
			}
			x := remote.For(c, remote.Auto, reference.Config{Executor: "pi"})
			_, err = x.Send(t.Context(), mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: "pi"}}}})
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", exchange, err)
			}
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

// A cancel between the reads of a claim ends the thread.
func TestCancelDuringClaim(t *testing.T) {
	eachReferenceServer(t, func(t *testing.T, name string) {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, name)
			b := p.newExecutor("pi", "run1", reference.Config{})
			ref := p.request(map[string]any{"intent": "look"})
			time.AfterFunc(50*time.Millisecond, func() { p.post("agent", ref, map[string]any{"cancel": map[string]any{}}) })
			if _, err := b.claim(ref); !errors.Is(err, mess.StaleToken) {
				t.Errorf("%v", err)
			}
			if is := p.thread(ref).Status; is != "cancelled" {
				t.Errorf("it is %s", is)
			}
		})
	})
}

// withoutDate writes responses without a Date header.
type withoutDate struct{ http.ResponseWriter }

func (u *withoutDate) WriteHeader(code int) {
	u.Header().Del("Date")
	u.ResponseWriter.WriteHeader(code)
}
