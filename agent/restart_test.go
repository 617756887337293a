package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// leaveCrashState leaves the state of a dead program: the exchange has allowed the request, and the
// journal has its records until then.
func (h *harness) leaveCrashState(request, plan string, intents int) (ref string) {
	h.t.Helper()
	h.stopAgent()
	ref = h.send(requester, "request: {intent: "+request+"}")
	pi := h.actor()
	h.send(pi, "re: "+ref+"\nMESS: [{status: {code: claimed}}]")
	out := h.sentences[plan]
	if plan == "vacuum both" {
		h.send(pi, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_confirmation, action: x}}]")
		h.send(person, "reply: {re: "+ref+", confirm: true}")
	}
	h.send(pi, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: in_progress, effect: "+string(out.Plan.Effect)+"}}]")
	j, err := journal.Open(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	for range intents {
		err = errors.Join(err, j.Intent(h.t.Context(), journal.Intent{
			Ref: ref, Epoch: 1, Digest: out.Plan.Digest(), Boot: "before", Plan: recoveryRecord(h.t, *out.Plan, request),
		}))
	}
	if err := errors.Join(err, j.Close()); err != nil {
		h.t.Fatal(err)
	}
	return ref
}

func TestCrash(t *testing.T) {
	for _, c := range []struct {
		name    string
		intent  string
		begun   int  // intents in the journal
		on      bool // state of the lamp at the restart
		blind   bool
		code    mess.Code
		effect  mess.Effect
		again   bool
		did     string
		evident mess.Evidence
	}{
		{name: "after the start permission, before the intent", intent: "ring the bell", code: mess.Completed, did: "on", evident: mess.ReadBack},
		{name: "once, cannot be verified", intent: "vacuum both", begun: 1, code: mess.Failed, effect: mess.EffectUnknown, evident: mess.EvidenceUnknown},
		{name: "once, reads back as done", intent: "ring the bell", begun: 1, on: true, code: mess.Completed, evident: mess.ReadBack},
		{name: "once, reads back as not done", intent: "ring the bell", begun: 1, code: mess.Failed, effect: mess.EffectUnknown, evident: mess.EvidenceUnknown},
		{name: "once, cannot be read", intent: "ring the bell", begun: 1, blind: true, code: mess.Failed, effect: mess.EffectUnknown, evident: mess.EvidenceUnknown},
		{name: "idempotent", intent: "turn on the porch light", begun: 1, code: mess.Completed, did: "on", evident: mess.ReadBack},
		{name: "idempotent, reads back as done", intent: "turn on the porch light", begun: 1, on: true, code: mess.Completed, evident: mess.ReadBack},
		{name: "idempotent, cannot be read", intent: "turn on the porch light", begun: 1, blind: true, code: mess.Failed, effect: mess.EffectUnknown, evident: mess.EvidenceUnknown, again: true},
		{name: "for a time, reads back as done", intent: "turn on the porch light for six seconds", begun: 1, on: true, code: mess.Completed, evident: mess.ReadBack},
		{name: "for a time, reads back as not done", intent: "turn on the porch light for six seconds", begun: 1, code: mess.Failed, effect: mess.EffectUnknown, evident: mess.EvidenceUnknown},
		{name: "idempotent, the second time", intent: "turn on the porch light", begun: 2, code: mess.Failed, effect: mess.EffectUnknown, evident: mess.EvidenceUnknown, again: true},
		{name: "a question", intent: "what's in the fridge?", begun: 1, code: mess.Completed, evident: mess.Photographed},
	} {
		t.Run(c.name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				timed := *h.sentences["turn on the porch light"].Plan
				timed.For = 6 * time.Second
				h.sentences["turn on the porch light for six seconds"] = capabilities.Outcome{Plan: &timed}
			}, func(h *harness) {
				ref := h.leaveCrashState(`"`+c.intent+`"`, c.intent, c.begun)
				h.lamp.set(func(l *lamp) { l.on, l.blind = c.on, c.blind })
				h.startAgent()
				h.advance(15 * time.Second)
				s := h.wantStatus(ref, c.code)
				if h.lamp.acts() != c.did || h.vacuum.acts() != "" {
					t.Errorf("the lamp did %q, the vacuum %q; want %q and nothing", h.lamp.acts(), h.vacuum.acts(), c.did)
				}
				if s.Evidence != c.evident {
					t.Errorf("evidence %q, want %q", s.Evidence, c.evident)
				}
				if twice := c.intent == "turn on the porch light" && c.did == "on"; twice {
					h.wantAnswer(ref, "the command may have been sent twice")
				}
				if c.code == mess.Failed && (s.Reason.Type != "interrupted" || s.Reason.Effect != c.effect || *s.Recoverable != c.again) {
					t.Errorf("%+v, recoverable %v", s.Reason, *s.Recoverable)
				}
			})
		})
	}
}

