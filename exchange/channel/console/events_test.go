package console_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// pageEvent is one event of the stream of a page.
type pageEvent struct{ id, name, data string }

// events opens the stream of a browser. The returned function returns the next event with one of the
// names.
func (f *rightsFixture) events(b *http.Client, query, after string) (next func(names ...string) pageEvent, end func()) {
	f.Helper()
	r, err := http.NewRequestWithContext(f.Context(), http.MethodGet, f.url+"/console/events"+query, http.NoBody)
	if err != nil {
		f.Fatal(err)
	}
	for name, value := range map[string]string{"Accept": "text/event-stream", "Origin": f.url, "Sec-Fetch-Site": "same-origin", "Last-Event-ID": after} {
		r.Header.Set(name, value)
	}
	res, err := b.Do(r)
	if err != nil {
		f.Fatal(err)
	}
	end = func() { _ = res.Body.Close() }
	f.Cleanup(end)
	if res.StatusCode != http.StatusOK {
		f.Fatalf("got %s", res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	return func(names ...string) (e pageEvent) {
		f.Helper()
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				for _, name := range names {
					if e.name == name {
						return e
					}
				}
				e = pageEvent{}
			}
		}
		f.Fatalf("the stream ended before %q: %v", names, lines.Err())
		return e
	}, end
}

// change changes the state of the lamp.
func (f *rightsFixture) change(state string) {
	f.Helper()
	f.must(http.StatusCreated, f.do(nil, http.MethodPost, "/api/v1/exchanges/home/register", strings.Replace(rightsStates, `"lamp","state":"on"`, `"lamp","state":"`+state+`"`, 1)))
}

// One stream has the state, the threads and the home, and continues both kinds of events after the id
// of its last event.
func TestStreamHasEverything(t *testing.T) {
	f := newRights(t)
	b := f.signIn(`{"key":"` + f.op + `"}`)
	next, end := f.events(b, "?home=true", "")
	if e := next("hello"); !strings.Contains(e.data, `"resumed":false`) {
		t.Errorf("the first hello is %s", e.data)
	}
	var home pageEvent
	for seen := map[string]bool{}; !seen["state"] || !seen["home"]; {
		e := next("state", "home")
		if seen[e.name] = true; e.name == "home" {
			home = e
		} else if !strings.Contains(e.data, `"id":"vm"`) {
			t.Errorf("the first state is %s", e.data)
		}
	}
	if !strings.Contains(home.data, "vm:lamp") || !strings.HasPrefix(home.id, "~") {
		t.Errorf("the home has the id %q: %s", home.id, home.data)
	}
	var made struct{ Ref string }
	if err := json.Unmarshal([]byte(f.must(http.StatusAccepted, f.do(nil, http.MethodPost, "/api/v1/devices/vm:lamp/switch-on", `{}`))), &made); err != nil {
		f.Fatal(err)
	}
	var thread, device pageEvent
	for thread.id == "" || device.id == "" {
		if e := next("thread", "device"); e.name == "thread" {
			thread = e
		} else {
			device = e
		}
	}
	if !strings.Contains(thread.data, made.Ref) || !strings.Contains(device.data, made.Ref) {
		t.Errorf("the thread %s is not in %s and %s", made.Ref, thread.data, device.data)
	}
	last := device.id // the later of the two has both positions
	if strings.HasPrefix(last, "~") {
		last = thread.id
	}
	end()

	// What happens without a stream comes after it, once, and the home does not come as a whole.
	f.change("off")
	f.must(http.StatusOK, f.do(nil, http.MethodPatch, "/api/v1/exchanges/home/requests/"+made.Ref, `{"status":"cancelled"}`))
	next, _ = f.events(b, "?home=true", last)
	if e := next("hello"); !strings.Contains(e.data, `"resumed":true`) {
		t.Errorf("the second hello is %s", e.data)
	}
	for cancelled, off := false, false; !cancelled || !off; {
		switch e := next("thread", "device", "home", "reset"); e.name {
		case "thread":
			cancelled = strings.Contains(e.data, `"cancelled"`)
		case "device":
			off = strings.Contains(e.data, `"state":"off"`)
		default:
			t.Fatalf("after its last event the page gets %s %s", e.name, e.data)
		}
	}
}

