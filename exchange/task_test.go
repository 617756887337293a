package exchange_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

func TestTaskFromRequestToResponse(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo, check-visual")
		cam, asker := h.listens(kitchen, ""), h.listens(agent, "")

		ack := h.says(agent, "request: {id: Fridge check, intent: look into the fridge, requires: [take-photo]}")
		ref := ack.Ref
		if ref != time.Now().Format(time.DateOnly)+"-001-fridge-check" || ack.Status != mess.Pending || len(ack.Re) != 1 || ack.Re[0] != "Fridge check" {
			t.Errorf("ack = %+v", ack)
		}
		claim := h.says(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed, estimate: PT10S}}]")
		if claim.Ref != ref+"/claim-001" || claim.Epoch != 1 || claim.Lease != "30s" || claim.Status != mess.Claimed {
			t.Errorf("ack of the claim = %+v", claim)
		}
		h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, progress_pct: 40}}]")
		done := h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: completed, evidence: photographed}}, {response: {id: inventory, content: [Milk and eggs.]}}]")
		if done.Ref != ref+"/response-003-inventory" || done.Status != mess.Completed {
			t.Errorf("ack of the response = %+v", done)
		}

		got := h.thread(ref)
		var actions []string
		for _, e := range got.History {
			actions = append(actions, e.Action+" by "+e.By)
		}
		want := []string{"created by claude-agent", "dispatched by exchange", "claimed by kitchen-pi", "in_progress by kitchen-pi", "completed by kitchen-pi"}
		if diff := cmp.Diff(want, actions); diff != "" {
			t.Errorf("history (-want +got):\n%s", diff)
		}
		if len(got.Messages) != 8 {
			t.Errorf("%d messages, want four with an ack each", len(got.Messages))
		}
		if diff := cmp.Diff([]string{"offer " + ref + " request"}, cam.heard()[:1]); diff != "" {
			t.Errorf("the executor heard (-want +got):\n%s", diff)
		}
		heard := []string{
			"message " + ref + " request", "message " + ref + " status:claimed",
			"message " + ref + " status:in_progress", "message " + ref + " status:completed response",
		}
		if diff := cmp.Diff(heard, asker.heard()); diff != "" {
			t.Errorf("the requester heard (-want +got):\n%s", diff)
		}
		h.refuses(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed}}]", mess.IllegalTransition)
	})
}

func TestResponseAloneCompletes(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		ref := h.says(agent, "request: {intent: look}").Ref
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.says(kitchen, "response: {re: "+ref+", content: [done]}")
		h.is(ref, mess.Completed)
	})
}

func TestOneOfManyClaimsSucceeds(t *testing.T) {
	inHouse(t, func(h *house) {
		const n = 20
		var pis []exchange.Actor
		for i := range n {
			pi := exchange.Actor{ID: "pi-" + string(rune('a'+i)), Roles: exchange.ExecutorRole}
			h.registers(pi, "take-photo")
			pis = append(pis, pi)
		}
		ref := h.says(agent, "request: {intent: look}").Ref
		errs := make([]error, n)
		var g sync.WaitGroup
		for i, pi := range pis {
			g.Go(func() { _, errs[i] = h.try(pi, "status: {re: "+ref+", code: claimed}") })
		}
		g.Wait()
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
				if holder := h.thread(ref).Executor; holder != pis[i].ID {
					t.Errorf("%s was told yes, and %s holds the claim", pis[i].ID, holder)
				}
			}
		}
		if won != 1 {
			t.Errorf("%d claims won, want 1", won)
		}
		for i, pi := range pis {
			if errs[i] != nil {
				h.refuses(pi, "status: {re: "+ref+", code: claimed}", mess.AlreadyClaimed, "has claimed it")
			}
		}
	})
}

