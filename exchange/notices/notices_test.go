package notices_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

var (
	agent    = exchange.Actor{ID: "agent", Roles: exchange.Requester}
	pi       = exchange.Actor{ID: "pi", Roles: exchange.ExecutorRole}
	resident = exchange.Actor{ID: "ana", Roles: exchange.Requester | exchange.Observer | exchange.Resident}
	viewer   = exchange.Actor{ID: "vic", Roles: exchange.Observer}
	guest    = exchange.Actor{ID: "gus", Scope: &exchange.Scope{}}
)

// fixture is an exchange with its notices, in a bubble of fake time.
type fixture struct {
	*testing.T
	store *memory.Store
	x     *exchange.Exchange
	log   *notices.Log
	fresh []notices.Notice // what a follower got
	stop  func()
}

func open(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, store: memory.New()}
	f.start()
	return f
}

// start opens the exchange and the notices over the store, as after a restart.
func (f *fixture) start() {
	f.Helper()
	cfg, log := exchange.DefaultConfig(), slog.New(slog.DiscardHandler)
	cfg.Confirm = exchange.ConfirmScript
	var err error
	if f.x, err = exchange.Open(f.Context(), cfg, f.store, time.Now, log); err != nil {
		f.Fatal(err)
	}
	f.log = notices.Open(f.x, log)
	f.log.OnNew(func(n notices.Notice) error { f.fresh = append(f.fresh, n); return nil })
	ctx, cancel := context.WithCancel(f.Context())
	var wg sync.WaitGroup
	for _, run := range []func(context.Context) error{f.x.Run, f.log.Run} {
		wg.Go(func() {
			if err := run(ctx); err != nil {
				f.Error(err)
			}
		})
	}
	f.stop = sync.OnceFunc(func() { cancel(); wg.Wait() })
	synctest.Wait()
}

func (f *fixture) post(by exchange.Actor, text string) string {
	f.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		f.Fatal(err)
	}
	answer, err := f.x.Post(f.Context(), exchange.Inbound{Actor: by, Channel: "test", Message: m})
	if err != nil {
		f.Fatalf("%s: %v", text, err)
	}
	time.Sleep(10 * time.Millisecond)
	synctest.Wait()
	return answer.Items[0].(*mess.Ack).Ref
}

// task makes a task that the executor has claimed.
func (f *fixture) task(by exchange.Actor, intent string) string {
	f.Helper()
	ref := f.post(by, fmt.Sprintf(`{"request":{"intent":%q,"requires":["look"]}}`, intent))
	f.report(ref, `code: claimed`)
	return ref
}

func (f *fixture) report(ref, status string) {
	f.Helper()
	f.post(pi, "re: "+ref+"\nepoch: 1\nMESS: [{status: {"+status+"}}]")
}

func (f *fixture) register() {
	f.Helper()
	f.post(pi, `config: {executor: {id: pi, name: Porch, capabilities: [look], versions: [1.0.0, 1.1.0]}}`)
}

// list describes the notices that an actor sees, the newest first.
func (f *fixture) list(a exchange.Actor) string {
	f.Helper()
	var all []string
	for _, n := range f.log.List(a) {
		text := string(n.Kind) + " " + n.Intent + n.Name + ": " + n.Text
		if n.Open {
			text += " open"
		}
		if n.Over != nil {
			text += " over"
		}
		if n.Read {
			text += " read"
		}
		all = append(all, text)
	}
	return strings.Join(all, " | ")
}

func (f *fixture) want(a exchange.Actor, want string) {
	f.Helper()
	synctest.Wait()
	if got := f.list(a); got != want {
		f.Errorf("%s sees\n %s\nwant\n %s", a.ID, got, want)
	}
}

