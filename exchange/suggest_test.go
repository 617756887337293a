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

// claimed is a thread that the kitchen has claimed and both could do.
func (h *house) claimed() string {
	h.t.Helper()
	h.registers(kitchen, "x")
	h.registers(garage, "x")
	ref := h.says(agent, "request: {intent: look, requires: [x]}").Ref
	h.says(kitchen, replaceRef("status: {re: {ref}, code: claimed}", ref))
	return ref
}

// A request that its requester has accepted to pass on goes to that executor, and the one
// that has suggested it may not begin any more.
func TestAcceptedDelegationMovesThread(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.claimed()
		theirs, others := h.listens(garage, "now"), h.listens(kitchen, "now")
		said := h.says(kitchen, replaceRef("suggestion: {id: sug, re: [{ref}], type: delegate, proposed: {executor: garage-pi}, reason: it is nearer}", ref))
		h.is(ref, mess.Claimed)
		theirs.heard()
		h.refuses(other, replaceRef("reply: {re: {ref}, accept: true}", ref), mess.NotFound)
		h.says(agent, "reply: {re: "+said.Ref+", accept: true}")
		h.is(ref, mess.Pending)
		if got := theirs.heard(); !slices.Contains(got, "offer "+ref+" request") {
			t.Errorf("it was offered: %v", got)
		}
		if got := others.heard(); !slices.Contains(got, "message "+ref+" status:pending") {
			t.Errorf("the one that had it was told: %v", got)
		}
		h.refuses(kitchen, replaceRef("status: {re: {ref}, code: in_progress, epoch: 1}", ref), mess.StaleToken)
		h.refuses(agent, "reply: {re: "+said.Ref+", accept: true}", mess.IllegalTransition)
		h.says(garage, replaceRef("status: {re: {ref}, code: claimed}", ref))
		h.says(garage, replaceRef("status: {re: {ref}, code: in_progress}", ref))
	})
}

// A reply may name a suggestion by its sender's id for it.
func TestReplyNamesSuggestionByID(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.claimed()
		h.says(kitchen, replaceRef("suggestion: {id: 'sug:wait', re: [{ref}], type: defer, proposed: 1h}", ref))
		h.says(kitchen, replaceRef("suggestion: {id: 'sug:pass', re: [{ref}], type: delegate, proposed: garage-pi}", ref))
		h.refuses(other, "reply: {re: 'sug:pass', accept: true}", mess.NotFound)
		h.refuses(agent, "reply: {re: 'sug:none', accept: true}", mess.NotFound)
		h.says(agent, "reply: {re: 'sug:pass', accept: true}")
		e := h.thread(ref).Envelope
		if e.Status != mess.Pending || e.HandedTo != "garage-pi" || !e.NotBefore.IsZero() {
			t.Errorf("%+v", e)
		}
	})
}

// The requester accepts a suggestion of type defer: the thread gets offers again at the proposed
// time.
func TestAcceptedDeferDelaysOffers(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.claimed()
		h.says(kitchen, replaceRef("suggestion: {re: [{ref}], type: defer, proposed: {not_before: 2h}}", ref))
		h.says(agent, replaceRef("reply: {re: {ref}, accept: true}", ref))
		h.is(ref, mess.Pending)
		h.refuses(kitchen, replaceRef("status: {re: {ref}, code: claimed}", ref), mess.NotYet)
		ear := h.listens(kitchen, "now")
		ear.heard()
		h.after(2*time.Hour + time.Second)
		if got := ear.heard(); !slices.Contains(got, "offer "+ref+" request") {
			t.Errorf("after that time: %v", got)
		}
		h.says(kitchen, replaceRef("status: {re: {ref}, code: claimed}", ref))
	})
}

