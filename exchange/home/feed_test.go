package home_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// fixture is an exchange with its home, in a bubble of fake time.
type fixture struct {
	*testing.T
	ctx    context.Context
	x      *exchange.Exchange
	home   *home.Home
	builds atomic.Int64 // reads of the clock by the home: one for each build, and one for each home event
}

var operator = exchange.Actor{ID: "operator", Roles: exchange.Requester | exchange.Operator}

// inBubble runs a test with an exchange in fake time.
func inBubble(t *testing.T, test func(f *fixture)) {
	synctest.Test(t, func(t *testing.T) {
		cfg := exchange.DefaultConfig()
		cfg.States = true
		ctx, cancel := context.WithCancel(t.Context())
		x, err := exchange.Open(ctx, cfg, memory.New(), time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := x.Run(ctx); err != nil {
				t.Error(err)
			}
		})
		f := &fixture{T: t, ctx: ctx, x: x}
		f.home = home.New(x, func() time.Time { f.builds.Add(1); return time.Now() })
		test(f)
		cancel()
		wg.Wait()
	})
}

// report sends a config.executor, in JSON.
func (f *fixture) report(text string) {
	f.Helper()
	m, err := mess.ParseValidJSON([]byte(`{"MESS":[{"config":{"executor":` + text + `}}]}`))
	if err != nil {
		f.Fatal(err)
	}
	id := m.Items[0].(*mess.Config).Executor.ID
	if _, err := f.x.Post(f.ctx, exchange.Inbound{Actor: exchange.Actor{ID: id, Roles: exchange.ExecutorRole}, Message: m}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) request(text string) {
	f.Helper()
	m, err := mess.ParseValidJSON([]byte(`{"MESS":[{"request":` + text + `}]}`))
	if err != nil {
		f.Fatal(err)
	}
	if _, err := f.x.Post(f.ctx, exchange.Inbound{Actor: operator, Message: m}); err != nil {
		f.Fatal(err)
	}
}

const twoLamps = `{"id":"vm","capabilities":[{"switch-on":{"devices":["hall","porch"]}}],"holding":[],"states":[{"device":"hall","state":"off"},{"device":"porch","state":"off"}]}`

func hallState(state, at string) string {
	return `{"id":"vm","holding":[],"states":[{"device":"hall","state":"` + state + `","as_of":"2026-11-21T12:00:` + at + `Z","readings":[{"quantity":"on","value":1,"as_of":"2026-11-21T12:00:` + at + `Z"}]},{"device":"porch","state":"off"}]}`
}

// follower collects what a follower gets, in short words.
type follower struct {
	stop context.CancelFunc

	mu     sync.Mutex
	events []string
	last   string // id
	at     time.Time
}

func (f *fixture) follow(after string) *follower {
	ctx, cancel := context.WithCancel(f.ctx)
	w := &follower{stop: cancel}
	go func() {
		if err := f.home.Follow(ctx, operator, after, w.take); err != nil {
			f.Error(err)
		}
	}()
	synctest.Wait()
	return w
}

func (w *follower) take(e home.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := e.Name
	switch v := e.Data.(type) {
	case home.Document:
		text = fmt.Sprintf("home with %d", len(v.Devices))
	case home.Device:
		text = v.ID + " " + v.State
		if !v.Reachable {
			text += " unreachable"
		}
		if v.Task != nil {
			text += " " + string(v.Task.Status)
		}
	case home.Executor:
		text = fmt.Sprintf("%s live %t%s", v.ID, v.Live, v.Drained)
	case home.Gone:
		text = "gone " + v.ID + v.Executor
	}
	w.events, w.last, w.at = append(w.events, text), e.ID, time.Now()
	return nil
}

// wants compares the events since the last call, after a time.
func (f *fixture) wants(w *follower, after time.Duration, want string) {
	f.Helper()
	time.Sleep(after) // fake time
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.events, ", "); got != want {
		f.Errorf("got %q, want %q", got, want)
	}
	w.events = nil
}

// soon is the longest time from a change to its event.
const soon = 100 * time.Millisecond