// Questions, confirmations and results become notices, with their end. A restart over the store keeps
// them and makes none twice.
func TestNoticesOfTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.register()
		ref := f.task(agent, "close the valve")
		f.report(ref, `code: needs_input, questions: [{field: valve, question: "Which valve?"}]`)
		f.want(resident, "question close the valve: Which valve? open")
		f.post(agent, `reply: {re: `+ref+`, answers: {valve: left}}`)
		f.want(resident, "question close the valve: Which valve? over")
		f.report(ref, `code: needs_confirmation, action: close the left valve, action_hash: d1, phrases: [{code: close, device: left valve}]`)
		f.want(resident, "confirmation close the valve: close the left valve open | question close the valve: Which valve? over")
		f.post(agent, `reply: {re: `+ref+`, confirm: true}`)
		f.report(ref, `code: in_progress, action_hash: d1`)
		f.report(ref, `code: failed, reason: {type: timeout, detail: no answer of the valve, effect: unknown}`)
		const all = "unknown close the valve: no answer of the valve | confirmation close the valve: close the left valve over | question close the valve: Which valve? over"
		f.want(resident, all)
		broken := f.task(agent, "look there")
		f.report(broken, `code: failed, reason: {type: broken, detail: the lens is dirty, effect: none}`)
		done := f.task(agent, "look here")
		f.report(done, `code: in_progress`)
		f.post(pi, "re: "+done+"\nepoch: 1\nMESS: [{response: {content: [fine]}}, {status: {code: completed, evidence: read_back}}]")
		f.want(resident, "failed look there: the lens is dirty | "+all)
		if len(f.fresh) != 4 {
			t.Errorf("followers got %d notices, want 4", len(f.fresh))
		}
		phrases := func() string {
			for _, n := range f.log.List(resident) {
				if data, err := json.Marshal(n.Phrases); n.Kind == notices.Confirmation {
					return fmt.Sprint(string(data), err)
				}
			}
			return "no confirmation"
		}
		const closes = `[{"code":"close","device":"left valve"}]<nil>`
		if got := phrases(); got != closes {
			t.Errorf("the notice of the confirmation has the phrases %s", got)
		}
		f.stop()
		f.start()
		f.want(resident, "failed look there: the lens is dirty | "+all)
		if got := phrases(); got != closes {
			t.Errorf("after a restart the notice of the confirmation has the phrases %s", got)
		}
		if len(f.fresh) != 4 {
			t.Errorf("followers got %d notices after a restart, want 4", len(f.fresh))
		}
		f.stop()
	})
}

// What happened while the notices did not run is there after their next start: a question that is
// still open, and one that has been answered.
func TestNoticesOfTimeWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.register()
		first := f.task(agent, "first")
		f.report(first, `code: needs_input, questions: [{field: a, question: "A?"}]`)
		f.stop()
		x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), f.store, time.Now, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		f.x = x
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = x.Run(ctx) })
		synctest.Wait()
		f.post(agent, `reply: {re: `+first+`, answers: {a: b}}`)
		second := f.task(agent, "second")
		f.report(second, `code: needs_input, questions: [{field: c, question: "C?"}]`)
		cancel()
		wg.Wait()
		f.start()
		defer f.stop()
		f.want(resident, "question second: C? open | question first: A? over")
	})
}

// A Log over the store of an earlier release begins with the tasks that wait now.
func TestFirstStartTakesWaitingTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.register()
		f.report(f.task(agent, "old"), `code: needs_input, questions: [{field: a, question: "A?"}]`)
		f.stop()
		for name := range f.x.ChannelState("notices") {
			if err := f.x.SaveChannelState(t.Context(), "notices", name, nil); err != nil {
				t.Fatal(err)
			}
		}
		f.start()
		defer f.stop()
		f.want(resident, "question old: A? open")
	})
}