// A suggestion that is invalid, rejected, impossible or too late does not change the thread.
func TestUnusableSuggestionChangesNothing(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.claimed()
		say := func(text string) string { return replaceRef(text, ref) }
		for _, kind := range []string{"merge", "split"} {
			h.refuses(kitchen, say("suggestion: {re: [{ref}], type: "+kind+", proposed: {combined_intent: both}}"), mess.Invalid, "does not carry out")
		}
		h.refuses(kitchen, say("suggestion: {re: [{ref}], type: delegate, proposed: 3}"), mess.Invalid, "executor")
		h.refuses(kitchen, say("suggestion: {re: [{ref}], type: defer, proposed: tomorrow}"), mess.Invalid, "not_before")
		h.refuses(agent, say("reply: {re: {ref}, accept: true}"), mess.IllegalTransition, "no such suggestion")
		h.refuses(agent, say("reply: {re: {ref}, accept: false}"), mess.IllegalTransition, "no such suggestion is open")
		one := h.says(kitchen, say("suggestion: {re: [{ref}], type: delegate, proposed: nobody}")).Ref
		h.says(kitchen, say("suggestion: {re: [{ref}], type: defer, proposed: 1h}"))
		h.refuses(agent, say("reply: {re: {ref}, accept: true}"), mess.Conflict, "more than one")
		h.refuses(agent, "reply: {re: "+one+", accept: true}", mess.NotYet, "nobody")
		h.says(agent, "reply: {re: "+one+", accept: false}")
		h.is(ref, mess.Claimed)
		h.says(kitchen, say("status: {re: {ref}, code: in_progress}"))
		h.refuses(agent, say("reply: {re: {ref}, accept: true}"), mess.IllegalTransition, "begun")
		h.is(ref, mess.InProgress)
		h.says(kitchen, say("suggestion: {re: [{ref}], type: alternative, proposed: look closer}"))
		h.says(kitchen, say("status: {re: {ref}, code: completed}"))
		h.refuses(agent, say("reply: {re: {ref}, accept: true}"), mess.IllegalTransition)
	})
}

// A requester may report superseded for its thread before the start. After the start, the exchange
// asks the executor to cancel first.
func TestRequesterSupersedesBeforeStart(t *testing.T) {
	inHouse(t, func(h *house) {
		text := "status: {re: {ref}, code: superseded, superseded_by: other, reason: replace}"
		for _, steps := range [][]string{nil, {"claimed"}} {
			h.registers(kitchen, "x")
			ref := h.says(agent, "request: {intent: look, requires: [x]}").Ref
			for _, code := range steps {
				h.says(kitchen, replaceRef("status: {re: {ref}, code: "+code+"}", ref))
			}
			h.refuses(garage, replaceRef("status: {re: {ref}, code: superseded, superseded_by: x}", ref), mess.NotFound)
			h.says(agent, replaceRef(text, ref))
			h.is(ref, mess.Superseded)
			h.says(agent, replaceRef(text, ref))
			if len(steps) > 0 {
				h.refuses(kitchen, replaceRef("status: {re: {ref}, code: in_progress}", ref), mess.IllegalTransition)
			}
		}
		ref := h.claimed()
		h.says(kitchen, replaceRef("status: {re: {ref}, code: in_progress}", ref))
		h.refuses(garage, replaceRef(text, ref), mess.NotFound)
		ear := h.listens(kitchen, "now")
		h.says(agent, replaceRef(text, ref))
		h.is(ref, mess.InProgress)
		if got := ear.heard(); !slices.Contains(got, "message "+ref+" cancel") {
			t.Errorf("its executor was told: %v", got)
		}
		h.says(kitchen, replaceRef("status: {re: {ref}, code: cancelled}", ref))
		h.is(ref, mess.Cancelled)
		r := h.refuses(agent, replaceRef(text, ref), mess.IllegalTransition)
		if slices.Contains(r.Allowed, mess.Superseded) {
			t.Errorf("legal: %v", r.Allowed)
		}
	})
}

// An executor may describe a capability in its registration. A description in the catalog takes
// precedence.
func TestRegisteredCapabilityHasDescription(t *testing.T) {
	cfg := exchange.DefaultConfig()
	cfg.Catalogue = []exchange.Definition{{ID: "take-photo", Description: "Take a photo", Tags: []string{"visual"}}}
	inHouseOver(t, memory.New(), cfg, func(h *house) {
		h.registers(kitchen, "water-plants: {description: Water the plants, tags: [garden, physical]}, take-photo: {description: mine, tags: [odd]}")
		h.registers(garage, "water-plants")
		if got := h.x.Capabilities([]string{"garden"}); len(got) != 1 || got[0].ID != "water-plants" || got[0].Description != "Water the plants" {
			t.Errorf("%+v", got)
		}
		if got := h.x.Capabilities([]string{"visual"}); len(got) != 1 || got[0].Description != "Take a photo" {
			t.Errorf("%+v", got)
		}
		if got := h.x.Capabilities([]string{"odd"}); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		h.refuses(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [{x: {description: "+strings.Repeat("x", 1025)+"}}]}}", mess.Invalid, "description")
	})
}
