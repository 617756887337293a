package exchange_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

func TestLeaseEndsBeforeStart(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		h.registers(garage, "take-photo")
		ref := h.says(agent, "request: {intent: look}").Ref
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.beats(kitchen, ref, "1", 5*time.Minute)
		h.is(ref, mess.Claimed) // heartbeats keep it
		h.after(31 * time.Second)
		h.is(ref, mess.Pending)
		if ack := h.says(garage, "status: {re: "+ref+", code: claimed}"); ack.Epoch != 2 {
			t.Errorf("the second claim has epoch %d, want 2", ack.Epoch)
		}
		h.refuses(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.StaleToken, "epoch 1 is over")
		beat := h.says(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+ref+", epoch: 1}]}}")
		if len(beat.Threads) != 1 || *beat.Threads[0].Yours {
			t.Errorf("the old holder's heartbeat is answered with %+v, want yours: false", beat.Threads)
		}
		h.after(31 * time.Second)
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.after(31 * time.Second)
		h.is(ref, mess.Failed)
		if s := h.lastStatus(ref); s.Reason.Effect != mess.EffectNone {
			t.Errorf("after three lost claims: effect %q, want none", s.Reason.Effect)
		}
	})
}

func TestEarlierHolderIsFenced(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		ref := h.says(agent, "request: {intent: look}").Ref
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.after(31 * time.Second)
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.refuses(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.StaleToken)
		h.says(kitchen, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress}}]")
	})
}

// begun makes a thread with a start permission, and returns its ref.
func (h *house) begun(more string) string {
	h.t.Helper()
	h.registers(kitchen, "take-photo")
	h.registers(garage, "take-photo")
	ref := h.says(agent, "request: {intent: look}").Ref
	h.says(kitchen, "status: {re: "+ref+", code: claimed, estimate: PT1M}")
	h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress"+more+"}}]")
	return ref
}

func TestExecutorSilentAfterStart(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.begun("")
		h.after(31 * time.Second)
		h.is(ref, mess.Held)
		if s := h.lastStatus(ref); s.Reason == nil || s.Reason.Type != "executor_unreachable" {
			t.Errorf("held for %+v", s.Reason)
		}
		h.refuses(garage, "status: {re: "+ref+", code: claimed}", mess.AlreadyClaimed)
		h.says(kitchen, "config: {executor: {id: kitchen-pi, holding: [{ref: "+ref+", epoch: 1}]}}")
		h.after(time.Second)
		h.is(ref, mess.InProgress) // it is back
		h.after(31 * time.Second)
		h.is(ref, mess.Held)
		h.after(time.Hour)
		h.is(ref, mess.Failed)
		if s := h.lastStatus(ref); s.Reason.Effect != mess.EffectUnknown || *s.Recoverable || s.Suggestion == "" {
			t.Errorf("lost for good: %+v", s)
		}
		// The thread keeps a later report as evidence, and its status does not change (T14).
		late := h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: completed}}, {response: {content: [it is done]}}]")
		if late.Status != mess.Failed {
			t.Errorf("a late report is acked with %s, want failed", late.Status)
		}
		h.is(ref, mess.Failed)
	})
}

func TestIdempotentTaskIsOfferedAgain(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.begun(", effect: query")
		h.after(2 * time.Hour)
		h.is(ref, mess.Pending)
		if ack := h.says(garage, "status: {re: "+ref+", code: claimed}"); ack.Epoch != 2 {
			t.Errorf("epoch %d, want 2", ack.Epoch)
		}
	})
}

// A late report of an earlier holder does not carry the epoch of the present claim: its
// holder would take it for the end of that claim (T14).
func TestLateReportKeepsNextClaim(t *testing.T) {
	for _, epoch := range []string{"", "epoch: 1\n"} {
		inHouse(t, func(h *house) {
			ref := h.begun(", effect: query")
			h.after(2 * time.Hour)
			h.says(garage, "status: {re: "+ref+", code: claimed}")
			h.says(garage, "re: "+ref+"\nepoch: 2\nMESS: [{status: {code: in_progress}}]")
			ear := h.listens(garage, "")
			h.says(kitchen, "re: "+ref+"\n"+epoch+"MESS: [{status: {code: failed, reason: {detail: it died}}}]")
			h.is(ref, mess.InProgress)
			h.after(time.Second)
			ear.mu.Lock()
			defer ear.mu.Unlock()
			heard := false
			for _, e := range ear.events {
				m, ok := e.Delivery(garage.ID)
				if !ok || m.From != kitchen.ID {
					continue
				}
				heard = true
				if m.Epoch >= 2 {
					t.Errorf("with %q the report has epoch %d", epoch, m.Epoch)
				}
			}
			if !heard {
				t.Errorf("with %q the holder does not get the report", epoch)
			}
		})
	}
}

func TestReportEndsHeldStatus(t *testing.T) {
	inHouse(t, func(h *house) {
		ref := h.begun("")
		h.after(time.Minute)
		h.is(ref, mess.Held)
		h.says(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: completed}}, {response: {content: [ok]}}]")
		h.is(ref, mess.Completed)
	})
}

func TestPersonNeedsNoHeartbeat(t *testing.T) {
	inHouse(t, func(h *house) {
		h.says(garage, "config: {executor: {id: garage-pi, capabilities: [take-photo]}}")
		ref := h.says(agent, "request: {intent: look}").Ref
		h.says(garage, "status: {re: "+ref+", code: claimed}")
		h.after(50 * time.Minute)
		h.is(ref, mess.Claimed)
		h.after(11 * time.Minute)
		h.is(ref, mess.Pending)
	})
}

