package exchange_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// asks brings a thread to an open confirmation for the plan with digest d1.
func (h *house) asks(request string, more string) string {
	h.t.Helper()
	h.registers(kitchen, "operate-valve")
	ref := h.says(agent, request).Ref
	h.says(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed}}]")
	h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_confirmation, action: close the valve, action_hash: d1"+more+"}}]")
	return ref
}

const valve = "request: {id: valve, intent: turn off the main water valve, confirm_before: true}"

func TestStartNeedsConfirmation(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "operate-valve")
		ref := h.says(agent, valve).Ref
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		for _, end := range []string{
			"status: {re: " + ref + ", code: in_progress}", "status: {re: " + ref + ", code: completed}",
			"response: {re: " + ref + ", content: [closed]}", "status: {re: " + ref + ", code: partial, completed: [half]}",
		} {
			h.refuses(kitchen, end, mess.Unconfirmed, "confirm_before")
		}
		h.is(ref, mess.Claimed)
	})
}

func TestConfirmationIsBoundToPlanAndClaim(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.asks(valve, "")
		gate := func(hash string) string {
			return "re: " + ref + "\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: " + hash + "}}]"
		}
		h.refuses(kitchen, gate("d1"), mess.Unconfirmed, "confirmation is missing")
		h.refuses(agent, "reply: {re: last, confirm: true}", mess.Invalid, "must name its thread")
		h.refuses(other, "reply: {re: "+ref+", confirm: true}", mess.NotFound)
		h.refuses(agent, "reply: {re: "+ref+"/question-007, confirm: true}", mess.StaleToken, "question-002")
		h.says(agent, "reply: {re: valve, confirm: true}")
		h.is(ref, mess.Claimed)
		h.refuses(agent, "reply: {re: "+ref+", confirm: false}", mess.IllegalTransition, "no confirmation is open")
		h.refuses(kitchen, gate("d2"), mess.Unconfirmed, "another plan")
		h.says(kitchen, gate("d1"))
		h.is(ref, mess.InProgress)
	})
}

// A thread has had two questions: a confirmation that names only the thread is ambiguous. A
// confirmation must name the open question or the digest of its plan.
func TestConfirmationMustNameQuestion(t *testing.T) {
	bare, other := "reply: {re: {ref}, confirm: true}", "re: {ref}/question-004\nMESS: [{reply: {confirm: true}}]"
	for _, c := range []struct {
		name, answer string
		why          mess.ErrorCode // "" if the exchange accepts the answer
		word         string
		status       mess.Code // afterwards
	}{
		{"the same yes again", bare, mess.Conflict, "{ref}/question-004", mess.NeedsConfirmation},
		{"the yes to the first question again", "reply: {re: {ref}/question-002, confirm: true}", "", "", mess.NeedsConfirmation},
		{"a no to the first question", "reply: {re: {ref}/question-002, confirm: false}", mess.StaleToken, "{ref}/question-004", mess.NeedsConfirmation},
		{"the first plan's digest again", "reply: {re: {ref}, confirm: true, action_hash: d1}", "", "", mess.NeedsConfirmation},
		{"a digest that nobody has asked about", "reply: {re: {ref}, confirm: true, action_hash: d3}", mess.StaleToken, "{ref}/question-004", mess.NeedsConfirmation},
		{"an answer to the thread", "answer: {re: {ref}, value: true}", mess.Conflict, "{ref}/question-004", mess.NeedsConfirmation},
		{"a no to the thread", "reply: {re: {ref}, confirm: false}", "", "", mess.NeedsConfirmation},
		{"the question by its ref", "reply: {re: {ref}/question-004, confirm: true}", "", "", mess.Claimed},
		{"the question by the message's re", other, "", "", mess.Claimed},
		{"an answer that names the question", "re: {ref}\nMESS: [{answer: {re: {ref}/question-004, value: true}}]", "", "", mess.Claimed},
		{"the plan by its digest", "reply: {re: {ref}, confirm: true, action_hash: d2}", "", "", mess.Claimed},
	} {
		t.Run(c.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				ref := h.asks(valve, "")
				h.says(agent, replaceRef(bare, ref))
				h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_confirmation, action: close all, action_hash: d2}}]")
				if c.why == "" {
					h.says(agent, replaceRef(c.answer, ref))
				} else {
					h.refuses(agent, replaceRef(c.answer, ref), c.why, replaceRef(c.word, ref))
				}
				h.is(ref, c.status)
				gate := "re: " + ref + "\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d2}}]"
				if c.status == mess.Claimed {
					h.says(kitchen, gate)
				} else {
					h.refuses(kitchen, gate, mess.Unconfirmed)
				}
			})
		})
	}
}

