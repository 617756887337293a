package exchange_test

import (
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// A request that names another in its context reaches an executor with what that asks for;
// a name of no request is refused.
func TestMentions(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		ear := h.listens(kitchen, "")
		first := h.says(agent, "request: {id: dinner, intent: vacuum the kitchen}").Ref
		again := h.says(agent, "request: {id: more, intent: the same again, context: [{ref: dinner}, Making stir fry]}").Ref
		for _, name := range []string{"context: [{ref: nothing}]", "context: [{ref: 2020-01-01-001}]", "ref: nothing"} {
			h.refuses(agent, "request: {id: mine, intent: look, "+name+"}", mess.Missing, "ref: there is no request")
		}
		h.refuses(agent, "request: {id: mine, intent: look, context: [{ref: mine}]}", mess.Invalid, "itself")
		h.refuses(other, "request: {intent: look, context: [{ref: "+first+"}]}", mess.Missing, "ref: there is no request") // it may not see it
		entry := h.thread(again).Request().Context[0]
		if ref, _ := entry.Extra.Get("thread"); entry.Value != "dinner" || ref != first {
			t.Errorf("the thread has %+v, want the ref %s", entry, first)
		}
		if intent, _ := entry.Extra.Get("intent"); intent != "vacuum the kitchen" {
			t.Errorf("the thread has %+v, want what was asked for", entry)
		}
		if len(ear.heard()) < 2 {
			t.Errorf("the executor has heard %d messages", len(ear.heard()))
		}

		// In one message the order does not matter.
		both := []byte("MESS: [{request: {id: b, intent: look there, context: [{ref: a}]}}, {request: {id: a, intent: look at the fridge}}]")
		m, err := mess.Parse(both)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.x.Post(t.Context(), exchange.Inbound{Actor: agent, Channel: "test", Message: m}); err != nil {
			t.Error(err)
		}

		// The same message again is the same request, also where "last" is another now.
		one := "request: {id: l, intent: look, context: [{ref: last}]}"
		ref := h.says(agent, one).Ref
		if twice := h.says(agent, one).Ref; twice != ref {
			t.Errorf("the same message again is %s, want %s", twice, ref)
		}
		h.refuses(agent, "request: {id: l, intent: look, context: [{ref: dinner}]}", mess.Conflict)
	})
}

// An executor may claim by its requester's id what was offered to it (MESS 1.0 section 4.4),
// as long as only one waiting request that it may take is called so.
func TestClaimByClientID(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		first := h.says(agent, "request: {id: get-onions, intent: buy onions}").Ref
		h.says(kitchen, "status: {re: get-onions, code: claimed}")
		h.is(first, mess.Claimed)
		h.says(agent, "request: {id: dice, intent: dice onions}")
		h.says(other, "request: {id: dice, intent: dice garlic}")
		h.refuses(kitchen, "status: {re: dice, code: claimed}", mess.Unknown)
		h.says(agent, "request: {id: print, intent: print clips, requires: [3d-print]}")
		h.refuses(kitchen, "status: {re: print, code: claimed}", mess.Unknown)
	})
}
