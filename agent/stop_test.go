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

// postStop posts a stop and lets it take effect.
func (h *harness) postStop(actor exchange.Actor) mess.Stop {
	h.t.Helper()
	s, err := h.x.Stop(h.t.Context(), actor, mess.Stop{Reason: "the cat"})
	if err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	return s
}

// executorInfo returns the executor's state at the exchange.
func (h *harness) executorInfo() exchange.ExecutorInfo {
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
	withHarness(t, func(h *harness) {
		h.lamp.set(func(l *lamp) { l.takes, l.blind = 10*time.Second, true })
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(3 * time.Second)
		h.postStop(requester)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectUnknown {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// A stop at the exchange reaches the executor at once: it stops running acts and reports the
// truth, waiting confirmations end, and it declines new requests.
func TestStopFromExchange(t *testing.T) {
	withHarness(t, func(h *harness) {
		acting := h.startCleaning()
		h.advance(3 * time.Second)
		asking := h.send(requester, "request: {intent: vacuum the kitchen}")
		h.wantStatus(asking, mess.NeedsInput)
		before := time.Now()
		h.postStop(requester)
		if time.Since(before) != 0 {
			t.Errorf("the stop took %v, want no time", time.Since(before))
		}
		if s := h.wantStatus(acting, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "the cat, by claude-agent") {
			t.Errorf("reason of the started task is %+v", s.Reason)
		}
		if s := h.wantStatus(asking, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectNone {
			t.Errorf("reason of the task with a question is %+v", s.Reason)
		}
		for _, intent := range []string{"turn on the porch light", "what's in the fridge?"} {
			if s := h.wantStatus(h.send(person, "request: {intent: \""+intent+"\"}"), mess.Declined); !strings.Contains(s.Reason.Detail, "the cat") {
				t.Errorf("%s: %+v", intent, s.Reason)
			}
		}
		e := h.executorInfo()
		if e.Stopped == nil || !strings.Contains(e.Stopped.Reason, "the cat") || len(e.UnconfirmedStops) != 0 {
			t.Fatalf("stop state at the exchange is %+v, unconfirmed %v", e.Stopped, e.UnconfirmedStops)
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

		h.policy.ResetStop()
		synctest.Wait()
		if h.wantStatus(acting, mess.Failed); h.lamp.acts() != "" {
			t.Errorf("a clear begins nothing; the lamp did %s", h.lamp.acts())
		}
		if e := h.executorInfo(); e.Stopped == nil || e.Stopped.Reason != "" {
			t.Errorf("after the clear the stop state at the exchange is %+v, want no reason", e.Stopped)
		}
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

// A stop during a lost connection reaches the executor after its return, once.
func TestStopDuringLostConnection(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.setCut(true)
		h.advance(time.Minute)
		s := h.postStop(person)
		if h.policy.Stopped() != "" || len(h.executorInfo().UnconfirmedStops) != 1 {
			t.Errorf("stopped for %q, unconfirmed %v", h.policy.Stopped(), h.executorInfo().UnconfirmedStops)
		}
		h.connection.setCut(false)
		h.advance(2 * time.Minute)
		if e := h.executorInfo(); !strings.Contains(h.policy.Stopped(), "the cat, by teague") || len(e.UnconfirmedStops) != 0 || e.Stopped.Orders[0] != s.ID {
			t.Errorf("stopped for %q, unconfirmed %v", h.policy.Stopped(), e.UnconfirmedStops)
		}
	})
}

// The same holds if the executor was not running.
func TestStopDuringDowntime(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.stopAgent()
		h.postStop(person)
		h.startAgent()
		if !strings.Contains(h.policy.Stopped(), "the cat") || len(h.executorInfo().UnconfirmedStops) != 0 {
			t.Errorf("stopped for %q, unconfirmed %v", h.policy.Stopped(), h.executorInfo().UnconfirmedStops)
		}
	})
}

// A task in the queue of a device does not begin after the reset of a stop.
func TestStopEndsQueuedTask(t *testing.T) {
	withHarness(t, func(h *harness) {
		first := h.startCleaning()
		second := h.send(requester, "request: {intent: vacuum both}")
		h.send(person, "reply: {re: "+second+", confirm: true}")
		h.advance(time.Second)
		h.postStop(person)
		h.policy.ResetStop()
		h.advance(time.Hour)
		h.wantStatus(first, mess.Failed)
		if s := h.wantStatus(second, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectNone {
			t.Errorf("%+v", s.Reason)
		}
		if did := h.vacuum.acts(); strings.Count(did, "clean") > 1 {
			t.Errorf("the vacuum did: %s", did)
		}
	})
}

// A task behind a cancelled one does not begin, because the requester of the cancel sees the
// device at rest and does not know of the task. A later request begins.
func TestNoTaskBeginsBehindCancel(t *testing.T) {
	withHarness(t, func(h *harness) {
		first := h.startCleaning()
		second, third := h.send(requester, "request: {intent: vacuum both}"), h.send(requester, "request: {intent: vacuum both}")
		h.send(person, "reply: {re: "+second+", confirm: true}")
		h.send(person, "reply: {re: "+third+", confirm: true}")
		h.advance(time.Second)
		h.send(requester, "cancel: {re: "+third+"}") // ends only itself
		h.advance(time.Second)
		h.wantStatus(third, mess.Cancelled)
		h.wantStatus(first, mess.InProgress)
		h.send(person, "cancel: {re: "+first+"}")
		h.advance(time.Minute)
		h.wantStatus(first, mess.Cancelled)
		if s := h.wantStatus(second, mess.Failed); s.Reason.Type != "ended" || s.Reason.Effect != mess.EffectNone || !strings.Contains(s.Reason.Detail, "cancelled") {
			t.Errorf("%+v", s.Reason)
		}
		if did := h.vacuum.acts(); strings.Count(did, "clean") > 1 {
			t.Errorf("the vacuum did: %s", did)
		}
		fourth := h.send(requester, "request: {intent: vacuum both}")
		h.send(person, "reply: {re: "+fourth+", confirm: true}")
		h.advance(time.Hour)
		h.wantStatus(fourth, mess.Completed)
	})
}

func TestActorsThatMayStop(t *testing.T) {
	withHarness(t, func(h *harness) {
		for _, c := range []struct {
			who  exchange.Actor
			stop mess.Stop
			want mess.ErrorCode
		}{
			{exchange.Actor{ID: "guest", Roles: exchange.Observer}, mess.Stop{}, mess.Forbidden},
			{requester, mess.Stop{Executors: mess.Refs{"nobody"}}, mess.MissingReference},
		} {
			if _, err := h.x.Stop(h.t.Context(), c.who, c.stop); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.who.ID, err, c.want)
			}
		}
		synctest.Wait()
		if h.policy.Stopped() != "" {
			t.Errorf("stopped for %q", h.policy.Stopped())
		}
	})
}
