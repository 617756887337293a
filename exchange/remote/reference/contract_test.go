package reference_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange/remote/reference"
	"github.com/messkit/messkit/mess"
)

// recordedRequest is a request in the server's view.
type recordedRequest struct {
	at     time.Time
	method string
	path   string // below the exchange
	body   string
	status string // the new status of the thread
}

// requestLog records the requests to a server.
type requestLog struct {
	mu   sync.Mutex
	list []recordedRequest
}

// note records each request, and calls before with it before the server answers.
func (p *referenceServer) note(before func(recordedRequest)) *requestLog {
	n := &requestLog{}
	p.SetFault(func(_ http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body) // it is in memory
		r.Body = io.NopCloser(bytes.NewReader(body))
		var v struct{ Status string }
		_ = json.Unmarshal(body, &v) // an invalid body sets no status
		a := recordedRequest{time.Now(), r.Method, strings.TrimPrefix(r.URL.Path, base), string(body), v.Status}
		n.mu.Lock()
		n.list = append(n.list, a)
		n.mu.Unlock()
		if before != nil {
			before(a)
		}
		return false
	})
	return n
}

func (n *requestLog) all() []recordedRequest {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// statuses returns the statuses in the requests, in order.
func (n *requestLog) statuses() (words []string) {
	for _, a := range n.all() {
		if a.status != "" {
			words = append(words, a.status)
		}
	}
	return words
}

// The client reads the thread twice after a claim, each time after a random wait. The second
// read detects another executor that claimed between the two.
func TestClaimIsReadTwice(t *testing.T) {
	eachReferenceServer(t, func(t *testing.T, name string) {
		waits := map[time.Duration]bool{}
		for range 10 {
			synctest.Test(t, func(t *testing.T) {
				p := newReferenceServer(t, name)
				b := p.newExecutor("pi", "run1", reference.Config{Settle: 400 * time.Millisecond})
				ref := p.request(map[string]any{"intent": "look"})
				n := p.note(nil)
				if _, err := b.claim(ref); err != nil {
					t.Fatal(err)
				}
				all := n.all()
				at := slices.IndexFunc(all, func(a recordedRequest) bool { return a.status == "claimed" })
				if at < 0 || len(all) != at+3 {
					t.Fatalf("after the claim: %+v", all)
				}
				for i := at + 1; i < len(all); i++ {
					wait := all[i].at.Sub(all[i-1].at)
					if waits[wait] = true; all[i].method != "GET" || all[i].path != "/requests/"+ref || wait < 100*time.Millisecond || wait > 400*time.Millisecond {
						t.Errorf("look %d after %v: %+v", i-at, wait, all[i])
					}
				}
			})
		}
		if len(waits) < 10 {
			t.Errorf("the waits can be foreseen: %v", waits)
		}
		for _, look := range []int{1, 2} { // the read before which another executor claims
			synctest.Test(t, func(t *testing.T) {
				p := newReferenceServer(t, name)
				p.join("other")
				b := p.newExecutor("pi", "run1", reference.Config{})
				ref := p.request(map[string]any{"intent": "look"})
				claimed, looks := false, 0
				p.note(func(a recordedRequest) {
					if claimed = claimed || a.status == "claimed"; !claimed || a.method != "GET" {
						return
					}
					if looks++; looks == look {
						p.set("other", ref, "pending")
						p.set("other", ref, "claimed")
					}
				})
				epoch, err := b.claim(ref)
				if !errors.Is(err, mess.AlreadyClaimed) || looks != look {
					t.Errorf("another claim came before read %d: %v, after %d reads", look, err, looks)
				}
				if err := b.start(ref, epoch); err == nil || has(p.thread(ref).texts("pi"), "in_progress") {
					t.Errorf("start: %v, want an error and no in_progress", err)
				}
			})
		}
	})
}

// The client sends a status in the spelling of the specification first. After a 400 it tries the
// spelling with a hyphen, or the nearest status. It starts with the accepted one the next time.
func TestSpellingOfStatuses(t *testing.T) {
	want := map[string][]string{
		"express": {"claimed", "needs_input", "needs_input", "in_progress", "failed"},
		"php": {
			"claimed", "needs_input", "needs-input", "needs-input", "in_progress", "in-progress", "failed", "cancelled",
			"claimed", "needs-input", "needs-input", "in-progress", "cancelled",
		},
	}
	want["express"] = append(want["express"], want["express"]...)
	eachReferenceServer(t, func(t *testing.T, name string) {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, name)
			b := p.newExecutor("pi", "run1", reference.Config{})
			n := p.note(nil)
			for range 2 {
				ref := p.request(map[string]any{"intent": "look"})
				epoch, err := b.claim(ref)
				for range 2 {
					if err == nil {
						_, err = b.send(ref, epoch, &mess.Status{Code: mess.NeedsInput, Questions: []mess.Question{{Field: "shelf", Question: "Which?"}}})
					}
				}
				if err == nil {
					err = b.start(ref, epoch)
				}
				if err == nil {
					_, err = b.send(ref, epoch, &mess.Status{Code: mess.Failed, Reason: &mess.Reason{Detail: "it is dark"}})
				}
				if err != nil {
					t.Fatal(err)
				}
				if statuses := p.thread(ref).texts("pi"); !slices.Equal(statuses[:3], []string{"claimed", "needs_input", "needs_input"}) {
					t.Errorf("statuses are %v, want claimed needs_input needs_input first", statuses)
				}
			}
			if got := n.statuses(); !slices.Equal(got, want[name]) {
				t.Errorf("tried %q\nwant %q", got, want[name])
			}
		})
	})
}

