package exchange_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// fields has the mandatory fields of a status, by code.
var fields = map[mess.Code]string{
	mess.NeedsInput:        ", questions: [{field: area, question: which}]",
	mess.NeedsConfirmation: ", action: open the valve",
	mess.Waiting:           ", waiting_for: {type: resource}",
	mess.Failed:            ", reason: {type: jam, detail: stuck}, recoverable: false",
	mess.Delegated:         ", reason: {type: busy, detail: no time, effect: none}",
	mess.Superseded:        ", superseded_by: other",
	mess.Partial:           ", completed: [one], remaining: [two]",
	mess.Retrying:          ", attempt: 1, max_attempts: 3, reason: {type: jam, detail: stuck}",
	mess.Held:              ", reason: {type: busy, detail: later}",
	mess.Declined:          ", reason: {type: busy, detail: no time}",
}

// The exchange accepts each code that an error lists as allowed. The test covers each status,
// before and after the start, for the executor and for the requester.
func TestAllowedCodesAreAccepted(t *testing.T) {
	for _, way := range [][]mess.Code{
		{},
		{mess.Claimed},
		{mess.InProgress},
		{mess.Waiting},
		{mess.Held},
		{mess.Retrying},
		{mess.NeedsInput},
		{mess.NeedsConfirmation},
		{mess.InProgress, mess.Waiting},
		{mess.InProgress, mess.Held},
		{mess.InProgress, mess.Retrying},
		{mess.InProgress, mess.NeedsInput},
		{mess.InProgress, mess.NeedsConfirmation},
	} {
		withHarness(t, func(h *harness) {
			h.register(kitchen, "x")
			post := func(actor exchange.Actor, ref string, code mess.Code) error {
				_, err := h.post(actor, replaceRef("status: {re: {ref}, code: "+string(code)+fields[code]+"}", ref))
				return err
			}
			there := func() string {
				ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
				for _, code := range append([]mess.Code{mess.Claimed}, way...) {
					if len(way) == 0 {
						break
					}
					if err := post(kitchen, ref, code); err != nil {
						t.Fatalf("%v: %s: %v", way, code, err)
					}
				}
				return ref
			}
			for _, actor := range []exchange.Actor{kitchen, agent} {
				legal := map[mess.Code]bool{}
				for _, code := range []mess.Code{mess.Pending, mess.Expired, mess.Cancelled, mess.Completed, mess.Claimed} {
					if r, ok := errors.AsType[*mess.Error](post(actor, there(), code)); ok {
						for _, c := range r.Allowed {
							legal[c] = true
						}
						if slices.Contains(r.Allowed, code) {
							t.Errorf("%v: post by %s of %s: rejected, but listed as allowed: %v", way, actor.ID, code, r)
						}
					}
				}
				for code := range legal {
					ref := there()
					err := post(actor, ref, code)
					if code == mess.Cancelled && actor.ID == agent.ID {
						_, err = h.post(agent, replaceRef("cancel: {re: {ref}}", ref))
					}
					if err != nil {
						t.Errorf("%v: %s is legal for %s, and refused: %v", way, code, actor.ID, err)
					}
				}
			}
		})
	}
}
