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
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo, check-visual")
		executor, requester := h.subscribe(kitchen, ""), h.subscribe(agent, "")

		ack := h.send(agent, "request: {id: Fridge check, intent: look into the fridge, requires: [take-photo]}")
		ref := ack.Ref
		if ref != time.Now().Format(time.DateOnly)+"-001-fridge-check" || ack.Status != mess.Pending || len(ack.Re) != 1 || ack.Re[0] != "Fridge check" {
			t.Errorf("ack = %+v", ack)
		}
		claim := h.send(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed, estimate: PT10S}}]")
		if claim.Ref != ref+"/claim-001" || claim.Epoch != 1 || claim.Lease != "30s" || claim.Status != mess.Claimed {
			t.Errorf("ack of the claim = %+v", claim)
		}
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, progress_pct: 40}}]")
		done := h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: completed, evidence: photographed}}, {response: {id: inventory, content: [Milk and eggs.]}}]")
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
		if diff := cmp.Diff([]string{"offer " + ref + " request"}, executor.events()[:1]); diff != "" {
			t.Errorf("events of the executor (-want +got):\n%s", diff)
		}
		events := []string{
			"message " + ref + " request", "message " + ref + " status:claimed",
			"message " + ref + " status:in_progress", "message " + ref + " status:completed response",
		}
		if diff := cmp.Diff(events, requester.events()); diff != "" {
			t.Errorf("events of the requester (-want +got):\n%s", diff)
		}
		h.wantError(kitchen, "re: "+ref+"\nMESS: [{status: {code: claimed}}]", mess.IllegalTransition)
	})
}

func TestResponseAloneCompletes(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "response: {re: "+ref+", content: [done]}")
		h.wantStatus(ref, mess.Completed)
	})
}

func TestOneOfManyClaimsSucceeds(t *testing.T) {
	withHarness(t, func(h *harness) {
		const n = 20
		var pis []exchange.Actor
		for i := range n {
			pi := exchange.Actor{ID: "pi-" + string(rune('a'+i)), Roles: exchange.ExecutorRole}
			h.register(pi, "take-photo")
			pis = append(pis, pi)
		}
		ref := h.send(agent, "request: {intent: look}").Ref
		errs := make([]error, n)
		var g sync.WaitGroup
		for i, pi := range pis {
			g.Go(func() { _, errs[i] = h.post(pi, "status: {re: "+ref+", code: claimed}") })
		}
		g.Wait()
		won := 0
		for i, err := range errs {
			if err == nil {
				won++
				if holder := h.thread(ref).Executor; holder != pis[i].ID {
					t.Errorf("the exchange accepted the claim of %s, and %s has it", pis[i].ID, holder)
				}
			}
		}
		if won != 1 {
			t.Errorf("%d claims won, want 1", won)
		}
		for i, pi := range pis {
			if errs[i] != nil {
				h.wantError(pi, "status: {re: "+ref+", code: claimed}", mess.AlreadyClaimed, "has claimed it")
			}
		}
	})
}

