package agent_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/mess"
)

// brokerOrder returns a message that bypasses the exchange, as from an operator at the broker.
func brokerOrder(t *testing.T, text string) mess.Message {
	t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// During a drain, running work ends normally and new work waits; after it the executor takes
// the waiting work.
func TestDrainedExecutorTakesNoNewWork(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.lamp.set(func(l *lamp) { l.takes = 10 * time.Second })
		acting := h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(time.Second)
		hold, err := h.x.Drain(t.Context(), requester, mess.DrainOrder{Reason: "the floor is wet"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		e := h.executorInfo()
		if e.Drained == nil || e.Drained.Reason != "the floor is wet, by claude-agent" || len(e.Drained.Orders) != 1 || e.Drained.Orders[0] != hold.ID {
			t.Fatalf("drain state is %+v, want the reason and the actor of the drain", e.Drained)
		}
		waits := h.send(person, "request: {intent: \"what's in the fridge?\"}")
		h.advance(time.Minute)
		h.wantStatus(acting, mess.Completed)
		h.wantStatus(waits, mess.Pending)

		h.stopAgent()
		h.startAgent()
		h.advance(time.Minute)
		h.wantStatus(waits, mess.Pending)
		if e := h.executorInfo(); e.Drained == nil || e.Drained.Reason == "" {
			t.Errorf("drain state of the next process: %+v, want the same drain", e.Drained)
		}

		if _, err := h.x.Resume(t.Context(), requester, mess.DrainOrder{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		h.wantStatus(waits, mess.Completed)
		if e := h.executorInfo(); e.Drained == nil || e.Drained.Reason != "" || e.Drain != nil || e.Resume != nil {
			t.Errorf("after the end: drain state %+v, orders of the exchange %+v %+v, want none", e.Drained, e.Drain, e.Resume)
		}
	})
}

// A drained executor processes the answer to an open question, because it has claimed the
// thread.
func TestDrainedExecutorContinuesClaims(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.wantStatus(ref, mess.NeedsConfirmation)
		if _, err := h.x.Drain(t.Context(), person, mess.DrainOrder{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if e := h.executorInfo(); e.Drained == nil || e.Drained.Reason != "no reason given, by teague" {
			t.Errorf("drain state is %+v, want the reason and the actor of the drain", e.Drained)
		}
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		h.advance(time.Hour)
		h.wantStatus(ref, mess.Completed)
	})
}

// An order that bypasses the exchange applies, and the exchange learns of it; a duplicate
// changes nothing.
func TestDrainOrderPastExchangeApplies(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.deliver(brokerOrder(t, "{id: one, from: anna, MESS: [{config: {hold: {id: one}}}]}"))
		synctest.Wait()
		if e := h.executorInfo(); e.Drained == nil || e.Drained.Reason != "no reason given, by anna" || e.Drain == nil || e.Drain.By != "anna" {
			t.Fatalf("drain state is %+v, want the reason and the actor of the drain", e.Drained)
		}
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Pending)
		h.connection.deliver(brokerOrder(t, "{from: anna, MESS: [{config: {resume: true}}]}"))
		h.connection.deliver(brokerOrder(t, "{id: one, from: anna, MESS: [{config: {hold: {id: one}}}]}"))
		synctest.Wait()
		h.wantStatus(ref, mess.Completed)
	})
}

// Offers from before a drain wait, and the executor does not take one that was withdrawn in the
// meantime.
func TestOffersWaitDuringDrain(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.deliver(brokerOrder(t, "config: {hold: true}"))
		offer := func(ref string) mess.Message {
			return brokerOrder(t, fmt.Sprintf("{from: claude-agent, re: %s, MESS: [{request: {intent: turn on the porch light}}]}", ref))
		}
		gone := h.send(requester, "request: {intent: turn on the porch light}")
		stays := h.send(requester, "request: {intent: turn on the porch light}")
		h.connection.deliver(offer(gone))
		h.connection.deliver(offer(stays))
		h.advance(time.Second)
		h.wantStatus(gone, mess.Pending)
		h.send(requester, "cancel: {re: "+gone+"}")
		h.connection.deliver(brokerOrder(t, "{re: "+gone+", MESS: [{status: {code: cancelled}}]}"))
		h.connection.deliver(brokerOrder(t, "config: {resume: true}"))
		synctest.Wait()
		h.wantStatus(stays, mess.Completed)
		h.wantStatus(gone, mess.Cancelled)
		if did := h.lamp.acts(); strings.Count(did, "on") != 1 {
			t.Errorf("the lamp did %s", did)
		}
	})
}

// A stop overrides a drain: waiting work ends. Either the exchange ends it (decision 14) or the
// executor declines it, whichever is first.
func TestStopOverridesDrain(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.deliver(brokerOrder(t, "config: {hold: true}"))
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.connection.deliver(brokerOrder(t, "{from: claude-agent, re: "+ref+", MESS: [{request: {intent: turn on the porch light}}]}"))
		h.advance(time.Second)
		h.wantStatus(ref, mess.Pending)
		h.postStop(requester)
		s, _ := h.last(ref)
		if s.Code != mess.Failed && s.Code != mess.Declined || !strings.Contains(s.Reason.Detail, "the cat") || s.Reason.Effect == mess.EffectUnknown {
			t.Errorf("%s: %+v", s.Code, s.Reason)
		}
		if did := h.lamp.acts(); strings.Contains(did, "on") {
			t.Errorf("the lamp did %s", did)
		}
	})
}

// A drain that begins while the executor interprets a request prevents the claim.
func TestDrainPreventsClaim(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.asked = sync.OnceFunc(func() { h.connection.deliver(brokerOrder(h.t, "config: {hold: true}")) })
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Pending)
		h.connection.deliver(brokerOrder(t, "config: {resume: true}"))
		synctest.Wait()
		h.wantStatus(ref, mess.Completed)
	})
}
