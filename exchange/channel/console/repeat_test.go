package console_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console"
)

// countedConsole counts the requests that reach the console. With fixed it answers them itself.
type countedConsole struct {
	*console.Console
	calls int
	fixed bool
}

func (c *countedConsole) Serve(actor exchange.Actor, w http.ResponseWriter, r *http.Request) {
	c.calls++
	if !c.fixed {
		c.Console.Serve(actor, w, r)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(c.calls)
}

// sendWith posts as the operator with an Idempotency-Key, as a browser repeats it.
func (f *rightsFixture) sendWith(key, path, body string) answer {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), http.MethodPost, f.url+path, strings.NewReader(body))
	if err != nil {
		f.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+f.op)
	r.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		f.Fatal(err)
	}
	return answer{res.StatusCode, string(data)}
}

// otherPosts are the paths of posts outside of the console. Those of the page have a test below; the
// others are for programs, and a repeated one does no more than one of them.
var otherPosts = []string{
	"POST requests", "POST mess", "POST devices/{id}/{verb}", "POST hold", "POST resume",
	"POST import", "POST stop", "POST keys", "POST keys/{actor}/rotate", "POST codes",
}

// A browser sends a post again by itself when its connection ends before the answer. Every post of the page
// then acts once: the console answers the repeated one as the first.
func TestRepeatedPostsActOnce(t *testing.T) {
	f := newRights(t)
	posts := slices.DeleteFunc(f.paths(), func(name string) bool { return !strings.HasPrefix(name, "POST ") })
	f.counted.fixed = true
	for _, name := range posts {
		path := strings.TrimPrefix(name, "POST ")
		if !strings.HasPrefix(path, "/console/") {
			if !slices.Contains(otherPosts, name) {
				t.Errorf("%s has no test that repeats it", name)
			}
			continue
		}
		if path == console.StopPath {
			continue // a repeated stop stops what has been stopped, and waits for nothing
		}
		f.counted.calls = 0
		k1, k2 := "k1"+strings.ReplaceAll(path, "/", "."), "k2"+strings.ReplaceAll(path, "/", ".")
		first, again := f.sendWith(k1, path, "{}"), f.sendWith(k1, path, "{}")
		if first.code != http.StatusCreated || again != first || f.counted.calls != 1 {
			t.Errorf("%s: %v, then %v, and it was carried out %d times", name, first, again, f.counted.calls)
		}
		f.must(http.StatusConflict, f.sendWith(k1, path, `{"other":1}`))
		if f.must(http.StatusCreated, f.sendWith(k2, path, "{}")); f.counted.calls != 2 {
			t.Errorf("%s: another key: carried out %d times, want 2", name, f.counted.calls)
		}
	}
}

// A repeated drain does not begin again after its end, and a repeated end does not end a later drain. A
// repeated request, message or tap makes one thread.
func TestRepeatedOrdersActOnce(t *testing.T) {
	f := newRights(t)
	const api = "/api/v1/exchanges/home/"
	isDrained := func() bool {
		return strings.Contains(f.must(http.StatusOK, f.do(nil, http.MethodGet, api+"executors/vm", "")), `"hold":`)
	}
	drain := func(key string) answer { return f.sendWith(key, api+"hold", `{"why":"wet floor"}`) }
	resume := func(key string) answer { return f.sendWith(key, api+"resume", `{}`) }
	first := drain("d1")
	f.must(http.StatusAccepted, first)
	if again := drain("d1"); again != first || !isDrained() {
		t.Errorf("a repeated drain: %v, want %v", again, first)
	}
	f.must(http.StatusAccepted, resume("r1"))
	if drain("d1"); isDrained() {
		t.Error("a repeated drain has begun again after its end")
	}
	f.must(http.StatusAccepted, drain("d2"))
	if resume("r1"); !isDrained() {
		t.Error("a repeated end has ended a later drain")
	}
	f.must(http.StatusConflict, f.sendWith("d1", api+"hold", `{"why":"other"}`))
	f.must(http.StatusAccepted, resume("r2"))

	for path, body := range map[string]string{
		api + "requests":                    `{"id":"web-1","intent":"turn on the lamp"}`,
		"/api/v1/devices/vm:lamp/switch-on": `{}`,
	} {
		count := func() int {
			return strings.Count(f.must(http.StatusOK, f.do(nil, http.MethodGet, api+"requests", "")), `"ref":`)
		}
		before := count()
		f.sendWith("k-1", path, body)
		if f.sendWith("k-1", path, body); count() != before+1 {
			t.Errorf("a repeated post to %s has made %d threads, want 1", path, count()-before)
		}
	}

	var made struct{ Ref string }
	if err := json.Unmarshal([]byte(f.sendWith("k-2", api+"requests", `{"intent":"turn off the lamp"}`).text), &made); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f.must(http.StatusOK, f.sendWith("k-3", api+"mess", `{"id":"m-1","re":["`+made.Ref+`"],"MESS":[{"cancel":{}}]}`))
	}
	if n := strings.Count(f.must(http.StatusOK, f.do(nil, http.MethodGet, api+"requests/"+made.Ref, "")), `"cancel":`); n != 1 {
		t.Errorf("a repeated message is %d times in its thread, want once", n)
	}
}