func TestFollowersGetChangesTogether(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.report(twoLamps)
		all := make([]*follower, 20)
		for i := range all {
			all[i] = f.follow("")
			f.wants(all[i], 0, "home with 2")
		}
		for i, state := range []string{"on", "off", "on"} {
			before := f.builds.Load()
			f.report(hallState(state, fmt.Sprint(10+i)))
			time.Sleep(soon)
			for _, w := range all {
				f.wants(w, 0, "vm:hall "+state)
				if w.last != all[0].last || w.at != all[0].at {
					t.Errorf("event %s at %v, and %s at %v", w.last, w.at, all[0].last, all[0].at)
				}
			}
			if n := f.builds.Load() - before; n != 1 {
				t.Errorf("%d builds for one change and 20 followers", n)
			}
			all[i].stop() // one of them has waited for the changes
			all = append(all[:i], all[i+1:]...)
		}
	})
}

func TestIdleHomeIsNotBuilt(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.report(twoLamps)
		f.report(hallState("on", "00"))
		f.report(hallState("off", "01")) // nobody follows
		if n := f.builds.Load(); n != 0 {
			t.Errorf("%d builds without a follower", n)
		}
		w := f.follow("")
		f.wants(w, 0, "home with 2")
		before := f.builds.Load()
		for i := range 50 {
			f.report(hallState("off", fmt.Sprint(10+i))) // only times differ
			time.Sleep(10 * time.Second)
		}
		f.wants(w, soon, "")
		if n := f.builds.Load() - before; n != 0 {
			t.Errorf("%d builds without a change", n)
		}
		w.stop()
		synctest.Wait()
		before = f.builds.Load()
		f.report(hallState("on", "00"))
		time.Sleep(time.Minute)
		if n := f.builds.Load() - before; n != 0 {
			t.Errorf("%d builds after the last follower has left", n)
		}
	})
}

func TestFollowResumes(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.report(twoLamps)
		w := f.follow("")
		f.wants(w, 0, "home with 2")
		first := w.last
		f.report(hallState("on", "00"))
		f.wants(w, soon, "vm:hall on")
		w.stop()
		synctest.Wait()
		for after, want := range map[string]string{first: "vm:hall on", w.last: ""} {
			w := f.follow(after)
			f.wants(w, soon, want)
			w.stop()
			synctest.Wait()
		}
		f.report(`{"id":"vm","holding":[],"states":[{"device":"hall","state":"off"},{"device":"porch","state":"on"}]}`) // while nobody reads
		again := f.follow(first)
		f.wants(again, soon, "vm:hall off, vm:porch on")
		for _, id := range []string{"other-1", "1", first + "0000", "-", strings.Repeat("9", 100)} {
			f.wants(f.follow(id), 0, "home with 2")
		}
	})
}

func TestFollowShowsWhatIsGone(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.report(twoLamps)
		f.report(`{"id":"hub","capabilities":[{"switch-on":{"devices":["lamp"]}}],"holding":[]}`)
		w := f.follow("")
		f.wants(w, 0, "home with 3")
		f.report(`{"id":"vm","capabilities":[{"switch-on":{"devices":["hall"]}}],"holding":[],"states":[{"device":"hall","state":"off"}]}`)
		f.wants(w, soon, "gone vm:porch")
		f.report(twoLamps)
		f.wants(w, soon, "vm:porch off")
		f.wants(w, time.Minute, "hub live false, vm live false, hub:lamp unknown unreachable, vm:hall off unreachable, vm:porch off unreachable")
		if _, err := f.x.Deregister(f.ctx, operator, "hub"); err != nil {
			t.Fatal(err)
		}
		f.wants(w, soon, "gone hub:lamp, gone hub")
		f.report(`{"id":"vm","holding":[]}`) // a heartbeat is no change of the registration
		f.wants(w, 6*time.Second, "vm live true, vm:hall off, vm:porch off")
	})
}

// A home remembers a limited number of lost devices. A follower from before then gets all of it.
func TestFollowForgetsLostDevices(t *testing.T) {
	inBubble(t, func(f *fixture) {
		var names []string
		for i := range 1500 {
			names = append(names, fmt.Sprintf(`"lamp-%d"`, i))
		}
		f.report(`{"id":"vm","capabilities":[{"switch-on":{"devices":[` + strings.Join(names, ",") + `]}}]}`)
		w := f.follow("")
		f.wants(w, 0, "home with 1500")
		first := w.last
		f.report(twoLamps)
		time.Sleep(time.Second)
		synctest.Wait()
		w.mu.Lock()
		n, last := len(w.events), w.last
		w.mu.Unlock()
		if n != 1 {
			t.Errorf("%d events, want one home", n)
		}
		f.wants(f.follow(first), 0, "home with 2")
		f.wants(f.follow(last), soon, "")
	})
}