func TestOnlyPartiesActOnThread(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		h.register(garage, "take-photo")
		ref := h.send(agent, "request: {intent: look, requires: [take-photo]}").Ref
		h.wantError(stranger, "status: {re: "+ref+", code: claimed}", mess.NotFound)
		h.wantError(agent, "status: {re: "+ref+", code: claimed}", mess.Forbidden)
		h.wantError(kitchen, "status: {re: "+ref+", code: completed}", mess.IllegalTransition, "claimed")
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.wantError(garage, "status: {re: "+ref+", code: claimed}", mess.AlreadyClaimed, "kitchen-pi")
		h.wantError(garage, "status: {re: "+ref+", code: in_progress}", mess.NotFound)
		h.wantError(garage, "response: {re: "+ref+", content: [ha]}", mess.NotFound)
		h.wantError(other, "cancel: {re: "+ref+"}", mess.NotFound)
		h.wantError(kitchen, "cancel: {re: "+ref+"}", mess.Forbidden)
		h.wantError(kitchen, "status: {re: "+ref+", code: cancelled}", mess.IllegalTransition, "no requester has cancelled")
		h.wantError(kitchen, "request: {intent: mine}", mess.Forbidden, "role requester")
		h.wantError(agent, "ack: {re: x, ref: y}", mess.Invalid)
		if _, err := h.x.Thread(h.t.Context(), other, ref); err == nil {
			t.Error("another requester reads the thread")
		}
		for _, actor := range []exchange.Actor{agent, kitchen, person, watcher} {
			if _, err := h.x.Thread(h.t.Context(), actor, ref); err != nil {
				t.Errorf("%s: %v", actor.ID, err)
			}
		}
		if p, err := h.x.List(h.t.Context(), other, exchange.Filter{}); err != nil || len(p.Threads) != 0 {
			t.Errorf("another requester lists %d threads, %v", len(p.Threads), err)
		}
	})
}

func TestErrorListsAllowedCodes(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.send(kitchen, "status: {re: "+ref+", code: in_progress}")
		r := h.wantError(kitchen, "status: {re: "+ref+", code: claimed}", mess.IllegalTransition)
		if r.Ref != ref || r.Status != mess.InProgress || r.Holder != "kitchen-pi" {
			t.Errorf("refusal = %+v", r)
		}
		if len(r.Allowed) == 0 {
			t.Error("the refusal names no legal step")
		}
	})
}

func TestDuplicateRequestHasOneThread(t *testing.T) {
	withHarness(t, func(h *harness) {
		first := h.send(agent, "request: {id: a, intent: look}").Ref
		if again := h.send(agent, "request: {id: a, intent: look}").Ref; again != first {
			t.Errorf("again: %s, want %s", again, first)
		}
		r := h.wantError(agent, "request: {id: a, intent: look elsewhere}", mess.Conflict, "an id of its own")
		if r.Ref != first {
			t.Errorf("the refusal names %q, want %s", r.Ref, first)
		}
		if second := h.send(other, "request: {id: a, intent: look}").Ref; second == first {
			t.Error("two requesters with the same id share a thread")
		}
		h.send(agent, "cancel: {re: "+first+"}")
		if again := h.send(agent, "request: {id: a, intent: look}"); again.Ref != first || again.Status != mess.Cancelled {
			t.Errorf("after the end: %s %s, want %s %s", again.Ref, again.Status, first, mess.Cancelled)
		}
	})
}

func TestDuplicateMessageIsStoredOnce(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		claim := "id: m1\nre: " + ref + "\nMESS: [{status: {code: claimed}}]"
		done := "id: m2\nre: " + ref + "\nepoch: 1\nMESS: [{status: {code: completed}}, {response: {content: [ok]}}]"
		first, second := h.send(kitchen, claim), h.send(kitchen, claim)
		if first.Ref != second.Ref || second.Epoch != 1 {
			t.Errorf("the claim again: %+v, want the answer of the first: %+v", second, first)
		}
		h.send(kitchen, done)
		n := len(h.thread(ref).Messages)
		if again := h.send(kitchen, done); again.Ref != ref+"/response-002" || again.Status != mess.Completed {
			t.Errorf("the end again: %+v", again)
		}
		if got := len(h.thread(ref).Messages); got != n {
			t.Errorf("the end again was stored again: %d messages, want %d", got, n)
		}
	})
}

