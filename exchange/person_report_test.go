package exchange_test

import (
	"testing"

	"github.com/messkit/messkit/mess"
)

// A person reports a task as completed or partial: the exchange adds "by NAME’s word" to the
// message, with any client. It adds nothing if the report has evidence, and nothing to the report
// of a robot.
func TestReportWithoutEvidenceNamesPerson(t *testing.T) {
	for name, c := range map[string]struct {
		by, message, want string
		evidence          mess.Evidence
	}{
		"nothing beside it":   {"ana", "status: {re: {ref}, code: completed}", "by ana’s word", ""},
		"partly":              {"ana", "status: {re: {ref}, code: partial, remaining: [the rest]}", "by ana’s word", ""},
		"a word of her own":   {"ana", "status: {re: {ref}, code: completed, message: gladly}", "gladly (by ana’s word)", ""},
		"reported already":    {"ana", "status: {re: {ref}, code: completed, message: by ana’s word}", "by ana’s word", ""},
		"a response alone":    {"ana", "response: {re: {ref}, content: [done]}", "by ana’s word", ""},
		"with a photo":        {"ana", "status: {re: {ref}, code: completed, evidence: photographed}", "", mess.Photographed},
		"by a robot":          {"kitchen-pi", "status: {re: {ref}, code: completed}", "", ""},
		"a robot's response":  {"kitchen-pi", "response: {re: {ref}, content: [done]}", "", ""},
		"it has come to none": {"ana", "status: {re: {ref}, code: failed, reason: {type: other, effect: none}}", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				actor := anna
				if c.by == kitchen.ID {
					actor = kitchen
					h.register(kitchen, "walk")
				} else {
					h.registerPerson(anna)
				}
				ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
				h.send(actor, "status: {re: "+ref+", code: claimed}")
				h.send(actor, "status: {re: "+ref+", code: in_progress}")
				h.send(actor, replaceRef(c.message, ref))
				got := h.lastStatus(ref)
				if got.Message != c.want || got.Evidence != c.evidence {
					t.Errorf("message is %q, evidence %q, want %q, %q", got.Message, got.Evidence, c.want, c.evidence)
				}
			})
		})
	}
}