// The exchange accepts a repeated confirmation and does not store it again, whatever status the
// thread has now.
func TestRepeatedConfirmationIsAccepted(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.asks(valve, "")
		yes := "reply: {re: " + ref + ", confirm: true}"
		h.says(agent, yes)
		n := len(h.thread(ref).Messages)
		h.says(agent, yes)
		h.says(agent, "reply: {re: "+ref+"/question-002, confirm: true}")
		if got := len(h.thread(ref).Messages); got != n {
			t.Errorf("the yes again was stored again: %d messages, want %d", got, n)
		}
		h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d1}}]")
		h.says(agent, yes)
		h.is(ref, mess.InProgress)
	})
}

func TestStartNeedsConfirmedPlan(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.asks(valve, "")
		h.says(agent, "reply: {re: "+ref+", confirm: true}")
		h.refuses(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.Unconfirmed, "action_hash")
		h.is(ref, mess.Claimed)
		h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d1}}]")
		// A second plan during the task needs its own confirmation.
		h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_confirmation, action: close all, action_hash: d2}}]")
		h.refuses(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d2}}]", mess.Unconfirmed, "confirmation is missing")
		h.says(agent, "reply: {re: "+ref+", confirm: true, action_hash: d2}")
		h.is(ref, mess.InProgress)
	})
}

func TestConfirmationEndsWithClaim(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.asks(valve, "")
		h.says(agent, "reply: {re: "+ref+", confirm: true}")
		h.after(time.Minute) // the lease ends
		h.is(ref, mess.Pending)
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.refuses(kitchen, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress, action_hash: d1}}]", mess.Unconfirmed)
	})
}

func TestDeclinedConfirmationEndsThread(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.asks(valve, "")
		h.says(agent, "reply: {re: "+ref+", confirm: false, reason: not now}")
		h.refuses(kitchen, "re: "+ref+"\nMESS: [{status: {code: in_progress, action_hash: d1}}]", mess.Unconfirmed, "said no")
		h.says(kitchen, "re: "+ref+"\nMESS: [{status: {code: cancelled}}]")
		h.is(ref, mess.Cancelled)
	})
}

func TestSomeConfirmationsNeedPerson(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.asks("request: {intent: open the garage}", ", confirm_by: operator")
		h.refuses(agent, "reply: {re: "+ref+", confirm: true}", mess.Forbidden, "operator")
		h.says(person, "reply: {re: "+ref+", confirm: true}")
		h.is(ref, mess.Claimed)
	})
}

func TestQuestionsAndAnswers(t *testing.T) {
	for _, c := range []struct{ name, answer string }{
		{"a reply", "reply: {re: spill, answers: {location: both, priority: sink first}}"},
		{"a reply to last", "reply: {re: last, answers: {location: both}}"},
		{"an answer to the question", "re: {ref}/question-002-location\nMESS: [{answer: {id: both, value: both}}]"},
		{"an answer as writers in the field put it", "answer: {re: {ref}, value: both}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				h.registers(kitchen, "vacuum-floor")
				ref := h.says(agent, "request: {id: spill, intent: vacuum the spill}").Ref
				h.says(kitchen, "status: {re: "+ref+", code: claimed}")
				h.refuses(agent, "reply: {re: "+ref+", answers: {location: both}}", mess.IllegalTransition)
				h.says(kitchen, "status: {re: "+ref+", code: needs_input, questions: [{field: location, question: which, options: [sink, stove, both]}]}")
				h.is(ref, mess.NeedsInput)
				ear := h.listens(kitchen, "")
				ear.heard()
				h.says(agent, replaceRef(c.answer, ref))
				h.is(ref, mess.InProgress)
				if got := ear.heard(); len(got) != 1 {
					t.Errorf("the executor heard %q, want the answer", got)
				}
				if th := h.thread(ref); th.Phase != "" {
					t.Errorf("the answer has taken the thread past the start gate: phase %q", th.Phase)
				}
				h.after(2 * time.Minute) // so the lease still counts
				h.is(ref, mess.Pending)
			})
		})
	}
}

// An answer that names a question of before is none to the one that is open, also
// where both ask for the same field.
func TestAnswerToEarlierQuestionLeavesOpenOne(t *testing.T) {
	const asks = ", code: needs_input, questions: [{field: where, question: where}]}"
	for _, c := range []struct {
		name, answer string
		why          mess.ErrorCode // "" if it counts
	}{
		{"a reply to the first", "reply: {re: {ref}/question-002-where, answers: {where: left}}", mess.StaleToken},
		{"a reply in a message to the first", "re: {ref}/question-002-where\nMESS: [{reply: {answers: {where: left}}}]", mess.StaleToken},
		{"an answer to the first", "re: {ref}/question-002-where\nMESS: [{answer: {value: left}}]", mess.StaleToken},
		{"an answer to the first, by its short name", "re: {ref}/question-002\nMESS: [{answer: {value: left}}]", mess.StaleToken},
		{"an answer to what was no question", "re: {ref}/claim-001\nMESS: [{answer: {value: left}}]", mess.StaleToken},
		{"a reply to the second", "reply: {re: {ref}/question-004-where, answers: {where: right}}", ""},
		{"an answer to the second", "re: {ref}/question-004-where\nMESS: [{answer: {value: right}}]", ""},
		{"an answer to the second, by its short name", "re: {ref}/question-004\nMESS: [{answer: {value: right}}]", ""},
		{"a reply to the thread", "reply: {re: {ref}, answers: {where: right}}", ""},
		{"an answer to the field", "re: {ref}\nMESS: [{answer: {re: where, value: right}}]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			inHouse(t, func(h *house) {
				h.registers(kitchen, "x")
				ref := h.says(agent, "request: {intent: look}").Ref
				h.says(kitchen, "status: {re: "+ref+", code: claimed}")
				h.says(kitchen, "status: {re: "+ref+asks)
				h.says(agent, "reply: {re: "+ref+", answers: {where: left}}")
				h.says(kitchen, "status: {re: "+ref+asks)
				if c.why == "" {
					h.says(agent, replaceRef(c.answer, ref))
					h.is(ref, mess.InProgress)
					return
				}
				h.refuses(agent, replaceRef(c.answer, ref), c.why, "the open one is "+ref+"/question-004-where")
				h.is(ref, mess.NeedsInput)
			})
		})
	}
}

