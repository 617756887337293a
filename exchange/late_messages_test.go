package exchange_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// The exchange loses the executor of a started idempotent task, and offers the thread again. From
// then on the effect of the thread is never "none", but unknown.
func TestEffectOfStartedTaskStaysUnknown(t *testing.T) {
	for _, c := range []struct {
		name, request, effect string
		then                  func(h *harness, ref string)
		code                  mess.Code
		want                  mess.Effect
	}{
		{
			name: "it expires", request: ", needed_by: '{soon}'", effect: "idempotent", code: mess.Expired, want: mess.EffectUnknown,
			then: func(*harness, string) {},
		},
		{
			name: "its requester takes it back", effect: "idempotent", code: mess.Cancelled, want: mess.EffectUnknown,
			then: func(h *harness, ref string) { h.send(agent, "cancel: {re: "+ref+"}") },
		},
		{
			name: "the next one does nothing", effect: "idempotent", code: mess.Failed, want: mess.EffectUnknown,
			then: func(h *harness, ref string) {
				h.send(garage, "status: {re: "+ref+", code: claimed}")
				h.send(garage, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: failed, reason: {type: device, effect: none}}}]")
			},
		},
		{
			name: "the next one does it", effect: "idempotent", code: mess.Completed,
			then: func(h *harness, ref string) {
				h.send(garage, "status: {re: "+ref+", code: claimed}")
				h.send(garage, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress}}]")
				h.send(garage, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: completed}}]")
			},
		},
		{
			name: "it was only reading", effect: "query", code: mess.Cancelled,
			then: func(h *harness, ref string) { h.send(agent, "cancel: {re: "+ref+"}") },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.register(kitchen, "take-photo")
				h.register(garage, "take-photo")
				soon := time.Now().Add(time.Minute).Format(time.RFC3339)
				ref := h.send(agent, "request: {intent: look"+strings.ReplaceAll(c.request, "{soon}", soon)+"}").Ref
				h.send(kitchen, "status: {re: "+ref+", code: claimed}")
				h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, effect: "+c.effect+"}}]")
				h.advance(2 * time.Hour)
				c.then(h, ref)
				h.wantStatus(ref, c.code)
				var got mess.Effect
				if s := h.lastStatus(ref); s.Reason != nil {
					got = s.Reason.Effect
				}
				if got != c.want {
					t.Errorf("effect of the terminal status is %q, want %q", got, c.want)
				}
			})
		})
	}
}

// An executor may ask for the start permission again, because an ack can get lost, but not after
// needed_by. A task that has begun continues.
func TestRepeatedStartAfterNeededByIsRejected(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		soon := time.Now().Add(20 * time.Second).Format(time.RFC3339)
		ref := h.send(agent, "request: {intent: look, needed_by: '"+soon+"'}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed, instance: a}")
		start := "re: " + ref + "\nepoch: 1\nMESS: [{status: {code: in_progress, instance: a}}]"
		h.send(kitchen, start)
		h.send(kitchen, start)
		h.advance(21 * time.Second)
		h.wantError(kitchen, start, mess.NotYet, "do not start")
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, progress_pct: 50}}]")
		h.wantStatus(ref, mess.InProgress)
	})
}

// An executor without an instance reports progress after needed_by: its task has begun.
func TestProgressWithoutInstanceAfterNeededBy(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		soon := time.Now().Add(20 * time.Second).Format(time.RFC3339)
		ref := h.send(agent, "request: {intent: look, needed_by: '"+soon+"'}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "status: {re: "+ref+", code: in_progress}")
		h.advance(21 * time.Second)
		h.send(kitchen, "status: {re: "+ref+", code: in_progress, progress_pct: 50}")
		h.wantStatus(ref, mess.InProgress)
	})
}

// A repeated claim arrives after a question: the question stays open.
func TestRepeatedClaimKeepsQuestion(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		claim := "status: {re: " + ref + ", code: claimed, instance: a}"
		h.send(kitchen, claim)
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_input, questions: [{field: where, question: 'where?'}]}}]")
		if ack := h.send(kitchen, claim); ack.Epoch != 1 {
			t.Errorf("the late claim is acked with epoch %d, want 1", ack.Epoch)
		}
		h.wantStatus(ref, mess.NeedsInput)
		h.send(agent, "reply: {re: "+ref+", answers: {where: here}}")
	})
}

// An executor declines an offer, and the message arrives after its claim. With an instance and no
// epoch, the message is about the offer, and the claim stays. Without an instance, the message
// declines the claim.
func TestLateDeclineOfOffer(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		want    mess.Code
	}{
		"of the offer":         {"code: declined, reason: {detail: not me}, instance: boot-1", mess.Claimed},
		"of the claim":         {"code: declined, reason: {detail: not me}, instance: boot-1, epoch: 1", mess.Declined},
		"of no named executor": {"code: declined, reason: {detail: not me}", mess.Declined},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.register(kitchen, "take-photo")
				ref := h.send(agent, "request: {intent: look}").Ref
				h.send(kitchen, "status: {re: "+ref+", code: claimed, instance: boot-1}")
				h.send(kitchen, "status: {re: "+ref+", "+c.message+"}")
				h.wantStatus(ref, c.want)
			})
		})
	}
}
