package exchange_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// openConfirmation brings a thread to an open confirmation for the plan with digest d1.
func (h *harness) openConfirmation(request string, more string) string {
	h.t.Helper()
	h.register(kitchen, "operate-valve")
	ref := h.send(agent, request).Ref
	h.send(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed}}]")
	h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_confirmation, action: close the valve, action_hash: d1"+more+"}}]")
	return ref
}

const valve = "request: {id: valve, intent: turn off the main water valve, confirm_before: true}"

func TestStartNeedsConfirmation(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "operate-valve")
		ref := h.send(agent, valve).Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		for _, end := range []string{
			"status: {re: " + ref + ", code: in_progress}", "status: {re: " + ref + ", code: completed}",
			"response: {re: " + ref + ", content: [closed]}", "status: {re: " + ref + ", code: partial, completed: [half]}",
		} {
			h.wantError(kitchen, end, mess.Unconfirmed, "confirm_before")
		}
		h.wantStatus(ref, mess.Claimed)
	})
}

func TestConfirmationIsBoundToPlanAndClaim(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation(valve, "")
		startText := func(hash string) string {
			return "re: " + ref + "\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: " + hash + "}}]"
		}
		h.wantError(kitchen, startText("d1"), mess.Unconfirmed, "confirmation is missing")
		h.wantError(agent, "reply: {re: last, confirm: true}", mess.Invalid, "must name its thread")
		h.wantError(other, "reply: {re: "+ref+", confirm: true}", mess.NotFound)
		h.wantError(agent, "reply: {re: "+ref+"/question-007, confirm: true}", mess.StaleToken, "question-002")
		h.send(agent, "reply: {re: valve, confirm: true}")
		h.wantStatus(ref, mess.Claimed)
		h.wantError(agent, "reply: {re: "+ref+", confirm: false}", mess.IllegalTransition, "no confirmation is open")
		h.wantError(kitchen, startText("d2"), mess.Unconfirmed, "another plan")
		h.send(kitchen, startText("d1"))
		h.wantStatus(ref, mess.InProgress)
	})
}

// A resident confirms for others, unless the confirmation needs an operator.
func TestResidentConfirmsForOthers(t *testing.T) {
	resident := exchange.Actor{ID: "ana", Roles: exchange.Requester | exchange.Observer | exchange.Resident}
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation(valve, "")
		h.send(resident, "reply: {re: "+ref+", confirm: true}")
		h.wantStatus(ref, mess.Claimed)
	})
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation(valve, ", confirm_by: operator")
		h.wantError(resident, "reply: {re: "+ref+", confirm: true}", mess.Forbidden, "role operator")
		h.wantStatus(ref, mess.NeedsConfirmation)
		h.send(resident, "cancel: {re: "+ref+"}")
		h.wantStatus(ref, mess.Cancelled)
	})
}

// A thread has had two questions: a confirmation that names only the thread is ambiguous. A
// confirmation must name the open question or the digest of its plan.
func TestConfirmationMustNameQuestion(t *testing.T) {
	bare, other := "reply: {re: {ref}, confirm: true}", "re: {ref}/question-004\nMESS: [{reply: {confirm: true}}]"
	for _, c := range []struct {
		name, answer string
		why          mess.ErrorCode // "" if the exchange accepts the answer
		wantText     string
		status       mess.Code // afterwards
	}{
		{"the same yes again", bare, mess.Conflict, "{ref}/question-004", mess.NeedsConfirmation},
		{"the yes to the first question again", "reply: {re: {ref}/question-002, confirm: true}", "", "", mess.NeedsConfirmation},
		{"a no to the first question", "reply: {re: {ref}/question-002, confirm: false}", mess.StaleToken, "{ref}/question-004", mess.NeedsConfirmation},
		{"the first plan's digest again", "reply: {re: {ref}, confirm: true, action_hash: d1}", "", "", mess.NeedsConfirmation},
		{"a digest that no question had", "reply: {re: {ref}, confirm: true, action_hash: d3}", mess.StaleToken, "{ref}/question-004", mess.NeedsConfirmation},
		{"an answer to the thread", "answer: {re: {ref}, value: true}", mess.Conflict, "{ref}/question-004", mess.NeedsConfirmation},
		{"a no to the thread", "reply: {re: {ref}, confirm: false}", "", "", mess.NeedsConfirmation},
		{"the question by its ref", "reply: {re: {ref}/question-004, confirm: true}", "", "", mess.Claimed},
		{"the question by the message's re", other, "", "", mess.Claimed},
		{"an answer that names the question", "re: {ref}\nMESS: [{answer: {re: {ref}/question-004, value: true}}]", "", "", mess.Claimed},
		{"the plan by its digest", "reply: {re: {ref}, confirm: true, action_hash: d2}", "", "", mess.Claimed},
	} {
		t.Run(c.name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				ref := h.openConfirmation(valve, "")
				h.send(agent, replaceRef(bare, ref))
				h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_confirmation, action: close all, action_hash: d2}}]")
				if c.why == "" {
					h.send(agent, replaceRef(c.answer, ref))
				} else {
					h.wantError(agent, replaceRef(c.answer, ref), c.why, replaceRef(c.wantText, ref))
				}
				h.wantStatus(ref, c.status)
				startText := "re: " + ref + "\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d2}}]"
				if c.status == mess.Claimed {
					h.send(kitchen, startText)
				} else {
					h.wantError(kitchen, startText, mess.Unconfirmed)
				}
			})
		})
	}
}

