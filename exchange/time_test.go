package exchange_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

func TestLeaseEndsBeforeStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		h.register(garage, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.sendHeartbeats(kitchen, ref, "1", 5*time.Minute)
		h.wantStatus(ref, mess.Claimed) // heartbeats keep it
		h.advance(31 * time.Second)
		h.wantStatus(ref, mess.Pending)
		if ack := h.send(garage, "status: {re: "+ref+", code: claimed}"); ack.Epoch != 2 {
			t.Errorf("the second claim has epoch %d, want 2", ack.Epoch)
		}
		h.wantError(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.StaleToken, "epoch 1 is over")
		beat := h.send(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+ref+", epoch: 1}]}}")
		if len(beat.Threads) != 1 || *beat.Threads[0].Yours {
			t.Errorf("the old holder's heartbeat is answered with %+v, want yours: false", beat.Threads)
		}
		h.advance(31 * time.Second)
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.advance(31 * time.Second)
		h.wantStatus(ref, mess.Failed)
		if s := h.lastStatus(ref); s.Reason.Effect != mess.EffectNone {
			t.Errorf("after three lost claims: effect %q, want none", s.Reason.Effect)
		}
	})
}

func TestEarlierHolderIsFenced(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.advance(31 * time.Second)
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.wantError(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.StaleToken)
		h.send(kitchen, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress}}]")
	})
}

// startedThread makes a thread with a start permission, and returns its ref.
func (h *harness) startedThread(more string) string {
	h.t.Helper()
	h.register(kitchen, "take-photo")
	h.register(garage, "take-photo")
	ref := h.send(agent, "request: {intent: look}").Ref
	h.send(kitchen, "status: {re: "+ref+", code: claimed, estimate: PT1M}")
	h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress"+more+"}}]")
	return ref
}

func TestExecutorSilentAfterStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startedThread("")
		h.advance(31 * time.Second)
		h.wantStatus(ref, mess.Held)
		if s := h.lastStatus(ref); s.Reason == nil || s.Reason.Type != "executor_unreachable" {
			t.Errorf("held for %+v", s.Reason)
		}
		h.wantError(garage, "status: {re: "+ref+", code: claimed}", mess.AlreadyClaimed)
		h.send(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+ref+", epoch: 1}]}}")
		h.advance(time.Second)
		h.wantStatus(ref, mess.InProgress) // it is back
		h.advance(31 * time.Second)
		h.wantStatus(ref, mess.Held)
		h.advance(time.Hour)
		h.wantStatus(ref, mess.Failed)
		if s := h.lastStatus(ref); s.Reason.Effect != mess.EffectUnknown || *s.Recoverable || s.Suggestion == "" {
			t.Errorf("lost for good: %+v", s)
		}
		// The thread keeps a later report as evidence, and its status does not change (T14).
		late := h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: completed}}, {response: {content: [it is done]}}]")
		if late.Status != mess.Failed {
			t.Errorf("a late report is acked with %s, want failed", late.Status)
		}
		h.wantStatus(ref, mess.Failed)
	})
}

func TestIdempotentTaskIsOfferedAgain(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startedThread(", effect: query")
		h.advance(2 * time.Hour)
		h.wantStatus(ref, mess.Pending)
		if ack := h.send(garage, "status: {re: "+ref+", code: claimed}"); ack.Epoch != 2 {
			t.Errorf("epoch %d, want 2", ack.Epoch)
		}
	})
}

// A late report of an earlier holder does not carry the epoch of the present claim: its
// holder would take it for the end of that claim (T14).
func TestLateReportKeepsNextClaim(t *testing.T) {
	for _, epoch := range []string{"", "epoch: 1\n"} {
		withHarness(t, func(h *harness) {
			ref := h.startedThread(", effect: query")
			h.advance(2 * time.Hour)
			h.send(garage, "status: {re: "+ref+", code: claimed}")
			h.send(garage, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress}}]")
			sub := h.subscribe(garage, "")
			h.send(kitchen, "re: "+ref+"\n"+epoch+"MESS: [{status: {code: failed, reason: {detail: it died}}}]")
			h.wantStatus(ref, mess.InProgress)
			h.advance(time.Second)
			sub.mu.Lock()
			defer sub.mu.Unlock()
			events := false
			for _, e := range sub.list {
				m, ok := e.Delivery(garage.ID)
				if !ok || m.From != kitchen.ID {
					continue
				}
				events = true
				if m.Epoch >= 2 {
					t.Errorf("with %q the report has epoch %d", epoch, m.Epoch)
				}
			}
			if !events {
				t.Errorf("with %q the holder does not get the report", epoch)
			}
		})
	}
}

func TestReportEndsHeldStatus(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startedThread("")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Held)
		h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: completed}}, {response: {content: [ok]}}]")
		h.wantStatus(ref, mess.Completed)
	})
}

func TestPersonNeedsNoHeartbeat(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.send(garage, "config: {executor: {id: garage-pi, capabilities: [take-photo]}}")
		ref := h.send(agent, "request: {intent: look}").Ref
		h.send(garage, "status: {re: "+ref+", code: claimed}")
		h.advance(50 * time.Minute)
		h.wantStatus(ref, mess.Claimed)
		h.advance(11 * time.Minute)
		h.wantStatus(ref, mess.Pending)
	})
}