// Of two questions in two messages, the answer to one leaves the other open.
func TestAnswerToOneQuestionLeavesOther(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "x")
		ref := h.says(agent, "request: {intent: look}").Ref
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		for range 2 {
			h.says(kitchen, "status: {re: "+ref+", code: needs_input, questions: [{field: where, question: where}]}")
		}
		h.says(agent, "reply: {re: "+ref+"/question-002-where, answers: {where: left}}")
		h.is(ref, mess.NeedsInput)
		h.refuses(agent, "reply: {re: "+ref+"/question-002-where, answers: {where: right}}", mess.StaleToken)
		h.says(agent, "reply: {re: "+ref+"/question-003-where, answers: {where: right}}")
		h.is(ref, mess.InProgress)
	})
}

func TestCancelBeforeAndAfterStart(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "vacuum-floor")
		early := h.says(agent, "request: {intent: vacuum}").Ref
		h.says(kitchen, "status: {re: "+early+", code: claimed}")
		h.says(agent, "cancel: {re: "+early+", reason: never mind}")
		h.is(early, mess.Cancelled)
		h.refuses(kitchen, "re: "+early+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.IllegalTransition)
		h.says(agent, "cancel: {re: "+early+"}") // again is no mistake

		late := h.says(agent, "request: {id: late, intent: vacuum}").Ref
		h.says(kitchen, "status: {re: "+late+", code: claimed}")
		h.says(kitchen, "re: "+late+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]")
		ear := h.listens(kitchen, "")
		ear.heard()
		if ack := h.says(agent, "cancel: {re: last}"); ack.Status != mess.InProgress {
			t.Errorf("the cancel of what has begun is acked with %s, want in_progress", ack.Status)
		}
		if got := ear.heard(); len(got) != 1 || got[0] != "message "+late+" cancel" {
			t.Errorf("the executor heard %q, want the cancel", got)
		}
		beat := h.says(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+late+", epoch: 1}]}}")
		if len(beat.Threads) != 1 || beat.Threads[0].Stop == nil || !*beat.Threads[0].Stop {
			t.Errorf("the heartbeat is answered with %+v, want stop", beat.Threads)
		}
		h.says(kitchen, "re: "+late+"\nepoch: 1\nMESS: [{status: {code: cancelled, reason: {type: cancelled, effect: partial}}}]")
		h.is(late, mess.Cancelled)
	})
}

func TestCancelOfSeveralThreads(t *testing.T) {
	inHouse(t, func(h *house) {
		a := h.says(agent, "request: {id: a, intent: look}").Ref
		h.says(agent, "request: {id: b, intent: look}")
		m, err := h.try(agent, "cancel: {re: [a, b, c]}")
		if err != nil || len(m.Items) != 3 {
			t.Fatalf("%d acks, %v; want three", len(m.Items), err)
		}
		if e, ok := m.Items[2].(*mess.Ack).Extra.Get("error"); !ok {
			t.Errorf("the ack for the unknown thread has no error: %v", e)
		}
		h.is(a, mess.Cancelled)
	})
}

// The confirmation of a requester returns the thread to claimed, but the requester has no claim.
// The exchange rejects its reports before the start, after the start and after the end.
func TestConfirmingRequesterHasNoClaim(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.asks(valve, "")
		h.says(agent, "reply: {re: valve, confirm: true}")
		forged := func() {
			h.t.Helper()
			for _, what := range []string{
				"status: {re: " + ref + ", code: completed}", "status: {re: " + ref + ", code: failed, reason: {type: other, detail: forged}}",
				"status: {re: " + ref + ", code: in_progress}", "response: {re: " + ref + ", content: [forged]}",
			} {
				if _, err := h.try(agent, what); err == nil {
					h.t.Errorf("%s says %s, and is heard", agent.ID, what)
				}
			}
		}
		forged()
		h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d1}}]")
		forged()
		h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: failed, reason: {type: other, detail: stuck}}}]")
		forged()
	})
}
