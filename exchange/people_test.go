package exchange_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

var (
	anna = exchange.Actor{ID: "ana", Roles: exchange.Requester | exchange.ExecutorRole}
	ben  = exchange.Actor{ID: "ben", Roles: exchange.Requester | exchange.ExecutorRole}
)

// registerPerson registers a person.
func (h *harness) registerPerson(actor exchange.Actor) *subscription {
	h.t.Helper()
	h.send(actor, "config: {executor: {id: "+actor.ID+", name: "+actor.ID+", kind: person, capabilities: [walk]}}")
	return h.subscribe(actor, "")
}

// Robots get an offer first. A person gets one after the robots have declined.
func TestPeopleGetOffersAfterRobots(t *testing.T) {
	withHarness(t, func(h *harness) {
		robot := h.subscribe(kitchen, "")
		h.register(kitchen, "walk")
		phone := h.registerPerson(anna)
		ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
		h.advance(time.Second)
		if got := robot.events(); len(got) != 1 {
			t.Errorf("events of the robot are %q, want the offer", got)
		}
		if got := phone.events(); len(got) != 0 {
			t.Errorf("events of the person are %q before the robot has declined, want none", got)
		}
		h.send(kitchen, "status: {re: "+ref+", code: declined, reason: no legs}")
		if got := phone.events(); len(got) != 1 || !strings.HasPrefix(got[0], "offer "+ref) {
			t.Errorf("events of the person are %q after that, want the offer", got)
		}
		h.wantStatus(ref, mess.Pending)
		if line := h.lastStatusItem(ref); line.Code != mess.Pending || line.Message != "no robot here does it (kitchen-pi: no legs); offered to ana" {
			t.Errorf("status of the thread is %+v", line)
		}
		h.send(anna, "status: {re: "+ref+", code: claimed}")
		h.send(anna, "status: {re: "+ref+", code: in_progress}")
		h.send(anna, "MESS: [{status: {re: "+ref+", code: completed}}, {response: {re: "+ref+", content: [done]}}]")
		h.wantStatus(ref, mess.Completed)
	})
}

// The thread gets the message "no robot here does it" once, after the last robot has declined. It
// gets no such message while another robot can claim it, or after a person has declined.
func TestOnlyPeopleLeftIsReportedOnce(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.subscribe(kitchen, "")
		h.register(kitchen, "walk")
		h.subscribe(garage, "")
		h.register(garage, "walk")
		h.registerPerson(anna)
		h.registerPerson(ben)
		ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: declined, reason: no legs}")
		if line := h.lastStatusItem(ref); line.Code != mess.Declined || line.Message != "" {
			t.Errorf("one robot may do it still: %+v", line)
		}
		h.send(garage, "status: {re: "+ref+", code: declined, reason: no time}")
		want := "no robot here does it (kitchen-pi: no legs; garage-pi: no time); offered to ana, ben"
		if line := h.lastStatusItem(ref); line.Code != mess.Pending || line.Message != want {
			t.Errorf("status of the thread is %+v", line)
		}
		h.send(anna, "status: {re: "+ref+", code: declined, reason: my back}")
		if line := h.lastStatusItem(ref); line.Message != "" {
			t.Errorf("after a person's no: %+v", line)
		}
		h.wantStatus(ref, mess.Pending)
	})
}

// A person may begin a claimed task without the network: a cancel reports the effect unknown.
func TestCancelOfPersonsClaimHasUnknownEffect(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.registerPerson(anna)
		ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
		h.send(anna, "status: {re: "+ref+", code: claimed}")
		h.send(agent, "cancel: {re: "+ref+"}")
		h.wantStatus(ref, mess.Cancelled)
		if r := h.lastStatus(ref).Reason; r == nil || r.Effect != mess.EffectUnknown || r.Detail != "ana had taken it, and may have begun" {
			t.Errorf("status of the thread is %+v", r)
		}
		h.send(anna, "MESS: [{status: {re: "+ref+", code: completed}}, {response: {re: "+ref+", content: [done]}}]") // it is kept
		h.wantStatus(ref, mess.Cancelled)
		free := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
		h.send(agent, "cancel: {re: "+free+"}")
		if s := h.lastStatus(free); s.Reason != nil {
			t.Errorf("reason without a claim is %+v, want none", s.Reason)
		}
	})
}