// lampWithoutReadback is a lamp without readback.
type lampWithoutReadback struct{ fakeDevice }

func (b *lampWithoutReadback) Switch(context.Context, bool) error { b.record("switched"); return nil }

// After a crash, the agent repeats an idempotent command to a device without readback, and the
// answer says so. It does not repeat a command with a duration.
func TestCrashWithDeviceWithoutReadback(t *testing.T) {
	for name, c := range map[string]struct {
		lasts time.Duration
		code  mess.Code
		did   string
	}{
		"idempotent": {0, mess.Completed, "switched"},
		"for a time": {6 * time.Second, mess.Failed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := &lampWithoutReadback{}
			withHarnessSetup(t, func(h *harness) {
				h.more = []device.Device{{Name: "fan", Driver: b}}
				plan := step("fan", true)
				plan.For = c.lasts
				h.sentences["fan on"] = capabilities.Outcome{Plan: &plan}
			}, func(h *harness) {
				ref := h.leaveCrashState("fan on", "fan on", 1)
				h.startAgent()
				h.advance(2 * time.Second)
				s := h.wantStatus(ref, c.code)
				if did := b.acts(); did != c.did {
					t.Errorf("acts are %q, want %q", did, c.did)
				}
				if c.code == mess.Completed {
					h.wantAnswer(ref, "the program died after it had begun, and has begun it again: the command may have been sent twice")
				} else if s.Reason.Effect != mess.EffectUnknown || *s.Recoverable {
					t.Errorf("%+v, recoverable %t", s.Reason, *s.Recoverable)
				}
			})
		})
	}
}

// The exchange learns that it must not offer an act with a duration to another executor.
func TestTimedActIsDoneOnce(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		plan := *h.sentences["turn on the porch light"].Plan
		plan.For = 6 * time.Second
		h.sentences["turn on the porch light for six seconds"] = capabilities.Outcome{Plan: &plan}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: turn on the porch light for six seconds}")
		if effect := h.thread(ref).Effect; effect != string(capabilities.Once) {
			t.Errorf("effect at the exchange is %q, want once", effect)
		}
	})
}

// A program that dies before the start has nothing to report. After its restart, the claims of
// its former run are over at once, and so are their confirmations.
func TestCrashBeforeStartIsOfferedAgain(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum both}")
		h.wantStatus(ref, mess.NeedsConfirmation)
		h.connection.setCut(true) // it dies
		h.wantStatus(ref, mess.NeedsConfirmation)
		h.restart()
		h.wantStatus(ref, mess.NeedsConfirmation)
		if got, want := h.statuses(ref), "claimed needs_confirmation pending claimed needs_confirmation"; got != want {
			h.t.Errorf("%s; want it claimed anew at once: %s", got, want)
		}
		if _, err := h.post(person, "reply: {re: "+ref+"/question-004, confirm: true}"); !errors.Is(err, mess.StaleToken) {
			h.t.Errorf("a confirmation for the question of the crashed run: %v, want it rejected", err)
		}
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
	})
}

// A program that ends returns its claims without a begun act, and reports that.
func TestShutdownBeforeStartReturnsClaims(t *testing.T) {
	for _, c := range []struct {
		intent string
		waits  mess.Code
		answer string
	}{
		{"vacuum both", mess.NeedsConfirmation, "reply: {re: {ref}, confirm: true}"},
		{"vacuum the kitchen", mess.NeedsInput, "reply: {re: {ref}, answers: {area: both}}"},
	} {
		t.Run(string(c.waits), func(t *testing.T) {
			withHarness(t, func(h *harness) {
				ref := h.send(requester, "request: {intent: "+c.intent+"}")
				h.wantStatus(ref, c.waits)
				h.stopAgent()
				s := h.wantStatus(ref, mess.Pending)
				if s.Code != mess.Delegated || s.Reason == nil || s.Reason.Detail == "" {
					h.t.Errorf("status is %+v, want delegated with a reason", s)
				}
				if _, err := h.post(person, strings.ReplaceAll(c.answer, "{ref}", ref)); !errors.Is(err, mess.IllegalTransition) {
					h.t.Errorf("an answer without a claim: %v, want it rejected", err)
				}
				h.startAgent()
				h.wantStatus(ref, c.waits)
			})
		})
	}
}

// If the exchange has given the thread up and offers it again before the restart, the agent
// reports the result of the first run, and then carries it out again.
func TestCrashOfManyHours(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.leaveCrashState("turn on the porch light", "turn on the porch light", 1)
		h.advance(3 * time.Hour)
		h.wantStatus(ref, mess.Pending)
		h.startAgent()
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Completed)
		if !strings.Contains(h.statuses(ref), "failed") || h.lamp.acts() != "on" {
			t.Errorf("%s; the lamp did %s", h.statuses(ref), h.lamp.acts())
		}
	})
}