func TestSeveralRequestsInOneMessage(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "cook")
		// The second comes before the first, which it depends on.
		ack := h.send(agent, `[
			{"request": {"id": "dice", "intent": "dice the onions", "constraints": {"depends_on": ["buy"]}}},
			{"request": {"id": "buy", "intent": "buy onions"}}]`)
		if len(ack.Requests) != 2 || ack.Requests[0].ID != "dice" || ack.Requests[1].ID != "buy" {
			t.Fatalf("ack = %+v", ack)
		}
		dice, buy := ack.Requests[0].Ref, ack.Requests[1].Ref
		h.wantError(kitchen, "status: {re: "+dice+", code: claimed}", mess.NotYet, buy)
		sub := h.subscribe(kitchen, "")
		h.send(kitchen, "status: {re: "+buy+", code: claimed}")
		h.send(kitchen, "response: {re: "+buy+", content: [bought]}")
		h.advance(time.Second)
		if events := sub.events(); events[len(events)-1] != "offer "+dice+" request" {
			t.Errorf("events are %q, want the offer of %s at the end", events, dice)
		}
		h.send(kitchen, "status: {re: "+dice+", code: claimed}")

		h.wantError(agent, `[{"request": {"id": "x", "intent": "x", "constraints": {"depends_on": ["y"]}}},
			{"request": {"id": "y", "intent": "y", "constraints": {"depends_on": ["x"]}}}]`, mess.Invalid, "depends on itself")
		h.wantError(agent, "request: {intent: x, constraints: {depends_on: [nothing]}}", mess.MissingReference, `"nothing"`)
	})
}

func TestFailedDependencyEndsDependents(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "cook")
		first := h.send(agent, "request: {id: first, intent: buy}").Ref
		second := h.send(agent, "request: {id: second, intent: cook, constraints: {depends_on: [first]}}").Ref
		h.send(kitchen, "status: {re: "+first+", code: claimed}")
		h.send(kitchen, "status: {re: "+first+", code: failed, reason: no money}")
		h.advance(time.Second)
		h.wantStatus(second, mess.Failed)
		if s := h.lastStatus(second); s.Reason.Effect != mess.EffectNone || s.Reason.Type != "dependency" {
			t.Errorf("reason = %+v", s.Reason)
		}
		third := h.send(agent, "request: {intent: cook, constraints: {depends_on: ["+first+"]}}").Ref
		h.advance(time.Second)
		h.wantStatus(third, mess.Failed)
	})
}

func TestNewSubscriberGetsOpenEvents(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		waiting := h.send(agent, "request: {intent: look here}").Ref
		asked := h.send(agent, "request: {intent: look there}").Ref
		h.send(kitchen, "status: {re: "+asked+", code: claimed}")
		h.send(kitchen, "status: {re: "+asked+", code: needs_input, questions: [{field: where, question: where}]}")
		h.send(agent, "reply: {re: "+asked+", answers: {where: left}}")
		sub := h.subscribe(kitchen, "")
		want := []string{"offer " + waiting + " request", "message " + asked + " reply"}
		if diff := cmp.Diff(want, sub.events()); diff != "" {
			t.Errorf("events of a new subscriber (-want +got):\n%s", diff)
		}
	})
}

func TestEventsResumeAfterID(t *testing.T) {
	withHarness(t, func(h *harness) {
		sub := h.subscribe(agent, "")
		h.send(agent, "request: {id: a, intent: look}")
		id := sub.list[0].ID
		sub.stop()
		h.send(agent, "request: {id: b, intent: look}")
		h.send(other, "request: {id: c, intent: look}")
		resumed := h.subscribe(agent, id)
		if got := resumed.events(); len(got) != 1 || got[0] != "message "+time.Now().Format(time.DateOnly)+"-002-b request" {
			t.Errorf("resumed with %q, want what came after", got)
		}
		if got := h.subscribe(agent, "gone-17").events(); len(got) != 1 || got[0] != "reset " {
			t.Errorf("resumed after an event of another run with %q, want a reset", got)
		}
		for range 1500 {
			h.send(other, "request: {intent: look}")
		}
		if got := h.subscribe(agent, id).events(); len(got) != 1 || got[0] != "reset " {
			t.Errorf("resumed after too long with %q, want a reset", got)
		}
	})
}

