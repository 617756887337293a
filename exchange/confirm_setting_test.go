package exchange_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// questionForOperator brings a thread to a question that an operator must answer.
func (h *harness) questionForOperator() (ref string) {
	h.t.Helper()
	return h.openConfirmation("request: {intent: turn off the main water valve}", ", confirm_by: operator")
}

// The key of an operator alone does not prove a person: each setting accepts only certain proofs.
func TestConfirmSettingDecidesProof(t *testing.T) {
	for by, enough := range map[exchange.ConfirmBy][]exchange.Proof{
		exchange.ConfirmTerminal: {exchange.AtTerminal, exchange.OnPage},
		exchange.ConfirmPage:     {exchange.OnPage},
		exchange.ConfirmCode:     {},
		exchange.ConfirmScript:   {exchange.ByKey, exchange.AtTerminal, exchange.OnPage},
	} {
		for proof := exchange.ByKey; proof <= exchange.OnPage; proof++ {
			right := false
			for _, one := range enough {
				right = right || one == proof
			}
			withHarness(t, func(h *harness) {
				h.stop()
				h.confirm = by
				h.open(exchange.DefaultConfig())
				ref := h.questionForOperator()
				for _, confirmation := range []string{"reply: {re: " + ref + ", confirm: true}", "re: " + ref + "\nMESS: [{answer: {value: true}}]"} {
					h.proof = proof
					if right {
						h.send(person, confirmation)
						h.wantStatus(ref, mess.Claimed)
						return
					}
					if r := h.wantError(person, confirmation, mess.Forbidden, "nothing was confirmed"); strings.Contains(r.Text, "messkit") {
						t.Errorf("%s: the refusal names a command: %s", by, r.Text)
					}
					h.wantError(agent, confirmation, mess.Forbidden, "role operator")
					h.wantStatus(ref, mess.NeedsConfirmation)
				}
				h.proof = exchange.ByKey
				h.send(person, "reply: {re: "+ref+", confirm: false}") // a no needs no proof
				h.proof = proof
				h.wantError(person, "reply: {re: "+ref+", confirm: true}", mess.IllegalTransition)
			})
		}
	}
}

// A requester confirms its own request (confirm_before): the exchange needs no proof of a person.
func TestOwnConfirmationNeedsNoProof(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.stop()
		h.confirm = exchange.ConfirmPage
		h.open(exchange.DefaultConfig())
		ref := h.openConfirmation(valve, "")
		h.send(agent, "reply: {re: "+ref+", confirm: true}")
		h.wantStatus(ref, mess.Claimed)
	})
}

func TestCodeConfirmsOneQuestionOnce(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.stop()
		h.confirm = exchange.ConfirmCode
		cfg := exchange.DefaultConfig()
		cfg.Lease, cfg.LeaseWithoutHeartbeat = time.Hour, time.Hour
		h.open(cfg)
		ref := h.questionForOperator()
		for _, c := range []struct {
			actor exchange.Actor
			proof exchange.Proof
		}{{person, exchange.ByKey}, {person, exchange.AtTerminal}, {agent, exchange.OnPage}} {
			if _, _, err := h.x.ConfirmCode(c.actor, c.proof, ref); !errors.Is(err, mess.Forbidden) {
				t.Errorf("%s with proof %d is shown the code: %v", c.actor.ID, c.proof, err)
			}
		}
		shown := func() string {
			text, _, err := h.x.ConfirmCode(person, exchange.OnPage, ref)
			if err != nil || len(text) != 6 {
				t.Fatalf("%q %v", text, err)
			}
			return text
		}
		confirmation := func(code string) string { return "reply: {re: " + ref + ", confirm: true, code: \"" + code + "\"}" }
		wrong := func(code string) string { return string('0'+(code[0]-'0'+1)%10) + code[1:] }

		code := shown()
		for range 5 {
			h.wantError(agent, confirmation(wrong(code)), mess.Forbidden, "not the code")
		}
		h.wantError(agent, confirmation(code), mess.Forbidden, "not the code") // it ended with the guesses
		code = shown()
		h.advance(11 * time.Minute)
		h.wantError(agent, confirmation(code), mess.Forbidden, "has expired")
	})
	withHarness(t, func(h *harness) {
		h.stop()
		h.confirm = exchange.ConfirmCode
		h.open(exchange.DefaultConfig())
		ref := h.questionForOperator()
		code, _, err := h.x.ConfirmCode(person, exchange.OnPage, ref)
		if err != nil {
			t.Fatal(err)
		}
		h.wantError(other, "reply: {re: "+ref+", confirm: true, code: \""+code+"\"}", mess.NotFound) // it is not its thread
		h.send(agent, "reply: {re: "+ref+", confirm: true, code: \""+code+"\"}")
		h.wantStatus(ref, mess.Claimed)
		th, err := h.x.Thread(t.Context(), agent, ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range th.Messages {
			if text, _ := m.YAML(); strings.Contains(string(text), code) {
				t.Errorf("the thread keeps the code:\n%s", text)
			}
		}
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_confirmation, action: open the valve, action_hash: d2, confirm_by: operator}}]")
		h.wantError(agent, "re: "+ref+"/question-004\nMESS: [{reply: {confirm: true, code: \""+code+"\"}}]", mess.Forbidden, "not the code")
	})
}