func TestOnlyPartiesActOnThread(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		h.registers(garage, "take-photo")
		ref := h.says(agent, "request: {intent: look, requires: [take-photo]}").Ref
		h.refuses(stranger, "status: {re: "+ref+", code: claimed}", mess.NotFound)
		h.refuses(agent, "status: {re: "+ref+", code: claimed}", mess.Forbidden)
		h.refuses(kitchen, "status: {re: "+ref+", code: completed}", mess.IllegalTransition, "claimed")
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.refuses(garage, "status: {re: "+ref+", code: claimed}", mess.AlreadyClaimed, "kitchen-pi")
		h.refuses(garage, "status: {re: "+ref+", code: in_progress}", mess.NotFound)
		h.refuses(garage, "response: {re: "+ref+", content: [ha]}", mess.NotFound)
		h.refuses(other, "cancel: {re: "+ref+"}", mess.NotFound)
		h.refuses(kitchen, "cancel: {re: "+ref+"}", mess.Forbidden)
		h.refuses(kitchen, "status: {re: "+ref+", code: cancelled}", mess.IllegalTransition, "nobody has cancelled")
		h.refuses(kitchen, "request: {intent: mine}", mess.Forbidden, "role requester")
		h.refuses(agent, "ack: {re: x, ref: y}", mess.Invalid)
		if _, err := h.x.Thread(h.t.Context(), other, ref); err == nil {
			t.Error("another requester reads the thread")
		}
		for _, who := range []exchange.Actor{agent, kitchen, person, watcher} {
			if _, err := h.x.Thread(h.t.Context(), who, ref); err != nil {
				t.Errorf("%s: %v", who.ID, err)
			}
		}
		if p, err := h.x.List(h.t.Context(), other, exchange.Filter{}); err != nil || len(p.Threads) != 0 {
			t.Errorf("another requester lists %d threads, %v", len(p.Threads), err)
		}
	})
}

func TestErrorListsAllowedCodes(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		ref := h.says(agent, "request: {intent: look}").Ref
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.says(kitchen, "status: {re: "+ref+", code: in_progress}")
		r := h.refuses(kitchen, "status: {re: "+ref+", code: claimed}", mess.IllegalTransition)
		if r.Ref != ref || r.Status != mess.InProgress || r.Holder != "kitchen-pi" {
			t.Errorf("refusal = %+v", r)
		}
		if len(r.Allowed) == 0 {
			t.Error("the refusal names no legal step")
		}
	})
}

func TestDuplicateRequestHasOneThread(t *testing.T) {
	inHouse(t, func(h *house) {
		first := h.says(agent, "request: {id: a, intent: look}").Ref
		if again := h.says(agent, "request: {id: a, intent: look}").Ref; again != first {
			t.Errorf("again: %s, want %s", again, first)
		}
		r := h.refuses(agent, "request: {id: a, intent: look elsewhere}", mess.Conflict, "an id of its own")
		if r.Ref != first {
			t.Errorf("the refusal names %q, want %s", r.Ref, first)
		}
		if second := h.says(other, "request: {id: a, intent: look}").Ref; second == first {
			t.Error("two requesters with the same id share a thread")
		}
	})
}

func TestDuplicateMessageIsStoredOnce(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		ref := h.says(agent, "request: {intent: look}").Ref
		claim := "id: m1\nre: " + ref + "\nMESS: [{status: {code: claimed}}]"
		done := "id: m2\nre: " + ref + "\nepoch: 1\nMESS: [{status: {code: completed}}, {response: {content: [ok]}}]"
		first, second := h.says(kitchen, claim), h.says(kitchen, claim)
		if first.Ref != second.Ref || second.Epoch != 1 {
			t.Errorf("the claim again: %+v, want the answer of the first: %+v", second, first)
		}
		h.says(kitchen, done)
		n := len(h.thread(ref).Messages)
		if again := h.says(kitchen, done); again.Ref != ref+"/response-002" || again.Status != mess.Completed {
			t.Errorf("the end again: %+v", again)
		}
		if got := len(h.thread(ref).Messages); got != n {
			t.Errorf("the end again was stored again: %d messages, want %d", got, n)
		}
	})
}