// An actor sees the notices of its own tasks. Those who see all tasks see all notices, and a guest
// sees nothing of executors. Each has read what it has read, also after a restart.
func TestWhoSeesAndHasReadNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		f.register()
		f.report(f.task(agent, "mine"), `code: needs_input, questions: [{field: a, question: "A?"}]`)
		f.report(f.task(resident, "hers"), `code: needs_input, questions: [{field: b, question: "B?"}]`)
		f.want(agent, "question mine: A? open")
		f.want(viewer, "question hers: B? open | question mine: A? open")
		f.want(guest, "")
		f.want(pi, "question hers: B? open | question mine: A? open") // it holds both
		ids := []string{}
		for _, n := range f.log.List(viewer) {
			ids = append(ids, n.ID)
		}
		version := f.log.Count(viewer).Version
		if err := f.log.Mark(t.Context(), viewer, []string{ids[1], "question/other"}); err != nil {
			t.Fatal(err)
		}
		if c := f.log.Count(viewer); c.Unread != 1 || c.Version <= version {
			t.Errorf("count %+v, want 1 unread and a version after %d", c, version)
		}
		if err := f.log.Mark(t.Context(), agent, []string{ids[0]}); err != nil { // not its own: nothing happens
			t.Fatal(err)
		}
		if c := f.log.Count(agent); c.Unread != 1 {
			t.Errorf("the agent has read what it cannot see: %+v", c)
		}
		f.want(viewer, "question hers: B? open | question mine: A? open read")
		f.want(resident, "question hers: B? open | question mine: A? open")
		if err := f.log.MarkAll(t.Context(), resident); err != nil {
			t.Fatal(err)
		}
		f.stop()
		f.start()
		defer f.stop()
		f.want(viewer, "question hers: B? open | question mine: A? open read")
		f.want(resident, "question hers: B? open read | question mine: A? open read")
		if err := f.log.Forget(t.Context(), resident.ID); err != nil {
			t.Fatal(err)
		}
		f.want(resident, "question hers: B? open | question mine: A? open")
	})
}

// An executor without contact becomes a notice after a minute, and not in the time in which
// executors connect after a start. The notice ends when the executor is back.
func TestNoticesOfExecutors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		defer f.stop()
		f.register()
		beat := func(d time.Duration) {
			for range d / (10 * time.Second) {
				f.post(pi, `config: {executor: {id: pi, holding: []}}`)
				time.Sleep(10 * time.Second)
			}
		}
		beat(3 * time.Minute)
		f.want(resident, "")
		time.Sleep(10 * time.Minute)
		f.want(resident, "offline Porch:  open")
		f.want(guest, "")
		beat(20 * time.Second)
		f.want(resident, "offline Porch:  over")
		f.post(pi, `config: {executor: {id: pi, stopped: {why: smoke, devices: [{device: lamp, state: safe}, {device: heater, state: unsafe, err: no answer}]}}}`)
		time.Sleep(10 * time.Second)
		f.want(resident, "unsafe Porch: no answer open | offline Porch:  over")
		if n := f.log.List(resident)[0]; len(n.Devices) != 1 || n.Devices[0] != "heater" || n.Priority != mess.Urgent {
			t.Errorf("notice: %+v", n)
		}
		f.post(pi, `config: {executor: {id: pi, stopped: {}}}`)
		time.Sleep(10 * time.Second)
		f.want(resident, "unsafe Porch: no answer over | offline Porch:  over")
	})
}

// A Log keeps at most a thousand notices, and drops those that need nobody first.
func TestOldNoticesGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t)
		defer f.stop()
		f.register()
		f.report(f.task(agent, "kept"), `code: needs_input, questions: [{field: a, question: "A?"}]`)
		for n := range 1001 {
			f.report(f.task(agent, fmt.Sprint("task ", n)), `code: failed, reason: {type: broken, detail: no, effect: none}`)
		}
		list := f.log.List(resident)
		if len(list) != 1000 || list[999].Intent != "kept" || list[998].Intent != "task 2" {
			t.Errorf("%d notices, the last ones %s and %s", len(list), list[998].Intent, list[999].Intent)
		}
		if n := len(f.x.ChannelState("notices")); n != 1001 {
			t.Errorf("the store has %d documents, want 1001", n)
		}
	})
}