func TestInvalidConfirmSettingIsRejected(t *testing.T) {
	cfg := exchange.DefaultConfig()
	if cfg.Confirm != exchange.ConfirmTerminal {
		t.Errorf("default is %q, want ConfirmTerminal", cfg.Confirm)
	}
	cfg.Confirm = "phone"
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "terminal, page, code or script") {
		t.Error(err)
	}
}

// To release a stop, to arm and to unlock take the proof of a confirmation.
func TestReleaseNeedsProofOfPerson(t *testing.T) {
	for by, enough := range map[exchange.ConfirmBy][3]bool{
		exchange.ConfirmTerminal: {false, true, true},
		exchange.ConfirmPage:     {false, false, true},
		exchange.ConfirmCode:     {},
		exchange.ConfirmScript:   {true, true, true},
	} {
		withHarness(t, func(h *harness) {
			h.stop()
			h.confirm = by
			h.open(exchange.DefaultConfig())
			for proof := exchange.ByKey; proof <= exchange.OnPage; proof++ {
				did := false
				err := h.x.Release(proof, "000000", func() error { did = true; return nil })
				if did != enough[proof] || did != (err == nil) || err != nil && !errors.Is(err, mess.Forbidden) {
					t.Errorf("%s, proof %d: did it: %t, %v", by, proof, did, err)
				}
			}
		})
	}
}

// An operator gets a code on the page, but not at a terminal. The code is valid for one successful
// act.
func TestCodeReleasesOnce(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.stop()
		h.confirm = exchange.ConfirmCode
		h.open(exchange.DefaultConfig())
		if _, _, err := h.x.ConfirmCode(person, exchange.AtTerminal, ""); !errors.Is(err, mess.Forbidden) {
			t.Errorf("the code at a terminal: %v", err)
		}
		code, _, err := h.x.ConfirmCode(person, exchange.OnPage, "")
		if err != nil {
			t.Fatal(err)
		}
		did, unsafe := 0, errors.New("a device is not safe")
		act := func() error { did++; return unsafe }
		if err := h.x.Release(exchange.ByKey, code, act); !errors.Is(err, unsafe) || did != 1 {
			t.Errorf("with the code: %v", err)
		}
		unsafe = nil
		if err := h.x.Release(exchange.ByKey, code, act); err != nil || did != 2 {
			t.Errorf("with the code again, after nothing was done: %v", err)
		}
		if err := h.x.Release(exchange.ByKey, code, act); !errors.Is(err, mess.Forbidden) || did != 2 {
			t.Errorf("with a code that is spent: %v", err)
		}
	})
}

// Two programs send the same code at the same time: one of them acts.
func TestCodeReleasesOnceAtTheSameTime(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.stop()
		h.confirm = exchange.ConfirmCode
		h.open(exchange.DefaultConfig())
		code, _, err := h.x.ConfirmCode(person, exchange.OnPage, "")
		if err != nil {
			t.Fatal(err)
		}
		var during error
		act := func() error {
			during = h.x.Release(exchange.ByKey, code, func() error { t.Error("the code has released a second time"); return nil })
			return nil
		}
		if err := h.x.Release(exchange.ByKey, code, act); err != nil || !errors.Is(during, mess.Forbidden) {
			t.Errorf("errors are %v and %v, want none and %s", err, during, mess.Forbidden)
		}
	})
}
