package receipt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
	"github.com/messkit/messkit/mess/receipt"
)

// Messages without receipts in a thread: which senders may report what, and which status
// the envelope may have.
func TestReceiptsOfThreadAreChecked(t *testing.T) {
	s := vectors(t)["failed.json"].signer(t)
	signed := func(epoch uint64, plan string, st mess.Status) mess.Message {
		m, err := s.Sign(mess.Message{From: "pi", Epoch: epoch, Items: []mess.Item{&st}}, receipt.Facts{
			Thread: "T", Epoch: epoch, Executor: "pi", Plan: plan, Started: "2026-11-21T09:44:59Z", Ended: "2026-11-21T09:45:00Z",
		})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	message := func(who string, item mess.Item) mess.Message {
		return mess.Message{From: who, Epoch: 2, Items: []mess.Item{item}}
	}
	done := mess.Status{Code: mess.Completed, Evidence: mess.ReadBack}
	begun := func(plan string) mess.Message {
		return message("pi", &mess.Status{Code: mess.InProgress, ActionHash: plan})
	}
	asked := message("pi", &mess.Status{Code: mess.NeedsConfirmation, ActionHash: "a"})
	for _, c := range []struct {
		name     string
		status   mess.Code
		messages []mess.Message
		wrong    string // "" for a valid thread
	}{
		{name: "pending", status: mess.Pending},
		{name: "cancelled before an executor began", status: mess.Cancelled, messages: []mess.Message{message("claude", &mess.Cancel{})}},
		{name: "cancelled without a cancel", status: mess.Cancelled, wrong: "without a message for it"},
		{name: "expired", status: mess.Expired, messages: []mess.Message{message("exchange", &mess.Status{Code: mess.Expired})}},
		{name: "expired, reported by an executor", status: mess.Expired, messages: []mess.Message{message("pi", &mess.Status{Code: mess.Expired})}, wrong: "expired by pi: there is no receipt in it"},
		{name: "declined without a key", status: mess.Declined, messages: []mess.Message{message("other", &mess.Status{Code: mess.Declined})}},
		{name: "lost", status: mess.Failed, messages: []mess.Message{message("exchange", &mess.Status{Code: mess.Failed})}},
		{name: "lost, and done after all", status: mess.Failed, messages: []mess.Message{begun("a"), message("exchange", &mess.Status{Code: mess.Failed}), signed(2, "a", done)}},
		{name: "failed without a receipt", status: mess.Failed, messages: []mess.Message{message("pi", &mess.Status{Code: mess.Failed})}, wrong: "failed by pi: there is no receipt in it"},
		{name: "completed", status: mess.Completed, messages: []mess.Message{begun("a"), signed(2, "a", done)}},
		{name: "completed, reported by the exchange", status: mess.Completed, messages: []mess.Message{message("exchange", &done)}, wrong: "there is no receipt in it"},
		{name: "completed only in the envelope", status: mess.Completed, wrong: "without a valid receipt of pi for it"},
		{name: "failed, but completed in the envelope", status: mess.Completed, messages: []mess.Message{signed(2, "a", mess.Status{Code: mess.Failed})}, wrong: "without a valid receipt of pi for it"},
		{name: "a response alone", status: mess.Completed, messages: []mess.Message{signed(2, "a", done), message("pi", &mess.Response{})}, wrong: "a response by pi without a receipt"},
		{name: "without a plan", status: mess.Completed, messages: []mess.Message{signed(2, "", done)}, wrong: "plan: is missing"},
		{name: "another plan", status: mess.Completed, messages: []mess.Message{begun("b"), signed(2, "a", done)}, wrong: "plan: the executor started b, but the receipt is for a"},
		{name: "the plan of an earlier claim", status: mess.Completed, messages: []mess.Message{begun("b"), signed(3, "a", done)}},
		{name: "no yes", status: mess.Completed, messages: []mess.Message{asked, signed(2, "a", done)}, wrong: "required a confirmation"},
		{name: "yes", status: mess.Completed, messages: []mess.Message{asked, message("ann", &mess.Reply{Confirm: new(true)}), signed(2, "a", done)}},
		{name: "yes in an answer", status: mess.Completed, messages: []mess.Message{asked, message("ann", &mess.Answer{Value: true}), signed(2, "a", done)}},
		{name: "yes before it was asked", status: mess.Completed, messages: []mess.Message{message("ann", &mess.Reply{Confirm: new(true)}), asked, signed(2, "a", done)}, wrong: "required a confirmation"},
		{name: "yes to another", status: mess.Completed, messages: []mess.Message{asked, message("ann", &mess.Reply{Confirm: new(true)}), signed(2, "b", done)}, wrong: "plan: the confirmation is for a, the receipt for b"},
		{name: "no, and it was not done", status: mess.Cancelled, messages: []mess.Message{asked, message("ann", &mess.Reply{Confirm: new(false)}), unbegun(t, s)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			thread := messeaf.Thread{Envelope: messeaf.Envelope{Ref: "T", Executor: "pi", Status: c.status}, Messages: c.messages}
			var wrong []string
			for _, f := range receipt.Thread(thread, func(string) (string, string) { return s.Public(), "test" }, nil) {
				if f.Wrong {
					wrong = append(wrong, f.Text)
				}
			}
			if text := fmt.Sprint(wrong); (c.wrong == "") != (len(wrong) == 0) || !strings.Contains(text, c.wrong) {
				t.Errorf("wrong: %s, want %q", text, c.wrong)
			}
		})
	}
}

// unbegun returns a report about a task that never began.
func unbegun(t *testing.T, s *receipt.Signer) mess.Message {
	t.Helper()
	m, err := s.Sign(mess.Message{From: "pi", Epoch: 2, Items: []mess.Item{
		&mess.Status{Code: mess.Cancelled, Reason: &mess.Reason{Type: "not_confirmed", Effect: mess.EffectNone}},
	}}, receipt.Facts{Thread: "T", Epoch: 2, Executor: "pi", Plan: "a", Ended: "2026-11-21T09:45:00Z"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
