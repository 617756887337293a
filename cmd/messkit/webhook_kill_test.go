package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// receiver is a receiver of webhooks. It records the delivery ids by the ref of the thread.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got map[string]map[string]int // ref to delivery id to count
}

func newReceiver() *receiver {
	r := &receiver{got: map[string]map[string]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		var v struct {
			Thread struct{ Ref string }
		}
		if json.NewDecoder(req.Body).Decode(&v) != nil {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.got[v.Thread.Ref] == nil {
			r.got[v.Thread.Ref] = map[string]int{}
		}
		r.got[v.Thread.Ref][req.Header.Get("X-Mess-Delivery")]++
	}))
	return r
}

// missing returns one of the refs that have not arrived, or "", and the number of repeats.
func (r *receiver) missing(refs []string) (ref string, repeats int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range refs {
		if len(r.got[one]) == 0 {
			ref = one
		}
		for _, n := range r.got[one] {
			repeats += n - 1
		}
	}
	return ref, repeats
}

// The receiver of a webhook gets every request that a killed exchange has acknowledged, each under
// one delivery id.
func TestWebhooksOfAKilledExchange(t *testing.T) {
	if testing.Short() {
		t.Skip("this test builds the program and kills it")
	}
	bin, dir, to := buildMesskit(t), t.TempDir(), newReceiver()
	defer to.Close()
	key, refs := "", []string(nil)
	run := func() (*process, *apiClient) {
		t.Helper()
		p, err := launch(dir, bin)
		if err != nil || p.url == "" {
			t.Fatalf("%v, %s", err, &p.stderr)
		}
		operator, err := operatorKey(dir)
		if err != nil {
			t.Fatal(err)
		}
		return p, newAPIClient(p.url, operator, key)
	}
	for round := range 5 {
		p, d := run()
		if round == 0 {
			if err := d.enroll(); err != nil {
				t.Fatal(err)
			}
			key = d.executor
			address := fmt.Sprintf(`{"notifications":[{"type":"webhook","url":"%s/hook"}]}`, to.URL)
			if code, data, err := d.call(key, http.MethodPatch, "/executors/pi", address); code != http.StatusOK {
				t.Fatalf("%d %s %v", code, data, err)
			}
		}
		for n := range 1 + rand.IntN(20) {
			code, data, err := d.call(d.operator, http.MethodPost, "/requests", fmt.Sprintf(`{"intent":"look %d-%d","requires":["look"]}`, round, n))
			var v struct{ Ref string }
			if err != nil || code != http.StatusCreated || json.Unmarshal(data, &v) != nil {
				t.Fatalf("%d %s %v", code, data, err)
			}
			refs = append(refs, v.Ref)
		}
		if err := p.kill(); err != nil { // right after the last acknowledgement
			t.Fatal(err)
		}
	}
	early, _ := to.missing(refs)
	p, d := run()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		missing, repeats := to.missing(refs)
		if missing == "" {
			t.Logf("%d requests, %d repeats; missing at the last kill: %q", len(refs), repeats, early)
			break
		}
		if time.Now().After(end) {
			_, log, _ := d.call(d.operator, http.MethodGet, "/webhooks", "")
			t.Fatalf("%s has not arrived; the delivery log: %s", missing, log)
		}
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	for _, ref := range refs {
		if len(to.got[ref]) != 1 {
			t.Errorf("%s has come under the ids %v, want one", ref, to.got[ref])
		}
	}
	_, log, err := d.call(d.operator, http.MethodGet, "/webhooks", "")
	if err != nil || strings.Contains(string(log), `"lost"`) {
		t.Errorf("the log: %s, %v", log, err)
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}