func TestSlowSubscriberIsDisconnected(t *testing.T) {
	withHarness(t, func(h *harness) {
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
			h.send(agent, "request: {intent: look}")
		}
		close(wait)
		if err := <-ended; err != exchange.ErrSlow {
			t.Fatalf("Follow: %v, want ErrSlow", err)
		}
		if got := len(h.subscribe(agent, last).events()); got != 300-257 {
			t.Errorf("%d events after the resume, want the %d missed ones", got, 300-257)
		}
	})
}

// An actor without access to a thread gets the same errors as for an unknown thread, at each status
// of the thread.
func TestInvisibleThreadsLookUnknown(t *testing.T) {
	for _, wantStatus := range []mess.Code{mess.Pending, mess.InProgress, mess.Completed} {
		t.Run(string(wantStatus), func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.register(kitchen, "take-photo")
				h.register(garage, "swim")
				ref := h.send(agent, "request: {id: mine, intent: look, requires: [take-photo]}").Ref
				if wantStatus != mess.Pending {
					h.send(kitchen, "status: {re: "+ref+", code: claimed}")
					h.send(kitchen, "status: {re: "+ref+", code: in_progress}")
				}
				if wantStatus == mess.Completed {
					h.send(kitchen, "status: {re: "+ref+", code: completed}")
				}
				const none = "2000-01-01-999-mine"
				for _, text := range []string{
					"cancel: {re: {ref}}", "cancel: {re: {ref}/question-002}", "reply: {re: {ref}, confirm: true}", "reply: {re: {ref}, answers: {a: b}}",
					"answer: {re: {ref}, value: a}", "status: {re: {ref}, code: completed}", "status: {re: {ref}, code: claimed}",
					"response: {re: {ref}, content: [x]}", "suggestion: {re: [{ref}], type: merge}", "re: {ref}\nMESS: [{note: x}]",
					"query: {type: status, filter: {re: {ref}}}", "request: {intent: after it, constraints: {depends_on: [{ref}]}}",
				} {
					for _, actor := range []exchange.Actor{other, garage} {
						_, got := h.post(actor, replaceRef(text, ref))
						_, want := h.post(actor, replaceRef(text, none))
						g, ok1 := errors.AsType[*mess.Error](got)
						w, ok2 := errors.AsType[*mess.Error](want)
						if !ok1 || !ok2 {
							t.Fatalf("post by %s of %s: %v, and for a missing thread: %v", actor.ID, text, got, want)
						}
						w.Text = strings.ReplaceAll(w.Text, none, ref)
						if diff := cmp.Diff(w, g); diff != "" {
							t.Errorf("post by %s of %s: differs from the error for a missing thread (-want +got):\n%s", actor.ID, text, diff)
						}
					}
				}
				_, got := h.x.Thread(h.t.Context(), other, ref)
				_, want := h.x.Thread(h.t.Context(), other, none)
				if got.Error() != strings.ReplaceAll(want.Error(), none, ref) {
					t.Errorf("error of a read is %v, want %v", got, want)
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
	withHarness(t, func(h *harness) {
		for _, id := range []string{"last", "2026-11-21-001", "2026-11-21-001-fridge", "2026-11-21-001/question-002"} {
			h.wantError(agent, "request: {id: "+id+", intent: look}", mess.Invalid, "request.id", "choose another")
		}
		for _, id := range []string{"42", "at-last", "2026-11-21-report", "request-ab-5", "2026-11-21"} {
			h.send(agent, "request: {id: "+id+", intent: look}")
		}
		h.wantError(agent, "[{request: {id: a, intent: look}}, {request: {id: last, intent: look}}]", mess.Invalid)
		if p, err := h.x.List(h.t.Context(), agent, exchange.Filter{}); err != nil || len(p.Threads) != 5 {
			t.Errorf("%d threads, %v; want the five: nothing of a refused message is taken", len(p.Threads), err)
		}
	})
}