// The client tries another spelling after a 400 only.
func TestOnly400ChangesSpelling(t *testing.T) {
	for _, code := range []int{401, 403, 404, 409, 413, 429, 500, 503} {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, "php")
			b := p.newExecutor("pi", "run1", reference.Config{})
			ref := p.request(map[string]any{"intent": "look"})
			epoch, err := b.claim(ref)
			if err != nil {
				t.Fatal(err)
			}
			tries := 0
			p.SetFault(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPatch {
					return false
				}
				tries++
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				_, _ = io.WriteString(w, `{"error":"no"}`)
				return true
			})
			if err := b.start(ref, epoch); err == nil || tries != 1 {
				t.Errorf("%d: %d tries, %v", code, tries, err)
			}
		})
	}
}

// The intervals of polls vary, so that executors do not poll in step. They grow while the server
// is unreachable, and return to normal afterwards.
func TestJitterAndBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newReferenceServer(t, "express")
		b := p.newExecutor("pi", "run1", reference.Config{Poll: 2 * time.Second})
		gaps := func(d time.Duration, away bool) (list []time.Duration) {
			var mu sync.Mutex
			var last time.Time
			p.SetFault(func(w http.ResponseWriter, _ *http.Request) bool {
				mu.Lock()
				defer mu.Unlock()
				if !last.IsZero() {
					list = append(list, time.Since(last))
				}
				if last = time.Now(); away {
					w.WriteHeader(503)
				}
				return away
			})
			time.Sleep(d)
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(list)
		}
		_, stop := b.follow()
		defer stop()
		time.Sleep(time.Second)
		differ := map[time.Duration]bool{}
		regular := func(when string, list []time.Duration) {
			t.Helper()
			for _, gap := range list {
				if differ[gap] = true; gap < time.Second || gap > 3*time.Second {
					t.Errorf("%s: a gap of %v", when, gap)
				}
			}
		}
		regular("there", gaps(5*time.Minute, false))
		if len(differ) < 50 {
			t.Errorf("they go in step: %v", differ)
		}
		away := gaps(10*time.Minute, true)
		if longest := slices.Max(away); len(away) < 10 || away[0] > 6*time.Second || longest < 15*time.Second || longest > time.Minute {
			t.Errorf("away: %v", away)
		}
		gaps(2*time.Minute, false) // the server is back
		regular("back", gaps(5*time.Minute, false))
	})
}

// A heartbeat is an empty change of the executor's profile. It changes last_seen only.
func TestHeartbeatChangesLastSeen(t *testing.T) {
	eachReferenceServer(t, func(t *testing.T, name string) {
		synctest.Test(t, func(t *testing.T) {
			p := newReferenceServer(t, name)
			b := p.newExecutor("pi", "run1", reference.Config{})
			b.register()
			seen := func() (last, rest string) {
				var v struct{ Executors []map[string]any }
				p.call("agent", "GET", "/executors", nil, &v)
				for _, e := range v.Executors {
					if e["id"] == "pi" {
						last, _ = e["last_seen"].(string)
						delete(e, "last_seen")
						text, err := json.Marshal(e)
						if err != nil {
							t.Fatal(err)
						}
						rest = string(text)
					}
				}
				return last, rest
			}
			before, profile := seen()
			time.Sleep(time.Minute)
			n := p.note(nil)
			if _, err := b.send("", 0, &mess.Config{Executor: &mess.Executor{ID: "pi", Holding: []mess.HeldThread{}}}); err != nil {
				t.Fatal(err)
			}
			if all := n.all(); len(all) != 1 || all[0].method != "PATCH" || all[0].path != "/executors/pi" || all[0].body != "{}" {
				t.Errorf("sent: %+v", all)
			}
			if after, is := seen(); after <= before || is != profile || !strings.Contains(is, "look") {
				t.Errorf("seen %s, then %s; %s, then %s", before, after, profile, is)
			}
		})
	})
}

// The maximum size of images in a report fits into the server's limit, and the thread contains
// them unchanged.
func TestImagesFitServerLimit(t *testing.T) {
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
		var content []mess.Entry
		for _, size := range []int{4 << 20, 3 << 20} {
			media, err := b.Attach(t.Context(), ref, "a.jpg", "image/jpeg", strings.NewReader(strings.Repeat("x", size)))
			if err != nil {
				t.Fatal(err)
			}
			content = append(content, mess.Entry{Type: "image", Value: media.URI})
		}
		if _, err := b.Attach(t.Context(), ref, "b.jpg", "image/jpeg", strings.NewReader("x")); !errors.Is(err, mess.TooLarge) {
			t.Errorf("one byte more: %v", err)
		}
		n := p.note(nil)
		if _, err := b.send(ref, epoch, &mess.Status{Code: mess.Completed, Evidence: mess.Photographed}, &mess.Response{Content: content}); err != nil {
			t.Fatal(err)
		}
		for _, a := range n.all() {
			if len(a.body) > 10<<20 {
				t.Errorf("a body of %d bytes", len(a.body))
			}
		}
		end := p.thread(ref)
		items := end.items(len(end.Messages) - 1)
		got, _ := items[1]["response"].(map[string]any)["content"].([]any)
		if end.Status != "completed" || len(got) != 2 || got[0].(map[string]any)["image"] != content[0].Value || got[1].(map[string]any)["image"] != content[1].Value {
			t.Errorf("%s: %d pictures", end.Status, len(got))
		}
	})
}