// A person delegates a thread to a robot, and the robot declines: the other people get the offer,
// and the thread has a message about it.
func TestDeclinedDelegationReturnsToPeople(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.registerPerson(anna)
		h.registerPerson(ben)
		ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
		h.send(anna, "status: {re: "+ref+", code: claimed}")
		h.subscribe(kitchen, "")
		h.register(kitchen, "walk")
		h.send(anna, "status: {re: "+ref+", code: delegated, delegated_to: kitchen-pi}")
		h.send(kitchen, "status: {re: "+ref+", code: declined, reason: no legs}")
		if line := h.lastStatusItem(ref); line.Code != mess.Pending || line.Message != "no robot here does it (kitchen-pi: no legs); offered to ben" {
			t.Errorf("status of the thread is %+v", line)
		}
	})
}

// A robot declines because of a stop, a lockout or a similar rule: the thread ends, and people
// get no offer. The requester must ask again.
func TestPeopleGetNoOfferAfterLockout(t *testing.T) {
	for _, bar := range []string{"stop", "locked", "disarmed", "interlock", "quiet_hours"} {
		t.Run(bar, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				h.subscribe(kitchen, "")
				h.register(kitchen, "walk")
				phone := h.registerPerson(anna)
				ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
				h.advance(time.Second)
				h.send(kitchen, "status: {re: "+ref+", code: declined, reason: {type: "+bar+", detail: not now}}")
				h.wantStatus(ref, mess.Declined)
				if got := phone.events(); len(got) != 0 {
					t.Errorf("events of the person are %q, want none", got)
				}
			})
		})
	}
}

// lastStatusItem is the last status in a thread.
func (h *harness) lastStatusItem(ref string) (last mess.Status) {
	h.t.Helper()
	t, err := h.x.Thread(h.t.Context(), person, ref)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, m := range t.Messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				last = *s
			}
		}
	}
	return last
}

// A person cannot delegate a task that she has begun. During a stop she cannot begin a task until
// she has confirmed the stop.
func TestPersonKeepsStartedTask(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.registerPerson(anna)
		h.registerPerson(ben)
		ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
		h.send(anna, "status: {re: "+ref+", code: claimed}")
		s, err := h.x.Stop(h.t.Context(), person, mess.Stop{Reason: "smoke"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.post(anna, "status: {re: "+ref+", code: in_progress}"); !errors.Is(err, mess.NotYet) {
			t.Errorf("she begins during the stop: %v", err)
		}
		h.heartbeat(anna, mess.Executor{Stopped: &mess.StopState{Orders: mess.Refs{s.ID}}})
		h.wantStatus(ref, mess.Claimed)
		if line := h.lastStatusItem(ref); line.Executor != anna.ID || line.Code != mess.Claimed || line.Message != "ana says: I have stopped" {
			t.Errorf("status of the thread is %+v", line)
		}
		h.send(anna, "status: {re: "+ref+", code: in_progress}")
		if _, err := h.post(anna, "status: {re: "+ref+", code: delegated, delegated_to: ben, reason: {type: other, detail: handed over, effect: none}}"); !errors.Is(err, mess.IllegalTransition) {
			t.Errorf("she hands over what she has begun: %v", err)
		}
		h.wantStatus(ref, mess.InProgress)
	})
}

func TestPeopleGetOffersRobotsIgnore(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.subscribe(kitchen, "")
		h.register(kitchen, "walk")
		phone := h.registerPerson(anna)
		h.send(agent, "request: {intent: go, requires: [walk]}")
		h.advance(exchange.DefaultConfig().OfferTime + time.Second)
		if got := phone.events(); len(got) != 1 {
			t.Errorf("events of the person are %q after the robot's time, want the offer", got)
		}
	})
}

