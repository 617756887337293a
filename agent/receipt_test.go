package agent_test

import (
	"io"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// testSigner is the key of the agents in these tests.
func testSigner(t *testing.T) *receipt.Signer {
	t.Helper()
	s, err := receipt.NewSigner([]byte(strings.Repeat("home-pi ", 4)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// terminalMessages returns the messages in which an agent ends a thread or declines it.
func (h *harness) terminalMessages(ref string) (list []mess.Message) {
	for _, m := range h.thread(ref).Messages {
		if _, s, _ := receipt.In(m); s != nil && m.From == h.cfg.ID {
			list = append(list, m)
		}
	}
	return list
}

// checkTerminalStatuses checks at the end of every test that each terminal status has evidence and a valid
// receipt.
func (h *harness) checkTerminalStatuses() {
	h.t.Helper()
	if h.cfg.Signer == nil {
		return
	}
	page, err := h.x.List(h.t.Context(), person, exchange.Filter{Limit: 1000})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, e := range page.Threads {
		for _, m := range h.terminalMessages(e.Ref) {
			r, s, err := receipt.In(m)
			if err != nil {
				h.t.Errorf("%s: %s: %v", e.Ref, s.Code, err)
				continue
			}
			for _, wrong := range receipt.Check(m, r, h.attachmentReader(e.Ref)) {
				h.t.Errorf("%s: %s: %v", e.Ref, s.Code, wrong)
			}
			if r.Thread != e.Ref || r.Key != h.cfg.Signer.Public() {
				h.t.Errorf("%s: the receipt is for %s by %s", e.Ref, r.Thread, r.Key)
			}
			if reason := missingFields(s); reason != "" {
				h.t.Errorf("%s: %s, evidence %q, reason %+v: %s", e.Ref, s.Code, s.Evidence, s.Reason, reason)
			}
		}
	}
}

func (h *harness) attachmentReader(ref string) func(string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		r, _, err := h.x.Attachment(h.t.Context(), person, ref, name)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
}

// missingFields returns what is missing in a terminal status, or too much.
func missingFields(s *mess.Status) string {
	effect := mess.Effect("")
	if s.Reason != nil {
		effect = s.Reason.Effect
	}
	switch {
	case s.Code == mess.Declined:
		if s.Evidence != "" {
			return "there can be no evidence for what was declined"
		}
		return ""
	case s.Code == mess.Completed && s.Evidence == "":
		return "completed without evidence"
	case s.Code == mess.Completed:
		return ""
	case effect == "":
		return "not completed, and no word on what it did"
	case effect == mess.EffectNone && s.Evidence != "":
		return "nothing was done, and there is evidence for it"
	case effect == mess.EffectUnknown && s.Evidence != mess.EvidenceUnknown:
		return "nobody knows what it did, so its evidence is unknown"
	case effect == mess.EffectPartial && s.Evidence == "":
		return "some of it was done, and no word on how that is known"
	}
	return ""
}

func TestReceiptsAreSigned(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		m := h.terminalMessages(ref)[0]
		r, _, err := receipt.In(m)
		if err != nil {
			t.Fatal(err)
		}
		plan := *h.sentences["turn on the porch light"].Plan
		want := receipt.Receipt{
			V: 1, Thread: ref, Epoch: 1, Executor: "home-pi", Status: mess.Completed, Plan: plan.Digest(), Capability: "switch",
			Evidence: mess.ReadBack, Started: r.Started, Ended: r.Ended, Report: r.Report, Content: r.Content, Key: testSigner(t).Public(), Sig: r.Sig,
		}
		if receiptText(t, r) != receiptText(t, want) || r.Started == "" || r.Ended < r.Started || !strings.HasSuffix(string(r.Ended), "Z") || len(r.Content) == 0 {
			t.Errorf("%s\nwant %s", receiptText(t, r), receiptText(t, want))
		}
		ref = h.send(requester, "request: {intent: open the safe}")
		if r, _, err := receipt.In(h.terminalMessages(ref)[0]); err != nil || r.Effect != mess.EffectNone || r.Plan != "" || r.Epoch != 0 {
			t.Errorf("declined: %s %v", receiptText(t, r), err)
		}
		for _, e := range h.x.Executors() {
			if key, _ := e.Extra.Get(receipt.KeyField); key != testSigner(t).Public() {
				t.Errorf("%s has registered the key %v", e.ID, key)
			}
		}
	})
}

func receiptText(t *testing.T, r receipt.Receipt) string {
	t.Helper()
	data, err := r.Object().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// An executor without a key reports the same, unsigned.
func TestReportWithoutKeyIsUnsigned(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.cfg.Signer = nil }, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		if s := h.wantStatus(ref, mess.Completed); len(s.Extra) > 0 {
			t.Errorf("%+v", s.Extra)
		}
	})
}

func TestReceiptWithUnsetClock(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.cfg.Synced = func() bool { return false } }, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		if r, _, err := receipt.In(h.terminalMessages(ref)[0]); err != nil || r.Clock != receipt.Unsynchronised {
			t.Errorf("%s %v", receiptText(t, r), err)
		}
	})
}