// The exchange accepts a repeated confirmation and does not store it again, whatever status the
// thread has now.
func TestRepeatedConfirmationIsAccepted(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation(valve, "")
		confirmation := "reply: {re: " + ref + ", confirm: true}"
		h.send(agent, confirmation)
		n := len(h.thread(ref).Messages)
		h.send(agent, confirmation)
		h.send(agent, "reply: {re: "+ref+"/question-002, confirm: true}")
		if got := len(h.thread(ref).Messages); got != n {
			t.Errorf("a repeated confirmation was stored: %d messages, want %d", got, n)
		}
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d1}}]")
		h.send(agent, confirmation)
		h.wantStatus(ref, mess.InProgress)
	})
}

func TestStartNeedsConfirmedPlan(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation(valve, "")
		h.send(agent, "reply: {re: "+ref+", confirm: true}")
		h.wantError(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.Unconfirmed, "action_hash")
		h.wantStatus(ref, mess.Claimed)
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d1}}]")
		// A second plan during the task needs its own confirmation.
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_confirmation, action: close all, action_hash: d2}}]")
		h.wantError(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d2}}]", mess.Unconfirmed, "confirmation is missing")
		h.send(agent, "reply: {re: "+ref+", confirm: true, action_hash: d2}")
		h.wantStatus(ref, mess.InProgress)
	})
}

func TestConfirmationEndsWithClaim(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation(valve, "")
		h.send(agent, "reply: {re: "+ref+", confirm: true}")
		h.advance(time.Minute) // the lease ends
		h.wantStatus(ref, mess.Pending)
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.wantError(kitchen, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress, action_hash: d1}}]", mess.Unconfirmed)
	})
}

func TestDeclinedConfirmationEndsThread(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation(valve, "")
		h.send(agent, "reply: {re: "+ref+", confirm: false, reason: not now}")
		h.wantError(kitchen, "re: "+ref+"\nMESS: [{status: {code: in_progress, action_hash: d1}}]", mess.Unconfirmed, "rejected it")
		h.send(kitchen, "re: "+ref+"\nMESS: [{status: {code: cancelled}}]")
		h.wantStatus(ref, mess.Cancelled)
	})
}

func TestSomeConfirmationsNeedPerson(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation("request: {intent: open the garage}", ", confirm_by: operator")
		h.wantError(agent, "reply: {re: "+ref+", confirm: true}", mess.Forbidden, "operator")
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		h.wantStatus(ref, mess.Claimed)
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
			withHarness(t, func(h *harness) {
				h.register(kitchen, "vacuum-floor")
				ref := h.send(agent, "request: {id: spill, intent: vacuum the spill}").Ref
				h.send(kitchen, "status: {re: "+ref+", code: claimed}")
				h.wantError(agent, "reply: {re: "+ref+", answers: {location: both}}", mess.IllegalTransition)
				h.send(kitchen, "status: {re: "+ref+", code: needs_input, questions: [{field: location, question: which, options: [sink, stove, both]}]}")
				h.wantStatus(ref, mess.NeedsInput)
				sub := h.subscribe(kitchen, "")
				sub.events()
				h.send(agent, replaceRef(c.answer, ref))
				h.wantStatus(ref, mess.InProgress)
				if got := sub.events(); len(got) != 1 {
					t.Errorf("events of the executor are %q, want the answer", got)
				}
				if th := h.thread(ref); th.Phase != "" {
					t.Errorf("the answer has taken the thread past the start gate: phase %q", th.Phase)
				}
				h.advance(2 * time.Minute) // so the lease still counts
				h.wantStatus(ref, mess.Pending)
			})
		})
	}
}