// A robot ends a task without an effect: people get an offer. They get none after a possible
// effect, after a stop or a lockout, or after a missing confirmation.
func TestRobotFailureWithoutEffectGoesToPeople(t *testing.T) {
	for _, c := range []struct {
		name, end string
		want      mess.Code
	}{
		{"delegated", "code: delegated, reason: {type: other, detail: stuck}", mess.Pending},
		{"failed, nothing done", "code: failed, reason: {type: device, detail: not reached, effect: none}", mess.Pending},
		{"declined after a question", "code: declined, reason: not me", mess.Pending},
		{"not understood after its questions", "code: failed, reason: {type: not_understood, detail: no answer fits, effect: none}", mess.Failed},
		{"without a confirmation", "code: failed, reason: {type: not_confirmed, detail: nobody has, effect: none}", mess.Failed},
		{"failed, something done", "code: failed, reason: {type: device, detail: broke, effect: partial}", mess.Failed},
		{"failed, unknown effect", "code: failed, reason: {type: interrupted, effect: unknown}", mess.Failed},
		{"stopped after its claim", "code: declined, reason: {type: stop, detail: stopped}", mess.Declined},
		{"locked after its claim", "code: failed, reason: {type: locked, detail: the paint is wet, effect: none}", mess.Failed},
		{"stopped", "code: failed, reason: {type: stop, detail: stopped, effect: none}", mess.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, people := range []bool{true, false} {
				withHarness(t, func(h *harness) {
					h.subscribe(kitchen, "")
					h.register(kitchen, "walk")
					want := c.want
					if people {
						h.registerPerson(anna)
					} else if want == mess.Pending {
						want = map[bool]mess.Code{true: mess.Delegated, false: mess.Code(strings.SplitN(strings.TrimPrefix(c.end, "code: "), ",", 2)[0])}[c.name == "delegated"]
					}
					ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
					h.send(kitchen, "status: {re: "+ref+", code: claimed}")
					h.send(kitchen, "status: {re: "+ref+", "+c.end+"}")
					h.wantStatus(ref, want)
				})
			}
		})
	}
}

// All executors are drained: the note in the ack names the first candidate.
func TestAckNamesDrainedCandidate(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.registerPerson(anna)
		h.register(kitchen, "walk")
		h.send(person, "config: {hold: true}")
		ack := h.send(agent, "request: {intent: go, requires: [walk]}")
		if note, _ := ack.Extra.Get("note"); !strings.Contains(fmt.Sprint(note), "kitchen-pi is drained") {
			t.Errorf("note is %v, want the drain", note)
		}
	})
}

// A person delegates a thread to another person, who delegates it to the robot that has declined
// before: the robot gets the offer again.
func TestPeopleDelegateThreads(t *testing.T) {
	withHarness(t, func(h *harness) {
		robot := h.subscribe(kitchen, "")
		h.register(kitchen, "walk")
		first, second := h.registerPerson(anna), h.registerPerson(ben)
		ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
		h.send(kitchen, "status: {re: "+ref+", code: declined, reason: no legs}")
		h.send(anna, "status: {re: "+ref+", code: claimed}")
		first.events()
		second.events()
		robot.events()
		h.send(anna, "status: {re: "+ref+", code: delegated, delegated_to: ben, reason: I am out}")
		if got := second.events(); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "offer "+ref) {
			t.Errorf("events of ben are %q, want the offer", got)
		}
		h.send(ben, "status: {re: "+ref+", code: claimed}")
		h.send(ben, "status: {re: "+ref+", code: delegated, delegated_to: kitchen-pi, reason: it has legs now}")
		if got := robot.events(); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "offer "+ref) {
			t.Errorf("events of the robot are %q, want the offer", got)
		}
		h.send(kitchen, "status: {re: "+ref+", code: claimed}")
		h.wantStatus(ref, mess.Claimed)
	})
}

// The claim of a person lasts at least for the time of her estimate. A silent phone does not end a
// request that only people can do.
func TestPersonsClaimLastsForEstimate(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.register(kitchen, "walk")
		h.send(anna, "config: {executor: {id: ana, name: ana, kind: person, capabilities: [walk]}}")
		ref := h.send(agent, "request: {intent: go, requires: [walk]}").Ref
		h.advance(2 * time.Hour)
		h.send(kitchen, "status: {re: "+ref+", code: declined, reason: no legs}")
		h.advance(2 * time.Hour)
		h.wantStatus(ref, mess.Pending)
		h.send(anna, "status: {re: "+ref+", code: claimed, estimate: PT4H}")
		h.advance(5 * time.Hour)
		h.wantStatus(ref, mess.Claimed)
		h.advance(5 * time.Hour)
		h.wantStatus(ref, mess.Pending)
	})
}
