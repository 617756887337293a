package exchange_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// appendFromFolder posts a message that another program has appended to the folder of a thread.
func (h *harness) appendFromFolder(ref, from, text string) exchange.Thread {
	h.t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.t.Fatal(err)
	}
	m.From = from
	if err := h.x.PostExternal(h.t.Context(), ref, m); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	return h.thread(ref)
}

// The exchange validates a message in the folder of a thread like a posted one. The folder names
// the thread.
func TestAppendedMessageIsValidated(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x]}}")
		ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
		h.appendFromFolder(ref, "kitchen-pi", "status: {re: last, code: claimed}")
		h.wantStatus(ref, mess.Claimed)
		h.appendFromFolder(ref, "claude-agent", "{re: "+ref+", MESS: [{cancel: {reason: enough}}]}")
		h.wantStatus(ref, mess.Cancelled)
	})
}

// The exchange rejects an appended message: the thread keeps the message and the error as evidence.
// Its status does not change, and the executor gets no event.
func TestRejectedAppendedMessageIsEvidence(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(kitchen, "config: {executor: {id: kitchen-pi, capabilities: [x]}}")
		ref := h.send(agent, "request: {intent: look, requires: [x]}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "status: {re: "+ref+", code: needs_confirmation, action: move, action_hash: h1, confirm_by: operator}")
		sub := h.subscribe(kitchen, "")
		sub.events()
		for _, s := range []struct{ from, text, why string }{
			{"other-agent", "cancel: {re: " + ref + "}", "thread"},
			{"teague", "reply: {re: " + ref + ", confirm: true}", ""}, // the name of an operator in a file is no proof
			{"garage-pi", "status: {re: " + ref + ", code: completed}", ""},
			{"exchange", "ack: {re: last, ref: " + ref + "}", "only the exchange itself"},
			{"exchange", "status: {code: completed}", "only the exchange itself"},
			{"claude-agent", "request: {intent: another}", ""},
			{"claude-agent", "status: {code: 7}", ""},
		} {
			before := h.thread(ref)
			after := h.appendFromFolder(ref, s.from, s.text)
			if after.Status != mess.NeedsConfirmation || after.Confirm.Given != nil || len(after.Messages) <= len(before.Messages) {
				t.Errorf("%s: %s, %d messages after %d", s.text, after.Status, len(after.Messages), len(before.Messages))
			}
			numbered := slices.Clone(after.Messages)
			messeaf.Number(ref, numbered)
			for i, m := range numbered {
				if got := after.Messages[i].Ref; got != m.Ref {
					t.Errorf("%s: message %d is %q, and %q when the thread is read from its file", s.text, i, got, m.Ref)
				}
			}
			text, err := after.Messages[len(after.Messages)-1].JSON()
			if err != nil || (!strings.Contains(string(text), `"error":`) || !strings.Contains(string(text), s.why)) {
				t.Errorf("%s: the last message is %s, %v", s.text, text, err)
			}
		}
		if events := sub.events(); len(events) > 0 {
			t.Errorf("events of the executor are %v, want none", events)
		}
	})
}