func TestTimesOfARequest(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		at := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339) }

		late := h.says(agent, "request: {intent: look, needed_by: '"+at(time.Minute)+"', constraints: {timing: {expires: 2h}}}").Ref
		h.says(kitchen, "status: {re: "+late+", code: claimed}")
		gone := h.says(agent, "request: {intent: look, constraints: {timing: {expires: 20s}}}").Ref
		soon := h.says(agent, "request: {intent: look, constraints: {timing: {not_before: '"+at(90*time.Second)+"'}}}").Ref
		past := h.says(agent, "request: {intent: look, needed_by: '"+at(-time.Minute)+"'}").Ref
		h.refuses(kitchen, "status: {re: "+soon+", code: claimed}", mess.NotYet, "not before")
		h.after(time.Second)
		h.is(past, mess.Expired)
		h.beats(kitchen, late, "1", 30*time.Second)
		h.is(gone, mess.Expired)
		if s := h.lastStatus(gone); s.ExpiredAt == "" || s.Stage != "pending" {
			t.Errorf("expired: %+v", s)
		}
		h.is(late, mess.Claimed)
		h.beats(kitchen, late, "1", 40*time.Second)
		h.is(late, mess.Expired) // claimed, not begun
		ear := h.listens(kitchen, "")
		h.after(time.Minute)
		if got := ear.heard(); len(got) != 1 || got[0] != "offer "+soon+" request" {
			t.Errorf("heard %q, want the offer when its time has come", got)
		}
	})
}

func TestNoStartPermissionAfterNeededBy(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		ref := h.says(agent, "request: {intent: look, needed_by: '"+time.Now().Add(5*time.Second).Format(time.RFC3339)+"'}").Ref
		h.says(kitchen, "status: {re: "+ref+", code: claimed}")
		h.after(6 * time.Second)
		h.refuses(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress}}]", mess.IllegalTransition)
		begun := h.begun("")
		h.beats(kitchen, begun, "1", time.Minute)
		h.is(begun, mess.InProgress)
	})
}

func TestExchangeRestart(t *testing.T) {
	inHouse(t, func(h *house) {
		h.registers(kitchen, "take-photo")
		first := h.says(agent, "request: {id: first, intent: look}").Ref
		second := h.says(agent, "request: {id: second, intent: look, constraints: {depends_on: [first]}}").Ref
		h.says(kitchen, "status: {re: "+first+", code: claimed}")
		h.says(person, "config: {routing: {rules: [{match: {}, prefer: [garage-pi]}]}}")
		h.stop()
		h.open(exchange.DefaultConfig())
		h.is(first, mess.Claimed)
		if got := h.x.Executors(); len(got) != 1 || got[0].ID != "kitchen-pi" || len(got[0].Versions) != 2 {
			t.Errorf("executors = %+v", got)
		}
		h.beats(kitchen, first, "1", time.Minute)
		h.says(kitchen, "re: "+first+"\nepoch: 1\nMESS: [{status: {code: completed}}, {response: {content: [ok]}}]")
		h.stop()
		h.open(exchange.DefaultConfig())
		h.says(kitchen, "status: {re: "+second+", code: claimed}")
		h.says(agent, "cancel: {re: last}")
		h.is(second, mess.Cancelled)
	})
}

// A requester cancels a started task, and its executor is lost without a terminal status: the
// exchange does not offer the thread again, even if the task is idempotent.
func TestCancelSurvivesLossOfExecutor(t *testing.T) {
	for _, c := range []struct {
		effect string
		want   mess.Code
		told   mess.Effect
	}{
		{"idempotent", mess.Failed, mess.EffectUnknown},
		{"once", mess.Failed, mess.EffectUnknown},
		{"query", mess.Cancelled, mess.EffectNone},
	} {
		t.Run(c.effect, func(t *testing.T) {
			inHouse(t, func(h *house) {
				h.registers(kitchen, "x")
				h.registers(garage, "x")
				ref := h.says(agent, "request: {intent: turn it on}").Ref
				h.says(kitchen, "status: {re: "+ref+", code: claimed}")
				h.says(kitchen, "status: {re: "+ref+", code: in_progress, effect: "+c.effect+"}")
				h.says(agent, "cancel: {re: "+ref+"}")
				h.after(time.Minute)
				h.is(ref, mess.Held)
				h.after(2 * time.Hour)
				h.is(ref, c.want)
				if s := h.lastStatus(ref); s.Reason == nil || s.Reason.Effect != c.told {
					t.Errorf("reason = %+v, want effect %s", s.Reason, c.told)
				}
				h.refuses(garage, "status: {re: "+ref+", code: claimed}", mess.NotFound)
			})
		})
	}
}

// The time that a program sends which has set none is no time.
func TestZeroTimeIsNoTime(t *testing.T) {
	inHouse(t, func(h *house) {
		for _, zero := range []string{"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00"} {
			for _, request := range []string{
				"needed_by: '" + zero + "'", "constraints: {timing: {expires: '" + zero + "'}}", "constraints: {timing: {not_before: '" + zero + "'}}",
			} {
				h.refuses(agent, "request: {intent: look, "+request+"}", mess.Invalid, "is the zero time")
			}
		}
		past := h.says(agent, "request: {intent: look, needed_by: '0001-01-01T00:00:01Z'}").Ref
		h.after(time.Second)
		h.is(past, mess.Expired)
	})
}