func TestSeveralRequestsInOneMessage(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "cook")
		// The second stands before the first that it depends on.
		ack := h.says(agent, `[
			{"request": {"id": "dice", "intent": "dice the onions", "constraints": {"depends_on": ["buy"]}}},
			{"request": {"id": "buy", "intent": "buy onions"}}]`)
		if len(ack.Requests) != 2 || ack.Requests[0].ID != "dice" || ack.Requests[1].ID != "buy" {
			t.Fatalf("ack = %+v", ack)
		}
		dice, buy := ack.Requests[0].Ref, ack.Requests[1].Ref
		h.refuses(kitchen, "status: {re: "+dice+", code: claimed}", mess.NotYet, buy)
		ear := h.listens(kitchen, "")
		h.says(kitchen, "status: {re: "+buy+", code: claimed}")
		h.says(kitchen, "response: {re: "+buy+", content: [bought]}")
		h.after(time.Second)
		if heard := ear.heard(); heard[len(heard)-1] != "offer "+dice+" request" {
			t.Errorf("heard %q, want the offer of %s at last", heard, dice)
		}
		h.says(kitchen, "status: {re: "+dice+", code: claimed}")

		h.refuses(agent, `[{"request": {"id": "x", "intent": "x", "constraints": {"depends_on": ["y"]}}},
			{"request": {"id": "y", "intent": "y", "constraints": {"depends_on": ["x"]}}}]`, mess.Invalid, "depends on itself")
		h.refuses(agent, "request: {intent: x, constraints: {depends_on: [nothing]}}", mess.MissingReference, `"nothing"`)
	})
}

func TestFailedDependencyEndsDependents(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "cook")
		first := h.says(agent, "request: {id: first, intent: buy}").Ref
		second := h.says(agent, "request: {id: second, intent: cook, constraints: {depends_on: [first]}}").Ref
		h.says(kitchen, "status: {re: "+first+", code: claimed}")
		h.says(kitchen, "status: {re: "+first+", code: failed, reason: no money}")
		h.after(time.Second)
		h.is(second, mess.Failed)
		if s := h.lastStatus(second); s.Reason.Effect != mess.EffectNone || s.Reason.Type != "dependency" {
			t.Errorf("reason = %+v", s.Reason)
		}
		third := h.says(agent, "request: {intent: cook, constraints: {depends_on: ["+first+"]}}").Ref
		h.after(time.Second)
		h.is(third, mess.Failed)
	})
}

func TestNewSubscriberGetsOpenEvents(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		waiting := h.says(agent, "request: {intent: look here}").Ref
		asked := h.says(agent, "request: {intent: look there}").Ref
		h.says(kitchen, "status: {re: "+asked+", code: claimed}")
		h.says(kitchen, "status: {re: "+asked+", code: needs_input, questions: [{field: where, question: where}]}")
		h.says(agent, "reply: {re: "+asked+", answers: {where: left}}")
		ear := h.listens(kitchen, "")
		want := []string{"offer " + waiting + " request", "message " + asked + " reply"}
		if diff := cmp.Diff(want, ear.heard()); diff != "" {
			t.Errorf("one who comes in anew hears (-want +got):\n%s", diff)
		}
	})
}

func TestEventsResumeAfterID(t *testing.T) {
	inHouse(t, func(h *house) {
		ear := h.listens(agent, "")
		h.says(agent, "request: {id: a, intent: look}")
		id := ear.events[0].ID
		ear.stop()
		h.says(agent, "request: {id: b, intent: look}")
		h.says(other, "request: {id: c, intent: look}")
		resumed := h.listens(agent, id)
		if got := resumed.heard(); len(got) != 1 || got[0] != "message "+time.Now().Format(time.DateOnly)+"-002-b request" {
			t.Errorf("resumed with %q, want what came after", got)
		}
		if got := h.listens(agent, "gone-17").heard(); len(got) != 1 || got[0] != "reset " {
			t.Errorf("resumed after an event of another run with %q, want a reset", got)
		}
		for range 1500 {
			h.says(other, "request: {intent: look}")
		}
		if got := h.listens(agent, id).heard(); len(got) != 1 || got[0] != "reset " {
			t.Errorf("resumed after too long with %q, want a reset", got)
		}
	})
}

