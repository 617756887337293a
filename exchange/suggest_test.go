package exchange_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// claimedThread is a thread that the kitchen has claimed and both could do.
func (h *harness) claimedThread() string {
	h.t.Helper()
	h.register(kitchen, "x")
	h.register(garage, "x")
	ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
	h.send(kitchen, replaceRef("status: {re: {ref}, code: claimed}", ref))
	return ref
}

// A request that its requester has accepted to pass on goes to that executor, and the one
// that has suggested it may not begin any more.
func TestAcceptedDelegationMovesThread(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.claimedThread()
		theirs, others := h.subscribe(garage, "now"), h.subscribe(kitchen, "now")
		suggestion := h.send(kitchen, replaceRef("suggestion: {id: sug, re: [{ref}], type: delegate, proposed: {executor: garage-pi}, reason: it is nearer}", ref))
		h.wantStatus(ref, mess.Claimed)
		theirs.events()
		h.wantError(other, replaceRef("reply: {re: {ref}, accept: true}", ref), mess.NotFound)
		h.send(agent, "reply: {re: "+suggestion.Ref+", accept: true}")
		h.wantStatus(ref, mess.Pending)
		if got := theirs.events(); !slices.Contains(got, "offer "+ref+" request") {
			t.Errorf("events are %v, want the offer", got)
		}
		if got := others.events(); !slices.Contains(got, "message "+ref+" status:pending") {
			t.Errorf("events of the previous executor are %v, want pending", got)
		}
		h.wantError(kitchen, replaceRef("status: {re: {ref}, code: in_progress, epoch: 1}", ref), mess.StaleToken)
		h.wantError(agent, "reply: {re: "+suggestion.Ref+", accept: true}", mess.IllegalTransition)
		h.send(garage, replaceRef("status: {re: {ref}, code: claimed}", ref))
		h.send(garage, replaceRef("status: {re: {ref}, code: in_progress}", ref))
	})
}

// A reply may name a suggestion by its sender's id for it.
func TestReplyNamesSuggestionByID(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.claimedThread()
		h.send(kitchen, replaceRef("suggestion: {id: 'sug:wait', re: [{ref}], type: defer, proposed: 1h}", ref))
		h.send(kitchen, replaceRef("suggestion: {id: 'sug:pass', re: [{ref}], type: delegate, proposed: garage-pi}", ref))
		h.wantError(other, "reply: {re: 'sug:pass', accept: true}", mess.NotFound)
		h.wantError(agent, "reply: {re: 'sug:none', accept: true}", mess.NotFound)
		h.send(agent, "reply: {re: 'sug:pass', accept: true}")
		e := h.thread(ref).Envelope
		if e.Status != mess.Pending || e.DelegatedTo != "garage-pi" || !e.NotBefore.IsZero() {
			t.Errorf("%+v", e)
		}
	})
}

// The requester accepts a suggestion of type defer: the thread gets offers again at the proposed
// time.
func TestAcceptedDeferDelaysOffers(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.claimedThread()
		h.send(kitchen, replaceRef("suggestion: {re: [{ref}], type: defer, proposed: {not_before: 2h}}", ref))
		h.send(agent, replaceRef("reply: {re: {ref}, accept: true}", ref))
		h.wantStatus(ref, mess.Pending)
		h.wantError(kitchen, replaceRef("status: {re: {ref}, code: claimed}", ref), mess.NotYet)
		sub := h.subscribe(kitchen, "now")
		sub.events()
		h.advance(2*time.Hour + time.Second)
		if got := sub.events(); !slices.Contains(got, "offer "+ref+" request") {
			t.Errorf("after that time: %v", got)
		}
		h.send(kitchen, replaceRef("status: {re: {ref}, code: claimed}", ref))
	})
}