func TestTimesOfARequest(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		at := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339) }

		late := h.send(agent, "request: {intent: look, needed_by: '"+at(time.Minute)+"', constraints: {timing: {expires: 2h}}}").Ref
		h.send(kitchen, "status: {re: "+late+", code: claimed}")
		gone := h.send(agent, "request: {intent: look, constraints: {timing: {expires: 20s}}}").Ref
		soon := h.send(agent, "request: {intent: look, constraints: {timing: {not_before: '"+at(90*time.Second)+"'}}}").Ref
		past := h.send(agent, "request: {intent: look, needed_by: '"+at(-time.Minute)+"'}").Ref
		h.wantError(kitchen, "status: {re: "+soon+", code: claimed}", mess.NotYet, "not before")
		h.advance(time.Second)
		h.wantStatus(past, mess.Expired)
		h.sendHeartbeats(kitchen, late, "1", 30*time.Second)
		h.wantStatus(gone, mess.Expired)
		if s := h.lastStatus(gone); s.ExpiredAt == "" || s.Stage != "pending" {
			t.Errorf("expired: %+v", s)
		}
		h.wantStatus(late, mess.Claimed)
		h.sendHeartbeats(kitchen, late, "1", 40*time.Second)
		h.wantStatus(late, mess.Expired) // claimed, not begun
		sub := h.subscribe(kitchen, "")
		h.advance(time.Minute)
		if got := sub.events(); len(got) != 1 || got[0] != "offer "+soon+" request" {
			t.Errorf("events are %q, want the offer at its time", got)
		}
	})
}

func TestNoStartPermissionAfterNeededBy(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		ref := h.send(agent, "request: {intent: look, needed_by: '"+time.Now().Add(5*time.Second).Format(time.RFC3339)+"'}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.advance(6 * time.Second)
		h.wantError(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.IllegalTransition)
		started := h.startedThread("")
		h.sendHeartbeats(kitchen, started, "1", time.Minute)
		h.wantStatus(started, mess.InProgress)
	})
}

func TestExchangeRestart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "take-photo")
		first := h.send(agent, "request: {id: first, intent: look}").Ref
		second := h.send(agent, "request: {id: second, intent: look, constraints: {depends_on: [first]}}").Ref
		h.send(kitchen, "status: {re: "+first+", code: claimed}")
		h.send(person, "config: {routing: {rules: [{match: {}, prefer: [garage-pi]}]}}")
		h.stop()
		h.open(exchange.DefaultConfig())
		h.wantStatus(first, mess.Claimed)
		if got := h.x.Executors(); len(got) != 1 || got[0].ID != "kitchen-pi" || len(got[0].Versions) != 2 {
			t.Errorf("executors = %+v", got)
		}
		h.sendHeartbeats(kitchen, first, "1", time.Minute)
		h.send(kitchen, "re: "+first+"\nepoch: 1\nMESS: [{status: {code: completed}}, {response: {content: [ok]}}]")
		h.stop()
		h.open(exchange.DefaultConfig())
		h.send(kitchen, "status: {re: "+second+", code: claimed}")
		h.send(agent, "cancel: {re: last}")
		h.wantStatus(second, mess.Cancelled)
	})
}

// A requester cancels a started task, and its executor is lost without a terminal status: the
// exchange does not offer the thread again, even if the task is idempotent.
func TestCancelSurvivesLossOfExecutor(t *testing.T) {
	for _, c := range []struct {
		effect     string
		want       mess.Code
		wantEffect mess.Effect
	}{
		{"idempotent", mess.Failed, mess.EffectUnknown},
		{"once", mess.Failed, mess.EffectUnknown},
		{"query", mess.Cancelled, mess.EffectNone},
	} {
		t.Run(c.effect, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.register(kitchen, "x")
				h.register(garage, "x")
				ref := h.send(agent, "request: {intent: turn it on}").Ref
				h.send(kitchen, "status: {re: "+ref+", code: claimed}")
				h.send(kitchen, "status: {re: "+ref+", code: in_progress, effect: "+c.effect+"}")
				h.send(agent, "cancel: {re: "+ref+"}")
				h.advance(time.Minute)
				h.wantStatus(ref, mess.Held)
				h.advance(2 * time.Hour)
				h.wantStatus(ref, c.want)
				if s := h.lastStatus(ref); s.Reason == nil || s.Reason.Effect != c.wantEffect {
					t.Errorf("reason = %+v, want effect %s", s.Reason, c.wantEffect)
				}
				h.wantError(garage, "status: {re: "+ref+", code: claimed}", mess.NotFound)
			})
		})
	}
}

// The time that a program sends which has set none is no time.
func TestZeroTimeIsNoTime(t *testing.T) {
	withHarness(t, func(h *harness) {
		for _, zero := range []string{"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00"} {
			for _, request := range []string{
				"needed_by: '" + zero + "'", "constraints: {timing: {expires: '" + zero + "'}}", "constraints: {timing: {not_before: '" + zero + "'}}",
			} {
				h.wantError(agent, "request: {intent: look, "+request+"}", mess.Invalid, "is the zero time")
			}
		}
		past := h.send(agent, "request: {intent: look, needed_by: '0001-01-01T00:00:01Z'}").Ref
		h.advance(time.Second)
		h.wantStatus(past, mess.Expired)
	})
}
