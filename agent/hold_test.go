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

// orders returns a message that bypasses the exchange, as from an operator at the broker.
func orders(t *testing.T, text string) mess.Message {
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
	inHouse(t, func(h *house) {
		h.lamp.set(func(l *lamp) { l.takes = 10 * time.Second })
		acting := h.says(claude, "request: {intent: turn on the porch light}")
		h.after(time.Second)
		hold, err := h.x.Drain(t.Context(), claude, mess.DrainOrder{Reason: "the floor is wet"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		e := h.standing()
		if e.Held == nil || e.Held.Reason != "the floor is wet, by claude-agent" || len(e.Held.Orders) != 1 || e.Held.Orders[0] != hold.ID {
			t.Fatalf("it says %+v", e.Held)
		}
		waits := h.says(person, "request: {intent: \"what's in the fridge?\"}")
		h.after(time.Minute)
		h.is(acting, mess.Completed)
		h.is(waits, mess.Pending)

		h.stopAgent()
		h.startAgent()
		h.after(time.Minute)
		h.is(waits, mess.Pending)
		if e := h.standing(); e.Held == nil || e.Held.Reason == "" {
			t.Errorf("the next process says %+v", e.Held)
		}

		if _, err := h.x.Resume(t.Context(), claude, mess.DrainOrder{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		h.is(waits, mess.Completed)
		if e := h.standing(); e.Held == nil || e.Held.Reason != "" || e.Drain != nil || e.Resume != nil {
			t.Errorf("after the end it says %+v, the exchange %+v %+v", e.Held, e.Drain, e.Resume)
		}
	})
}

// A drained executor processes the answer to an open question, because it has claimed the
// thread.
func TestDrainedExecutorContinuesClaims(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.says(claude, "request: {intent: vacuum both}")
		h.is(ref, mess.NeedsConfirmation)
		if _, err := h.x.Drain(t.Context(), person, mess.DrainOrder{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if e := h.standing(); e.Held == nil || e.Held.Reason != "no reason given, by teague" {
			t.Errorf("it says %+v", e.Held)
		}
		h.says(person, "reply: {re: "+ref+", confirm: true}")
		h.after(time.Hour)
		h.is(ref, mess.Completed)
	})
}

// An order that bypasses the exchange applies, and the exchange learns of it; a duplicate
// changes nothing.
func TestDrainOrderPastExchangeApplies(t *testing.T) {
	inHouse(t, func(h *house) {
		h.line.deliver(orders(t, "{id: one, from: anna, MESS: [{config: {hold: {id: one}}}]}"))
		synctest.Wait()
		if e := h.standing(); e.Held == nil || e.Held.Reason != "no reason given, by anna" || e.Drain == nil || e.Drain.By != "anna" {
			t.Fatalf("it says %+v", e.Held)
		}
		ref := h.says(claude, "request: {intent: turn on the porch light}")
		h.after(time.Minute)
		h.is(ref, mess.Pending)
		h.line.deliver(orders(t, "{from: anna, MESS: [{config: {resume: true}}]}"))
		h.line.deliver(orders(t, "{id: one, from: anna, MESS: [{config: {hold: {id: one}}}]}"))
		synctest.Wait()
		h.is(ref, mess.Completed)
	})
}

// Offers from before a drain wait, and the executor does not take one that was withdrawn in the
// meantime.
func TestOffersWaitDuringDrain(t *testing.T) {
	inHouse(t, func(h *house) {
		h.line.deliver(orders(t, "config: {hold: true}"))
		offer := func(ref string) mess.Message {
			return orders(t, fmt.Sprintf("{from: claude-agent, re: %s, MESS: [{request: {intent: turn on the porch light}}]}", ref))
		}
		gone := h.says(claude, "request: {intent: turn on the porch light}")
		stays := h.says(claude, "request: {intent: turn on the porch light}")
		h.line.deliver(offer(gone))
		h.line.deliver(offer(stays))
		h.after(time.Second)
		h.is(gone, mess.Pending)
		h.says(claude, "cancel: {re: "+gone+"}")
		h.line.deliver(orders(t, "{re: "+gone+", MESS: [{status: {code: cancelled}}]}"))
		h.line.deliver(orders(t, "config: {resume: true}"))
		synctest.Wait()
		h.is(stays, mess.Completed)
		h.is(gone, mess.Cancelled)
		if did := h.lamp.did(); strings.Count(did, "on") != 1 {
			t.Errorf("the lamp did %s", did)
		}
	})
}

// A stop overrides a drain: waiting work ends. Either the exchange ends it (decision 14) or the
// executor declines it, whichever is first.
func TestStopOverridesDrain(t *testing.T) {
	inHouse(t, func(h *house) {
		h.line.deliver(orders(t, "config: {hold: true}"))
		ref := h.says(claude, "request: {intent: turn on the porch light}")
		h.line.deliver(orders(t, "{from: claude-agent, re: "+ref+", MESS: [{request: {intent: turn on the porch light}}]}"))
		h.after(time.Second)
		h.is(ref, mess.Pending)
		h.stops(claude)
		s, _ := h.last(ref)
		if s.Code != mess.Failed && s.Code != mess.Declined || !strings.Contains(s.Reason.Detail, "the cat") || s.Reason.Effect == mess.EffectUnknown {
			t.Errorf("%s: %+v", s.Code, s.Reason)
		}
		if did := h.lamp.did(); strings.Contains(did, "on") {
			t.Errorf("the lamp did %s", did)
		}
	})
}

// A drain that begins while the executor interprets a request prevents the claim.
func TestDrainPreventsClaim(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.asked = sync.OnceFunc(func() { h.line.deliver(orders(h.t, "config: {hold: true}")) })
	}, func(h *house) {
		ref := h.says(claude, "request: {intent: turn on the porch light}")
		h.after(time.Minute)
		h.is(ref, mess.Pending)
		h.line.deliver(orders(t, "config: {resume: true}"))
		synctest.Wait()
		h.is(ref, mess.Completed)
	})
}