// A page with a position of an earlier process reads everything again, and one without the home gets
// no events of it.
func TestStreamAfterUnknownEvent(t *testing.T) {
	f := newRights(t)
	b := f.signIn(`{"key":"` + f.op + `"}`)
	for _, after := range []string{"old-1~old-1", "~", "x", "old-1~", "~old-1", strings.Repeat("9", 300)} {
		next, end := f.events(b, "?home=true", after)
		next("home")
		end()
	}
	next, end := f.events(b, "", "old-1~old-1")
	defer end()
	for seen := map[string]bool{}; len(seen) < 2; { // in any order; a state after the hold would have no change
		seen[next("reset", "state").name] = true
	}
	f.must(http.StatusAccepted, f.do(nil, http.MethodPost, "/api/v1/exchanges/home/hold", `{"why":"wet"}`))
	if e := next("change", "home", "device"); e.name != "change" {
		t.Errorf("a page without the home gets %s %s", e.name, e.data)
	}
}

// A change has what differs: a fleet of which one executor changes is not sent again.
func TestStreamSendsOnlyChanges(t *testing.T) {
	f := newRights(t)
	for i := range 40 {
		f.must(http.StatusCreated, f.do(nil, http.MethodPost, "/api/v1/exchanges/home/register", fmt.Sprintf(`{"executor_id":"e%d","capabilities":["look"]}`, i)))
	}
	next, _ := f.events(f.signIn(`{"key":"`+f.op+`"}`), "", "")
	whole := next("state")
	f.must(http.StatusAccepted, f.do(nil, http.MethodPost, "/api/v1/exchanges/home/hold", `{"why":"wet","executors":["vm"]}`))
	e := next("change")
	if !strings.Contains(e.data, `"on_hold":"drained by`) || strings.Contains(e.data, `"id":"e1"`) || len(e.data) > len(whole.data)/5 {
		t.Errorf("after a state of %d bytes the change is %d bytes: %s", len(whole.data), len(e.data), e.data)
	}
}

// The stream of a guest ends at the end of its access.
func TestStreamEndsWithAccess(t *testing.T) {
	f := newRights(t)
	until := time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339Nano)
	guest := f.signIn(`{"link":"` + f.invite(`{"name":"Gus","role":"guest","areas":["hall"],"until":"`+until+`"}`) + `"}`)
	next, _ := f.events(guest, "?home=true", "")
	if e := next("home"); strings.Contains(e.data, "bed") || !strings.Contains(e.data, "front-door") {
		t.Errorf("the guest sees %s", e.data)
	}
	began := time.Now()
	for f.do(guest, http.MethodGet, "/console/who", "").code == http.StatusOK && time.Since(began) < 10*time.Second {
		time.Sleep(50 * time.Millisecond)
	}
	f.must(http.StatusUnauthorized, f.do(guest, http.MethodGet, "/console/events?home=true", ""))
}

// Of the streams that the windows of a browser do not share, four stay. The fifth one ends the oldest,
// which gets the reason first. Streams of other browsers and shared streams do not count.
func TestBrowserHasFourStreams(t *testing.T) {
	f := newRights(t)
	b := f.signIn(`{"key":"` + f.op + `"}`)
	shared, _ := f.events(b, "", "")
	other, _ := f.events(f.signIn(`{"key":"`+f.op+`"}`), "?own=true", "")
	var streams []func(names ...string) pageEvent
	for range 6 {
		next, _ := f.events(b, "?own=true", "")
		next("hello")
		streams = append(streams, next)
	}
	for _, next := range streams[:2] {
		if e := next("elsewhere"); e.data != "{}" {
			t.Errorf("the end of a stream has the data %s", e.data)
		}
	}
	for _, next := range append(streams[2:], shared, other) {
		next("state")
	}
	f.must(http.StatusAccepted, f.do(nil, http.MethodPost, "/api/v1/exchanges/home/hold", `{"why":"wet","executors":["vm"]}`))
	for _, next := range append(streams[2:], shared, other) {
		if e := next("change", "elsewhere"); e.name != "change" {
			t.Errorf("one of four streams ends")
		}
	}
}
