package agent_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/mess"
)

// startCleaning starts a task of twenty seconds.
func (h *harness) startCleaning() (ref string) {
	h.t.Helper()
	ref = h.send(requester, "request: {intent: vacuum both}")
	h.send(person, "reply: {re: "+ref+", confirm: true}")
	h.wantStatus(ref, mess.InProgress)
	return ref
}

func TestEveryMessageIsDuplicated(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.connection.duplicate = true }, func(h *harness) {
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.wantStatus(ref, mess.Completed)
		v := h.startCleaning()
		h.advance(25 * time.Second)
		h.wantStatus(v, mess.Completed)
		if h.lamp.acts() != "on" || h.vacuum.acts() != "clean near sink+stove" {
			h.t.Errorf("the lamp did %s, the vacuum %s; want each once", h.lamp.acts(), h.vacuum.acts())
		}
		if got, want := h.statuses(ref), "claimed in_progress completed"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
	})
}

// The network loses every answer of the exchange once: each repeated message is a duplicate.
func TestEveryAckIsLostOnce(t *testing.T) {
	withHarness(t, func(h *harness) {
		lost := map[string]bool{}
		h.connection.set(func(l *connection) {
			l.after = func(m mess.Message) error {
				if len(m.Re) == 0 || lost[m.ID] {
					return nil
				}
				lost[m.ID] = true
				return mess.Errorf(mess.Unavailable, "the answer is lost")
			}
		})
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.connection.set(func(l *connection) { l.after = nil })
		h.advance(5 * time.Second)
		h.wantStatus(ref, mess.Completed)
		if h.lamp.acts() != "on" {
			h.t.Errorf("the lamp did: %s; want it once", h.lamp.acts())
		}
	})
}

func TestStop(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.advance(3 * time.Second)
		h.policy.Stop("the cat")
		synctest.Wait()
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectUnknown {
			h.t.Errorf("%+v", s.Reason)
		}
		no := h.send(requester, "request: {intent: turn on the porch light}")
		if s := h.wantStatus(no, mess.Declined); !strings.Contains(s.Reason.Detail, "the cat") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.policy.ResetStop()
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

// The connection is lost for longer than the lease during a task: the task continues, and its
// report arrives after the connection is back.
func TestConnectionIsLostDuringAct(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.connection.setCut(true)
		h.advance(5 * time.Minute)
		h.wantStatus(ref, mess.Held)
		h.connection.setCut(false)
		h.advance(2 * time.Minute)
		h.wantStatus(ref, mess.Completed)
		if data, _ := h.image(ref); data != "map" {
			h.t.Errorf("the picture is %q", data)
		}
	})
}

func TestConnectionIsLostAtStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.connection.set(func(l *connection) {
			l.before = func(m mess.Message) error {
				if hasStatus(m, mess.InProgress) {
					return mess.Errorf(mess.Unavailable, "no line")
				}
				return nil
			}
		})
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.advance(20 * time.Second)
		if h.wantStatus(ref, mess.Claimed); h.lamp.acts() != "" {
			h.t.Fatalf("the lamp did %s without permission", h.lamp.acts())
		}
		h.connection.set(func(l *connection) { l.before = nil })
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
	})
}

// A permission that took long to arrive does not count: the agent asks again.
func TestSlowStartPermission(t *testing.T) {
	withHarness(t, func(h *harness) {
		slow := true
		h.connection.set(func(l *connection) {
			l.after = func(m mess.Message) error {
				if hasStatus(m, mess.InProgress) && slow {
					slow = false
					time.Sleep(3 * time.Second) // fake time
				}
				return nil
			}
		})
		ref := h.send(requester, "request: {intent: ring the bell}")
		h.advance(5 * time.Second)
		h.wantStatus(ref, mess.Completed)
		if got, want := h.statuses(ref), "claimed in_progress in_progress completed"; got != want {
			h.t.Errorf("%s, want %s", got, want)
		}
	})
}

func TestShutdownDuringAct(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.advance(13 * time.Second)
		h.stopAgent()
		s := h.wantStatus(ref, mess.Partial)
		if s.Reason.Type != "interrupted" || len(s.Completed) != 1 {
			h.t.Errorf("%+v, done %v", s.Reason, s.Completed)
		}
		if h.vacuum.acts() != "clean near sink+stove, stopped" || h.vacuum.halted != 1 {
			h.t.Errorf("the vacuum did: %s, halted %d times", h.vacuum.acts(), h.vacuum.halted)
		}
	})
}

func TestReportSurvivesProgram(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.startCleaning()
		h.connection.setCut(true)
		h.advance(25 * time.Second)
		h.stopAgent()
		h.wantStatus(ref, mess.InProgress)
		h.connection.setCut(false)
		h.startAgent()
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
		if h.vacuum.acts() != "clean near sink+stove" {
			h.t.Errorf("the vacuum did: %s", h.vacuum.acts())
		}
	})
}

func TestUnwritableJournal(t *testing.T) {
	withHarness(t, func(h *harness) {
		if err := h.journal.Close(); err != nil {
			h.t.Fatal(err)
		}
		no := h.send(requester, "request: {intent: turn on the porch light}")
		if s := h.wantStatus(no, mess.Declined); !strings.Contains(s.Reason.Detail, "cannot record its acts") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?"}`), mess.Completed)
		if h.lamp.acts() != "" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

func TestPanicDoesNotEndProgram(t *testing.T) {
	withHarness(t, func(h *harness) {
		if s := h.wantStatus(h.send(requester, "request: {intent: crash}"), mess.Declined); !strings.Contains(s.Reason.Detail, "boom") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.wantStatus(h.send(requester, "request: {intent: turn on the porch light}"), mess.Completed)
	})
}

func TestMaxOnSwitchesOff(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]settings.Limits{"porch-lamp": {MaxOn: time.Hour}}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.wantAnswer(ref, "off again in 1h0m0s")
		h.advance(61 * time.Minute)
		if h.lamp.acts() != "on, off" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
	})
}

// max_on counts from the start of the program, and works without the exchange.
func TestMaxOnCountsFromStart(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]settings.Limits{"porch-lamp": {MaxOn: time.Hour}}
		h.lamp.on = true
		h.connection.setCut(true)
	}, func(h *harness) {
		h.advance(59 * time.Minute)
		if h.lamp.acts() != "" {
			h.t.Errorf("the lamp did: %s", h.lamp.acts())
		}
		h.advance(2 * time.Minute)
		if h.lamp.acts() != "off" {
			h.t.Errorf("the lamp did: %q, want off", h.lamp.acts())
		}
	})
}

func TestDuplicateReplyAnswersOnce(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.connection.duplicate = true }, func(h *harness) {
		ref := h.send(requester, "request: {id: v, intent: vacuum the kitchen}")
		h.send(requester, "reply: {re: v, answers: {area: the moon}}")
		if got, want := h.statuses(ref), "claimed needs_input needs_input"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
