package agent_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// stops posts a stop and lets it take effect.
func (h *house) stops(who exchange.Actor) mess.Stop {
	h.t.Helper()
	s, err := h.x.Stop(h.t.Context(), who, mess.Stop{Reason: "the cat"})
	if err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	return s
}

// standing returns the executor's state at the exchange.
func (h *house) standing() exchange.ExecutorInfo {
	h.t.Helper()
	for _, e := range h.x.Executors() {
		if e.ID == h.cfg.ID {
			return e
		}
	}
	h.t.Fatal("the executor is not registered")
	return exchange.ExecutorInfo{}
}

// A driver that a stop interrupts may have acted: the stop is no proof of an effect of none.
func TestStopDuringAct(t *testing.T) {
	inHouse(t, func(h *house) {
		h.lamp.set(func(l *lamp) { l.takes, l.blind = 10*time.Second, true })
		ref := h.says(claude, "request: {intent: turn on the porch light}")
		h.after(3 * time.Second)
		h.stops(claude)
		if s := h.is(ref, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectUnknown {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// A stop at the exchange reaches the executor at once: it stops running acts and reports the
// truth, waiting confirmations end, and it declines new requests.
func TestStopFromExchange(t *testing.T) {
	inHouse(t, func(h *house) {
		acting := h.cleaning()
		h.after(3 * time.Second)
		asking := h.says(claude, "request: {intent: vacuum the kitchen}")
		h.is(asking, mess.NeedsInput)
		before := time.Now()
		h.stops(claude)
		if time.Since(before) != 0 {
			t.Errorf("it took %v", time.Since(before))
		}
		if s := h.is(acting, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "the cat, by claude-agent") {
			t.Errorf("what acted: %+v", s.Reason)
		}
		if s := h.is(asking, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectNone {
			t.Errorf("what asked: %+v", s.Reason)
		}
		for _, intent := range []string{"turn on the porch light", "what's in the fridge?"} {
			if s := h.is(h.says(person, "request: {intent: \""+intent+"\"}"), mess.Declined); !strings.Contains(s.Reason.Detail, "the cat") {
				t.Errorf("%s: %+v", intent, s.Reason)
			}
		}
		e := h.standing()
		if e.Stopped == nil || !strings.Contains(e.Stopped.Reason, "the cat") || len(e.UnconfirmedStops) != 0 {
			t.Fatalf("the exchange knows %+v, unconfirmed %v", e.Stopped, e.UnconfirmedStops)
		}
		for _, d := range e.Stopped.Devices {
			if d.State != "safe" || d.Evidence != mess.Acknowledged {
				t.Errorf("%+v", d)
			}
		}
		if len(e.Stopped.Devices) != 3 {
			t.Errorf("%d devices", len(e.Stopped.Devices))
		}
		h.lamp.mu.Lock()
		halted, started := h.lamp.halted, h.lamp.started
		h.lamp.mu.Unlock()
		if halted != 1 || started != 1 {
			t.Errorf("the lamp was halted %d times, started %d times", halted, started)
		}

		h.gate.ResetStop()
		synctest.Wait()
		if h.is(acting, mess.Failed); h.lamp.did() != "" {
			t.Errorf("a clear begins nothing; the lamp did %s", h.lamp.did())
		}
		if e := h.standing(); e.Stopped == nil || e.Stopped.Reason != "" {
			t.Errorf("after the clear the exchange knows %+v", e.Stopped)
		}
		h.is(h.says(claude, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

// A stop during a lost connection reaches the executor after its return, once.
func TestStopDuringLostConnection(t *testing.T) {
	inHouse(t, func(h *house) {
		h.line.cutIt(true)
		h.after(time.Minute)
		s := h.stops(person)
		if h.gate.Stopped() != "" || len(h.standing().UnconfirmedStops) != 1 {
			t.Errorf("stopped for %q, unconfirmed %v", h.gate.Stopped(), h.standing().UnconfirmedStops)
		}
		h.line.cutIt(false)
		h.after(2 * time.Minute)
		if e := h.standing(); !strings.Contains(h.gate.Stopped(), "the cat, by teague") || len(e.UnconfirmedStops) != 0 || e.Stopped.Orders[0] != s.ID {
			t.Errorf("stopped for %q, unconfirmed %v", h.gate.Stopped(), e.UnconfirmedStops)
		}
	})
}

// The same holds if the executor was not running.
func TestStopDuringDowntime(t *testing.T) {
	inHouse(t, func(h *house) {
		h.stopAgent()
		h.stops(person)
		h.startAgent()
		if !strings.Contains(h.gate.Stopped(), "the cat") || len(h.standing().UnconfirmedStops) != 0 {
			t.Errorf("stopped for %q, unconfirmed %v", h.gate.Stopped(), h.standing().UnconfirmedStops)
		}
	})
}

// A task in the queue of a device does not begin after the reset of a stop.
func TestStopEndsQueuedTask(t *testing.T) {
	inHouse(t, func(h *house) {
		first := h.cleaning()
		second := h.says(claude, "request: {intent: vacuum both}")
		h.says(person, "reply: {re: "+second+", confirm: true}")
		h.after(time.Second)
		h.stops(person)
		h.gate.ResetStop()
		h.after(time.Hour)
		h.is(first, mess.Failed)
		if s := h.is(second, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectNone {
			t.Errorf("%+v", s.Reason)
		}
		if did := h.vacuum.did(); strings.Count(did, "clean") > 1 {
			t.Errorf("the vacuum did: %s", did)
		}
	})
}

// A task behind a cancelled one does not begin, because the requester of the cancel sees the
// device at rest and does not know of the task. A later request begins.
func TestNoTaskBeginsBehindCancel(t *testing.T) {
	inHouse(t, func(h *house) {
		first := h.cleaning()
		second, third := h.says(claude, "request: {intent: vacuum both}"), h.says(claude, "request: {intent: vacuum both}")
		h.says(person, "reply: {re: "+second+", confirm: true}")
		h.says(person, "reply: {re: "+third+", confirm: true}")
		h.after(time.Second)
		h.says(claude, "cancel: {re: "+third+"}") // ends only itself
		h.after(time.Second)
		h.is(third, mess.Cancelled)
		h.is(first, mess.InProgress)
		h.says(person, "cancel: {re: "+first+"}")
		h.after(time.Minute)
		h.is(first, mess.Cancelled)
		if s := h.is(second, mess.Failed); s.Reason.Type != "ended" || s.Reason.Effect != mess.EffectNone || !strings.Contains(s.Reason.Detail, "cancelled") {
			t.Errorf("%+v", s.Reason)
		}
		if did := h.vacuum.did(); strings.Count(did, "clean") > 1 {
			t.Errorf("the vacuum did: %s", did)
		}
		fourth := h.says(claude, "request: {intent: vacuum both}")
		h.says(person, "reply: {re: "+fourth+", confirm: true}")
		h.after(time.Hour)
		h.is(fourth, mess.Completed)
	})
}

func TestActorsThatMayStop(t *testing.T) {
	inHouse(t, func(h *house) {
		for _, c := range []struct {
			who  exchange.Actor
			stop mess.Stop
			want mess.ErrorCode
		}{
			{exchange.Actor{ID: "guest", Roles: exchange.Observer}, mess.Stop{}, mess.Forbidden},
			{claude, mess.Stop{Executors: mess.Refs{"nobody"}}, mess.MissingReference},
		} {
			if _, err := h.x.Stop(h.t.Context(), c.who, c.stop); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.who.ID, err, c.want)
			}
		}
		synctest.Wait()
		if h.gate.Stopped() != "" {
			t.Errorf("stopped for %q", h.gate.Stopped())
		}
	})
}