// A suggestion that is invalid, rejected, impossible or too late does not change the thread.
func TestUnusableSuggestionChangesNothing(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.claimedThread()
		fill := func(text string) string { return replaceRef(text, ref) }
		for _, kind := range []string{"merge", "split"} {
			h.wantError(kitchen, fill("suggestion: {re: [{ref}], type: "+kind+", proposed: {combined_intent: both}}"), mess.Invalid, "does not execute")
		}
		h.wantError(kitchen, fill("suggestion: {re: [{ref}], type: delegate, proposed: 3}"), mess.Invalid, "executor")
		h.wantError(kitchen, fill("suggestion: {re: [{ref}], type: defer, proposed: tomorrow}"), mess.Invalid, "not_before")
		h.wantError(agent, fill("reply: {re: {ref}, accept: true}"), mess.IllegalTransition, "no such suggestion")
		h.wantError(agent, fill("reply: {re: {ref}, accept: false}"), mess.IllegalTransition, "no such suggestion is open")
		one := h.send(kitchen, fill("suggestion: {re: [{ref}], type: delegate, proposed: nobody}")).Ref
		h.send(kitchen, fill("suggestion: {re: [{ref}], type: defer, proposed: 1h}"))
		h.wantError(agent, fill("reply: {re: {ref}, accept: true}"), mess.Conflict, "more than one")
		h.wantError(agent, "reply: {re: "+one+", accept: true}", mess.NotYet, "nobody")
		h.send(agent, "reply: {re: "+one+", accept: false}")
		h.wantStatus(ref, mess.Claimed)
		h.send(kitchen, fill("status: {re: {ref}, code: in_progress}"))
		h.wantError(agent, fill("reply: {re: {ref}, accept: true}"), mess.IllegalTransition, "begun")
		h.wantStatus(ref, mess.InProgress)
		h.send(kitchen, fill("suggestion: {re: [{ref}], type: alternative, proposed: look closer}"))
		h.send(kitchen, fill("status: {re: {ref}, code: completed}"))
		h.wantError(agent, fill("reply: {re: {ref}, accept: true}"), mess.IllegalTransition)
	})
}

// A requester may report superseded for its thread before the start. After the start, the exchange
// asks the executor to cancel first.
func TestRequesterSupersedesBeforeStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		text := "status: {re: {ref}, code: superseded, superseded_by: other, reason: replace}"
		for _, steps := range [][]string{nil, {"claimed"}} {
			h.register(kitchen, "x")
			ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
			for _, code := range steps {
				h.send(kitchen, replaceRef("status: {re: {ref}, code: "+code+"}", ref))
			}
			h.wantError(garage, replaceRef("status: {re: {ref}, code: superseded, superseded_by: x}", ref), mess.NotFound)
			h.send(agent, replaceRef(text, ref))
			h.wantStatus(ref, mess.Superseded)
			h.send(agent, replaceRef(text, ref))
			if len(steps) > 0 {
				h.wantError(kitchen, replaceRef("status: {re: {ref}, code: in_progress}", ref), mess.IllegalTransition)
			}
		}
		ref := h.claimedThread()
		h.send(kitchen, replaceRef("status: {re: {ref}, code: in_progress}", ref))
		h.wantError(garage, replaceRef(text, ref), mess.NotFound)
		sub := h.subscribe(kitchen, "now")
		h.send(agent, replaceRef(text, ref))
		h.wantStatus(ref, mess.InProgress)
		if got := sub.events(); !slices.Contains(got, "message "+ref+" cancel") {
			t.Errorf("events of its executor are %v, want the cancel", got)
		}
		h.send(kitchen, replaceRef("status: {re: {ref}, code: cancelled}", ref))
		h.wantStatus(ref, mess.Cancelled)
		r := h.wantError(agent, replaceRef(text, ref), mess.IllegalTransition)
		if slices.Contains(r.Allowed, mess.Superseded) {
			t.Errorf("legal: %v", r.Allowed)
		}
	})
}

// An executor may describe a capability in its registration. A description in the catalog takes
// precedence.
func TestRegisteredCapabilityHasDescription(t *testing.T) {
	cfg := exchange.DefaultConfig()
	cfg.Catalog = []exchange.Definition{{ID: "take-photo", Description: "Take a photo", Tags: []string{"visual"}}}
	withHarnessOver(t, memory.New(), cfg, func(h *harness) {
		h.register(kitchen, "water-plants: {description: Water the plants, tags: [garden, physical]}, take-photo: {description: mine, tags: [odd]}")
		h.register(garage, "water-plants")
		if got := h.x.Capabilities([]string{"garden"}); len(got) != 1 || got[0].ID != "water-plants" || got[0].Description != "Water the plants" {
			t.Errorf("%+v", got)
		}
		if got := h.x.Capabilities([]string{"visual"}); len(got) != 1 || got[0].Description != "Take a photo" {
			t.Errorf("%+v", got)
		}
		if got := h.x.Capabilities([]string{"odd"}); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		h.wantError(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [{x: {description: "+strings.Repeat("x", 1025)+"}}]}}", mess.Invalid, "description")
	})
}