func TestFollowShowsTasks(t *testing.T) {
	inBubble(t, func(f *fixture) {
		f.report(twoLamps)
		w := f.follow("")
		f.wants(w, 0, "home with 2")
		f.request(`{"id":"a","intent":"turn on the hall","requires":[{"switch-on":{"devices":["hall"]}}]}`)
		f.wants(w, soon, "vm:hall off pending")
		before := f.builds.Load()
		f.request(`{"intent":"sing","requires":["sing"]}`)
		f.wants(w, soon, "")
		if n := f.builds.Load() - before; n != 0 {
			t.Errorf("%d builds for a thread without a device", n)
		}
		f.request(`{"intent":"turn on the other hall","requires":[{"switch-on":{"devices":["hall"],"executor":"hub"}}]}`)
		f.wants(w, soon, "")
	})
}

// After a change of any part, followers get the same home as the one that a single build makes from
// nothing.
func TestFollowersGetTheWholeHome(t *testing.T) {
	const lamp, heater = `{"device":"hall","state":"on"%s}`, `{"device":"heater","state":"idle"%s}`
	report := func(one, two string) string {
		return `{"id":"vm","holding":[],"states":[` + fmt.Sprintf(lamp, one) + `,` + fmt.Sprintf(heater, two) + `]}`
	}
	inBubble(t, func(f *fixture) {
		f.report(`{"id":"vm","capabilities":[{"switch-on":{"devices":["hall","heater"],"classes":{"hall":"light"}}},{"vacuum-floor":{"devices":["heater"]}}],"holding":[]}`)
		f.follow("") // keeps the feed alive
		for i, change := range []string{
			report("", ""),
			report(`,"readings":[{"quantity":"on","value":1,"as_of":"2026-11-21T12:00:00Z"}]`, ""),
			report(`,"readings":[{"quantity":"on","value":1,"as_of":"2026-11-21T12:00:01Z"}]`, `,"doing":"cleaning"`), // only a time of the lamp
			report(`,"readings":[{"quantity":"on","value":0,"as_of":"2026-11-21T12:00:02Z","commanded":true}]`, ""),
			report("", `,"limits":{"temperature":{"min":5,"max":30}},"locked":"paint"`),
			report("", `,"failing":{"since":"2026-11-21T12:00:00Z","reason":"no route"}`),
			report("", `,"failing":{"since":"2026-11-21T12:00:05Z","reason":"no route"}`),
			report("", `,"places":["kitchen"]`),
			report(`,"name":"lamp","area":"hall"`, `,"places":["kitchen","hall"]`),
			report(`,"class":"plug"`, `,"doing":"cleaning"`),
			`{"id":"vm","holding":[],"states":[` + fmt.Sprintf(heater, "") + `]}`,
			`{"id":"vm","capabilities":[{"switch-on":{"devices":["heater"]}}],"holding":[]}`,
			`{"id":"hub","capabilities":[{"switch-on":{"devices":["lamp"]}}],"holding":[]}`,
		} {
			f.report(change)
			time.Sleep(soon)
			synctest.Wait()
			d, err := f.home.Document(f.ctx, operator)
			if err != nil {
				t.Fatal(err)
			}
			w := &documentOf{}
			ctx, cancel := context.WithCancel(f.ctx)
			go func() { _ = f.home.Follow(ctx, operator, "", w.take) }() // ends with ctx
			synctest.Wait()
			cancel()
			synctest.Wait()
			if diff := cmp.Diff(d.Devices, w.devices, cmpopts.IgnoreUnexported(home.Device{})); diff != "" {
				t.Errorf("change %d: built at once and followed (-want +got):\n%s", i, diff)
			}
		}
	})
}

// documentOf keeps the devices of the first home that a follower gets.
type documentOf struct{ devices []home.Device }

func (w *documentOf) take(e home.Event) error {
	if d, ok := e.Data.(home.Document); ok && w.devices == nil {
		w.devices = d.Devices
	}
	return nil
}