// An answer that names a question of before is none to the one that is open, also
// where both ask for the same field.
func TestAnswerToEarlierQuestionLeavesOpenOne(t *testing.T) {
	const question = ", code: needs_input, questions: [{field: where, question: where}]}"
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
			withHarness(t, func(h *harness) {
				h.register(kitchen, "x")
				ref := h.send(agent, "request: {intent: look}").Ref
				h.send(kitchen, "status: {re: "+ref+", code: claimed}")
				h.send(kitchen, "status: {re: "+ref+question)
				h.send(agent, "reply: {re: "+ref+", answers: {where: left}}")
				h.send(kitchen, "status: {re: "+ref+question)
				if c.why == "" {
					h.send(agent, replaceRef(c.answer, ref))
					h.wantStatus(ref, mess.InProgress)
					return
				}
				h.wantError(agent, replaceRef(c.answer, ref), c.why, "the open one is "+ref+"/question-004-where")
				h.wantStatus(ref, mess.NeedsInput)
			})
		})
	}
}

// Of two questions in two messages, the answer to one leaves the other open.
func TestAnswerToOneQuestionLeavesOther(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "x")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		for range 2 {
			h.send(kitchen, "status: {re: "+ref+", code: needs_input, questions: [{field: where, question: where}]}")
		}
		h.send(agent, "reply: {re: "+ref+"/question-002-where, answers: {where: left}}")
		h.wantStatus(ref, mess.NeedsInput)
		h.wantError(agent, "reply: {re: "+ref+"/question-002-where, answers: {where: right}}", mess.StaleToken)
		h.send(agent, "reply: {re: "+ref+"/question-003-where, answers: {where: right}}")
		h.wantStatus(ref, mess.InProgress)
	})
}

func TestCancelBeforeAndAfterStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "vacuum-floor")
		early := h.send(agent, "request: {intent: vacuum}").Ref
		h.send(kitchen, "status: {re: "+early+", code: claimed}")
		h.send(agent, "cancel: {re: "+early+", reason: never mind}")
		h.wantStatus(early, mess.Cancelled)
		h.wantError(kitchen, "re: "+early+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.IllegalTransition)
		h.send(agent, "cancel: {re: "+early+"}") // again is no mistake

		late := h.send(agent, "request: {id: late, intent: vacuum}").Ref
		h.send(kitchen, "status: {re: "+late+", code: claimed}")
		h.send(kitchen, "re: "+late+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]")
		sub := h.subscribe(kitchen, "")
		sub.events()
		if ack := h.send(agent, "cancel: {re: last}"); ack.Status != mess.InProgress {
			t.Errorf("the cancel of what has begun is acked with %s, want in_progress", ack.Status)
		}
		if got := sub.events(); len(got) != 1 || got[0] != "message "+late+" cancel" {
			t.Errorf("events of the executor are %q, want the cancel", got)
		}
		beat := h.send(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+late+", epoch: 1}]}}")
		if len(beat.Threads) != 1 || beat.Threads[0].Stop == nil || !*beat.Threads[0].Stop {
			t.Errorf("the heartbeat is answered with %+v, want stop", beat.Threads)
		}
		h.send(kitchen, "re: "+late+"\nepoch: 1\nMESS: [{status: {code: cancelled, reason: {type: cancelled, effect: partial}}}]")
		h.wantStatus(late, mess.Cancelled)
	})
}

func TestCancelOfSeveralThreads(t *testing.T) {
	withHarness(t, func(h *harness) {
		a := h.send(agent, "request: {id: a, intent: look}").Ref
		h.send(agent, "request: {id: b, intent: look}")
		m, err := h.post(agent, "cancel: {re: [a, b, c]}")
		if err != nil || len(m.Items) != 3 {
			t.Fatalf("%d acks, %v; want three", len(m.Items), err)
		}
		if e, ok := m.Items[2].(*mess.Ack).Extra.Get("error"); !ok {
			t.Errorf("the ack for the unknown thread has no error: %v", e)
		}
		h.wantStatus(a, mess.Cancelled)
	})
}

// The confirmation of a requester returns the thread to claimed, but the requester has no claim.
// The exchange rejects its reports before the start, after the start and after the end.
func TestConfirmingRequesterHasNoClaim(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.openConfirmation(valve, "")
		h.send(agent, "reply: {re: valve, confirm: true}")
		forged := func() {
			h.t.Helper()
			for _, what := range []string{
				"status: {re: " + ref + ", code: completed}", "status: {re: " + ref + ", code: failed, reason: {type: other, detail: forged}}",
				"status: {re: " + ref + ", code: in_progress}", "response: {re: " + ref + ", content: [forged]}",
			} {
				if _, err := h.post(agent, what); err == nil {
					h.t.Errorf("post by %s of %s succeeds, want an error", agent.ID, what)
				}
			}
		}
		forged()
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d1}}]")
		forged()
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: failed, reason: {type: other, detail: stuck}}}]")
		forged()
	})
}