func TestSlowSubscriberIsDisconnected(t *testing.T) {
	inHouse(t, func(h *house) {
		ctx, cancel := context.WithCancel(h.t.Context())
		defer cancel()
		var last string
		wait := make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- h.x.Follow(ctx, agent, "", func(e exchange.Event) error {
				<-wait
				last = e.ID
				return nil
			})
		}()
		synctest.Wait()
		for range 300 {
			h.says(agent, "request: {intent: look}")
		}
		close(wait)
		if err := <-ended; err != exchange.ErrSlow {
			t.Fatalf("Follow: %v, want ErrSlow", err)
		}
		if got := len(h.listens(agent, last).heard()); got != 300-257 {
			t.Errorf("after it resumed it heard %d events, want the %d that it missed", got, 300-257)
		}
	})
}

// An actor without access to a thread gets the same errors as for an unknown thread, at each status
// of the thread.
func TestInvisibleThreadsLookUnknown(t *testing.T) {
	for _, stands := range []mess.Code{mess.Pending, mess.InProgress, mess.Completed} {
		t.Run(string(stands), func(t *testing.T) {
			inHouse(t, func(h *house) {
				h.registers(kitchen, "take-photo")
				h.registers(garage, "swim")
				ref := h.says(agent, "request: {id: mine, intent: look, requires: [take-photo]}").Ref
				if stands != mess.Pending {
					h.says(kitchen, "status: {re: "+ref+", code: claimed}")
					h.says(kitchen, "status: {re: "+ref+", code: in_progress}")
				}
				if stands == mess.Completed {
					h.says(kitchen, "status: {re: "+ref+", code: completed}")
				}
				const none = "2000-01-01-999-mine"
				for _, text := range []string{
					"cancel: {re: {ref}}", "cancel: {re: {ref}/question-002}", "reply: {re: {ref}, confirm: true}", "reply: {re: {ref}, answers: {a: b}}",
					"answer: {re: {ref}, value: a}", "status: {re: {ref}, code: completed}", "status: {re: {ref}, code: claimed}",
					"response: {re: {ref}, content: [x]}", "suggestion: {re: [{ref}], type: merge}", "re: {ref}\nMESS: [{note: x}]",
					"query: {type: status, filter: {re: {ref}}}", "request: {intent: after it, constraints: {depends_on: [{ref}]}}",
				} {
					for _, who := range []exchange.Actor{other, garage} {
						_, got := h.try(who, replaceRef(text, ref))
						_, want := h.try(who, replaceRef(text, none))
						g, ok1 := errors.AsType[*mess.Error](got)
						w, ok2 := errors.AsType[*mess.Error](want)
						if !ok1 || !ok2 {
							t.Fatalf("%s says %s: %v, and of one that is not there: %v", who.ID, text, got, want)
						}
						w.Text = strings.ReplaceAll(w.Text, none, ref)
						if diff := cmp.Diff(w, g); diff != "" {
							t.Errorf("%s says %s: not as if there were no such thread (-want +got):\n%s", who.ID, text, diff)
						}
					}
				}
				_, got := h.x.Thread(h.t.Context(), other, ref)
				_, want := h.x.Thread(h.t.Context(), other, none)
				if got.Error() != strings.ReplaceAll(want.Error(), none, ref) {
					t.Errorf("it is read: %v, want %v", got, want)
				}
				_, err := h.x.Attach(h.t.Context(), other, ref, "x", "", strings.NewReader("x"))
				if !errors.Is(err, mess.NotFound) {
					t.Errorf("a file is attached: %v", err)
				}
			})
		})
	}
}

// The exchange rejects a client id that could be a ref or "last".
func TestReservedClientIDsAreRejected(t *testing.T) {
	inHouse(t, func(h *house) {
		for _, id := range []string{"last", "2026-11-21-001", "2026-11-21-001-fridge", "2026-11-21-001/question-002"} {
			h.refuses(agent, "request: {id: "+id+", intent: look}", mess.Invalid, "request.id", "choose another")
		}
		for _, id := range []string{"42", "at-last", "2026-11-21-report", "request-ab-5", "2026-11-21"} {
			h.says(agent, "request: {id: "+id+", intent: look}")
		}
		h.refuses(agent, "[{request: {id: a, intent: look}}, {request: {id: last, intent: look}}]", mess.Invalid)
		if p, err := h.x.List(h.t.Context(), agent, exchange.Filter{}); err != nil || len(p.Threads) != 5 {
			t.Errorf("%d threads, %v; want the five: nothing of a refused message is taken", len(p.Threads), err)
		}
	})
}
