package reference_test

import (
	"errors"
	"math/rand/v2"
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
	confirm := func(more map[string]any) any {
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
		"the requester's":                     {"", false, "agent", confirm(nil), true},
		"before the question":                 {"", true, "agent", confirm(nil), false},
		"a stranger's":                        {"", false, "stranger", confirm(nil), false},
		"with last":                           {"", false, "agent", confirm(map[string]any{"re": "last"}), false},
		"of text":                             {"", false, "agent", confirm(map[string]any{"confirm": "true"}), false},
		"as an answer":                        {"", false, "agent", map[string]any{"answer": map[string]any{"value": true}}, true},
		"as an answer with last":              {"", false, "agent", map[string]any{"answer": map[string]any{"value": true, "re": "last"}}, false},
		"the requester's where a person must": {"operator", false, "agent", confirm(nil), false},
		"a person's where a person must":      {"operator", false, "anna", confirm(nil), true},
		"a person's":                          {"", false, "anna", confirm(nil), true},
		"a stranger's where a person must":    {"operator", false, "stranger", confirm(nil), false},
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
				answers := 0
				for _, one := range m.all() {
					switch i := one.Items[0].(type) {
					case *mess.Reply:
						if i.Confirm != nil {
							answers++
						}
					case *mess.Answer:
						answers++
					}
				}
				if (answers == 1) != c.counts || answers > 1 {
					t.Errorf("received %d answers: %v", answers, m.kinds())
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
		during   func(p *referenceServer, ref string)
		received mess.Kind // "": nothing
	}{
		"cancelled in words":      {func(p *referenceServer, ref string) { p.post("agent", ref, map[string]any{"cancel": map[string]any{}}) }, mess.KindCancel},
		"by another client":       {func(p *referenceServer, ref string) { p.post("other", ref, map[string]any{"cancel": map[string]any{}}) }, mess.KindCancel},
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
					case c.received == "" && len(k) > 0, c.received != "" && (len(k) == 0 || k[len(k)-1] != c.received):
						t.Errorf("received %v, want %q at the end", k, c.received)
					}
					if _, err := b.send(ref, epoch, &mess.Status{Code: mess.Completed, Evidence: mess.ReadBack}); err != nil {
						t.Fatal(err)
					}
					end := p.thread(ref)
					if !has(end.texts("pi"), "completed") || c.received == "" && end.Status != "completed" || c.received == mess.KindCancel && strings.Contains(what, "status") && end.Status != "cancelled" {
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
				t.Errorf("threads in the ack are %+v", ack.Threads)
			}
			if s := p.thread(claimed).Status; s != "pending" {
				t.Errorf("status of the claimed thread is %s, want pending", s)
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
		if n := p.RequestCount("PATCH", "update"); n != 0 || len(m.all()) != 1 {
			t.Errorf("%d updates, %d offers", n, len(m.all()))
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
				t.Errorf("status is %s, want cancelled", is)
			}
		})
	})
}