func TestCrashWithLossOfJournal(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.leaveCrashState("ring the bell", "ring the bell", 1)
		h.dir = h.t.TempDir()
		h.startAgent()
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectUnknown || s.Suggestion == "" {
			t.Errorf("%+v", s.Reason)
		}
	})
}

func TestCrashDuringImageUpload(t *testing.T) {
	withHarness(t, func(h *harness) {
		d := &deathPoint{h: h, at: 1}
		h.connection.set(func(l *connection) { l.attach = func() error { return d.loseCall("picture") } })
		ref := h.startCleaning()
		h.advance(25 * time.Second)
		h.wantStatus(ref, mess.InProgress)
		h.restart()
		h.advance(10 * time.Second)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "has cleaned near sink and stove", "could not deliver the picture")
	})
}

// After a crash, the program waits for the same answer, which may arrive during the downtime or
// later. It asks once.
func TestCrashDuringQuestion(t *testing.T) {
	for _, late := range []bool{false, true} {
		withHarness(t, func(h *harness) {
			ref := h.send(requester, "request: {intent: vacuum the kitchen}")
			h.wantStatus(ref, mess.NeedsInput)
			h.connection.setCut(true) // it dies
			answer := "reply: {re: " + ref + "/question-002, answers: {area: stove}}"
			if !late {
				h.send(person, answer)
			}
			h.restart()
			if late {
				h.wantStatus(ref, mess.NeedsInput)
				h.advance(time.Hour)
				h.send(person, answer)
			}
			h.wantStatus(ref, mess.NeedsConfirmation)
			h.send(person, "reply: {re: "+ref+", confirm: true}")
			h.advance(time.Minute)
			h.wantStatus(ref, mess.Completed)
			if codes := h.statuses(ref); strings.Count(codes, "needs_input") != 1 || strings.Count(codes, "claimed") != 1 || h.vacuum.acts() != "clean stove" {
				h.t.Errorf("%s; the vacuum did %q", codes, h.vacuum.acts())
			}
			if left := h.journal.Tasks(); len(left) > 0 {
				h.t.Errorf("left in the journal: %+v", left)
			}
		})
	}
}

// A thread that waits for an answer keeps its lease after a crash, although no claim of this
// run has reported the duration of the lease.
func TestShortLeaseIsKeptAfterCrash(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.close()
		cfg := exchange.DefaultConfig()
		cfg.Lease = 9 * time.Second // the default heartbeat interval is 10 s
		h.openExchange(cfg)
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum the kitchen}")
		h.wantStatus(ref, mess.NeedsInput)
		h.connection.setCut(true)
		h.restart()
		h.advance(time.Minute)
		if got, want := h.statuses(ref), "claimed needs_input"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// After too long a downtime, another executor has the thread, or the agent asks again; the
// journal does not wait.
func TestLongDowntimeDuringQuestion(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum the kitchen}")
		h.wantStatus(ref, mess.NeedsInput)
		h.connection.setCut(true)
		h.send(requester, "cancel: {re: "+ref+"}")
		h.restart()
		h.wantStatus(ref, mess.Cancelled)
		if left := h.journal.Tasks(); len(left) > 0 {
			h.t.Errorf("left in the journal: %+v", left)
		}
	})
}

// A dead process may leave a command on its way. The end says so, and the agent adds a late act
// that the next process sees to the thread.
func TestCommandOfDeadProcessMayStillAct(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.leaveCrashState("ring the bell", "ring the bell", 1)
		h.startAgent()
		h.advance(2 * time.Second)
		s := h.wantStatus(ref, mess.Failed)
		if s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "may still act") {
			t.Errorf("reason is %+v, want the hint that the device may still act", s.Reason)
		}
		h.lamp.set(func(l *lamp) { l.on = true })
		h.advance(5 * time.Second)
		if n := len(h.lateActs(ref)); n != 1 {
			t.Errorf("%d late acts are reported, want 1", n)
		}
	})
}

// The agent does not read a quarantined device, and the end says that the device may still act.
func TestQuarantinedCommandMayStillAct(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.leaveCrashState("turn on the porch light", "turn on the porch light", 2)
		h.startAgent()
		h.advance(2 * time.Second)
		if s := h.wantStatus(ref, mess.Failed); !strings.Contains(s.Reason.Detail, "quarantined") || !strings.Contains(s.Reason.Detail, "may still act") {
			t.Errorf("reason is %+v, want quarantined and a possible late act", s.Reason)
		}
	})
}
