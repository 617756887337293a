package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/mess"
)

// dieAt lets the program die at the first place of that name.
func (h *harness) dieAt(where string) *deathPoint {
	d := &deathPoint{h: h, place: where}
	d.install()
	return d
}

// Possible statuses of a thread after a crash.
var (
	startedAgain    = expectedOutcome{code: mess.Completed, codes: 2, acts: 1} // offered again and completed
	repeatedAndDone = expectedOutcome{code: mess.Completed, codes: 1, acts: 1} // continued under the same claim
	doneOnce        = expectedOutcome{code: mess.Completed, codes: 1, acts: 1}
	unknownEffect   = expectedOutcome{code: mess.Failed, codes: 1, acts: 1, effect: mess.EffectUnknown}
	redone          = expectedOutcome{code: mess.Pending, codes: 1}
)

type expectedOutcome struct {
	code   mess.Code
	codes  int // number of claims
	acts   int // number of acts that the device saw
	effect mess.Effect
	again  bool // recoverable
}

func (s expectedOutcome) withActs(acts int) expectedOutcome { s.acts = acts; return s }

// The program dies at every point of the table in execution.md, with every class of effect. The
// exchange reports the status of the table, and the device has seen no more acts than allowed.
func TestCrashTable(t *testing.T) {
	intents := []string{"is the porch light on?", "turn on the porch light", "ring the bell", "vacuum both"}
	for _, c := range []struct {
		point string
		place string
		back  bool               // the program starts again
		want  [4]expectedOutcome // for a query, an idempotent plan, a plan for once with readback, and one without
	}{
		{"before the start permission", "before sending in_progress", true, [4]expectedOutcome{startedAgain.withActs(0), startedAgain, startedAgain, startedAgain}},
		{"after the start permission, before the intent", "after sending in_progress", true, [4]expectedOutcome{startedAgain.withActs(0), startedAgain, startedAgain, startedAgain}},
		{"after the intent, before the act", "before the act", true, [4]expectedOutcome{repeatedAndDone.withActs(0), repeatedAndDone, unknownEffect.withActs(0), unknownEffect.withActs(0)}},
		{"after the act, before its result", "after the act", true, [4]expectedOutcome{repeatedAndDone.withActs(0), doneOnce, doneOnce, unknownEffect}},
		{"after the result, before the look", "before the look", true, [4]expectedOutcome{repeatedAndDone.withActs(0), doneOnce, doneOnce, doneOnce}},
		{"after the result, before the report", "before sending completed", true, [4]expectedOutcome{doneOnce.withActs(0), doneOnce, doneOnce, doneOnce}},
		{"after the report, before that is noted", "after sending completed", true, [4]expectedOutcome{doneOnce.withActs(0), doneOnce, doneOnce, doneOnce}},
		{"gone for good after the act", "after the act", false, [4]expectedOutcome{redone, redone.withActs(1), unknownEffect, unknownEffect}},
	} {
		for i, intent := range intents {
			t.Run(c.point+"/"+intent, func(t *testing.T) {
				withHarness(t, func(h *harness) {
					place := c.place
					if i == 0 && (place == "before the act" || place == "after the act") {
						place = "before the look" // a question acts by reading
					}
					if i == 3 && place == "after the act" {
						place = "after an act" // the first of two
					}
					d := h.dieAt(place)
					ref := h.send(requester, `request: {intent: "`+intent+`"}`)
					h.confirmAll(ref, 30*time.Second)
					if dead, _, _ := d.hasDied(); !dead {
						h.t.Fatalf("no crash %s; statuses are %s", place, h.statuses(ref))
					}
					if c.back {
						h.restart()
						h.confirmAll(ref, 10*time.Minute)
					} else {
						h.advance(3 * time.Hour)
					}
					h.wantOutcome(ref, c.want[i])
				})
			})
		}
	}
}

// wantOutcome compares the status of a thread with the expected one.
func (h *harness) wantOutcome(ref string, want expectedOutcome) {
	h.t.Helper()
	s := h.wantStatus(ref, want.code)
	acts := strings.Count(h.lamp.acts(), "on") + strings.Count(h.vacuum.acts(), "clean")
	if claims := strings.Count(h.statuses(ref), "claimed"); acts != want.acts || claims != want.codes {
		h.t.Errorf("claimed %d times, %d acts; want %d and %d: %s", claims, acts, want.codes, want.acts, h.statuses(ref))
	}
	if want.code != mess.Failed {
		return
	}
	if s.Reason.Type != "interrupted" || s.Reason.Effect != want.effect || *s.Recoverable != want.again {
		h.t.Errorf("%+v, recoverable %v; want effect %s, recoverable %v", s.Reason, *s.Recoverable, want.effect, want.again)
	}
	if unknown := want.effect == mess.EffectUnknown; unknown != (s.Suggestion == "look before retrying") {
		h.t.Errorf("suggestion is %q", s.Suggestion)
	}
}

// The agent repeats a task that kills the program at most once, for any cause: then it
// quarantines the task and reports its end, and other tasks continue.
func TestFatalTaskIsQuarantined(t *testing.T) {
	for _, c := range []struct {
		intent string
		place  string // place of each death
		starts int    // number of starts until the quarantine
		effect mess.Effect
	}{
		{"is the porch light on?", "before the look", 2, mess.EffectNone},
		{"turn on the porch light", "before the act", 2, mess.EffectUnknown},
		{"ring the bell", "before the act", 1, mess.EffectUnknown},
	} {
		t.Run(c.intent, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				d := h.dieAt(c.place)
				ref := h.send(requester, `request: {intent: "`+c.intent+`"}`)
				for start := 1; ; start++ {
					h.advance(5 * time.Second)
					if dead, _, _ := d.hasDied(); !dead {
						h.t.Fatalf("start %d: no crash, want one", start)
					}
					if start == c.starts {
						break
					}
					d = h.restartUntil(c.place)
				}
				if c.intent == "ring the bell" { // the reading of the device kills it, too
					d = h.restartUntil("before the look")
					if dead, _, _ := d.hasDied(); !dead {
						h.t.Fatal("no crash at the read of the device, want one")
					}
				}
				d = h.restartUntil("before the look")
				h.advance(10 * time.Second)
				if dead, _, _ := d.hasDied(); dead {
					h.t.Fatal("the program crashed again, want a run without a crash")
				}
				if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != c.effect || !strings.Contains(s.Reason.Detail, "died 2 times") || !strings.Contains(s.Reason.Detail, "quarantined") {
					h.t.Errorf("%+v", s.Reason)
				}
				h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?"}`), mess.Completed)
			})
		})
	}
}

// restartUntil starts the program again, which dies at the next place of that name.
func (h *harness) restartUntil(where string) *deathPoint {
	h.t.Helper()
	copied := h.dir
	h.stopAgent() // it has no connections any more
	h.dir = copied
	h.connection = &connection{to: h.x.As(h.actor(), "test")}
	d := h.dieAt(where)
	h.startAgent()
	return d
}

// The agent reports threads that were open at its start to the code that arms it.
func TestOpenThreadsAreReportedAtStart(t *testing.T) {
	withHarness(t, func(h *harness) {
		d := h.dieAt("before the act")
		ref := h.send(requester, "request: {intent: ring the bell}")
		if dead, _, _ := d.hasDied(); !dead || len(h.journal.OpenAtStart()) > 0 {
			h.t.Fatalf("dead %v, unclean %v", dead, h.journal.OpenAtStart())
		}
		h.restart()
		if got := strings.Join(h.journal.OpenAtStart(), " "); got != ref {
			h.t.Errorf("unclean: %q, want %s", got, ref)
		}
		h.advance(time.Minute)
		h.stopAgent()
		h.startAgent()
		if got := h.journal.OpenAtStart(); len(got) > 0 {
			h.t.Errorf("unclean after a clean stop: %v", got)
		}
	})
}

// While the journal fails, the agent offers only reading; requests for acts wait.
func TestFailedJournalWithdrawsActs(t *testing.T) {
	withHarness(t, func(h *harness) {
		if got := h.offeredCapabilities(); got != "switch take-photo vacuum-floor" {
			h.t.Fatalf("offered: %s", got)
		}
		if err := h.journal.Close(); err != nil {
			h.t.Fatal(err)
		}
		h.advance(time.Minute)
		if got := h.offeredCapabilities(); got != "take-photo" {
			h.t.Errorf("offered while the journal cannot be written: %s", got)
		}
		waits := h.send(requester, "request: {intent: turn on the porch light, requires: [switch]}")
		h.wantStatus(waits, mess.Pending)
		h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?", requires: [take-photo]}`), mess.Completed)
		h.restart() // with a working journal
		h.advance(time.Minute)
		if got := h.offeredCapabilities(); got != "switch take-photo vacuum-floor" {
			h.t.Errorf("offered again: %s", got)
		}
		h.wantStatus(waits, mess.Completed)
	})
}

// offeredCapabilities returns the agent's capabilities at the exchange.
func (h *harness) offeredCapabilities() string {
	var ids []string
	for _, e := range h.x.Executors() {
		if e.ID == h.cfg.ID {
			for _, c := range e.Capabilities {
				ids = append(ids, c.ID)
			}
		}
	}
	return strings.Join(ids, " ")
}

// The agent sends a report even if the journal fails.
func TestReportWithoutJournalIsSent(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.lamp.set(func(l *lamp) {
			l.running = func() {
				if err := h.journal.Close(); err != nil {
					h.t.Error(err)
				}
			}
		})
		h.wantStatus(h.send(requester, "request: {intent: ring the bell}"), mess.Completed)
	})
}

// The exchange is away for three days (F5). Running work ends, no other work begins, and the
// agent reports every end afterwards: the exchange has given the threads up and keeps the
// reports as evidence.
func TestThreeDaysWithoutExchange(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.lamp.set(func(l *lamp) { l.takes = 10 * time.Second })
		before := []string{h.startCleaning(), h.send(requester, "request: {intent: ring the bell}")}
		h.advance(time.Second)
		h.connection.setCut(true)
		waits := h.send(requester, "request: {intent: ring the bell}")
		h.advance(72 * time.Hour)
		if h.lamp.acts() != "on" || h.vacuum.acts() != "clean near sink+stove" {
			h.t.Errorf("the lamp did %q, the vacuum %q", h.lamp.acts(), h.vacuum.acts())
		}
		kept := h.journal.Tasks()
		for _, task := range kept {
			if task.Report == nil {
				h.t.Errorf("%s has no report", task.Ref)
			}
		}
		if len(kept) != len(before) {
			h.t.Errorf("%d reports are kept, want %d", len(kept), len(before))
		}
		h.connection.setCut(false)
		h.advance(5 * time.Minute)
		for _, ref := range before {
			if codes := h.statuses(ref); !strings.HasSuffix(codes, "completed") {
				h.t.Errorf("%s: statuses are %s, want completed at the end", ref, codes)
			}
		}
		if left := h.journal.Tasks(); len(left) > 0 {
			h.t.Errorf("%d threads are left in the journal", len(left))
		}
		h.wantStatus(waits, mess.Completed)
	})
}

// A report waits for up to a minute while the exchange is away. The first successful heartbeat
// ends that wait.
func TestReportFollowsFirstHeartbeat(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Jitter = func(limit time.Duration) time.Duration { return limit }
	}, func(h *harness) {
		ref := h.startCleaning()
		h.advance(time.Second)
		h.connection.setCut(true)
		h.advance(time.Hour)
		h.connection.setCut(false)
		h.advance(h.cfg.Heartbeat + 2*time.Second)
		h.wantStatus(ref, mess.Completed)
	})
}

// A thread whose program died between the start permission and the intent goes back as long as
// possible. It ends with no effect if that happened too often, or after a cancel.
func TestReturnsOfThreadAreLimited(t *testing.T) {
	withHarness(t, func(h *harness) {
		d := h.dieAt("after sending in_progress")
		ref := h.send(requester, "request: {intent: ring the bell}")
		for range 2 {
			if dead, _, _ := d.hasDied(); !dead {
				h.t.Fatalf("no crash; statuses are %s", h.statuses(ref))
			}
			d = h.restartUntil("after sending in_progress")
			h.advance(5 * time.Second)
		}
		h.restart()
		h.advance(5 * time.Second)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectNone || h.lamp.acts() != "" || !*s.Recoverable {
			h.t.Errorf("%+v; the lamp did %q", s.Reason, h.lamp.acts())
		}
		if got, want := h.statuses(ref), "claimed in_progress delegated claimed in_progress delegated claimed in_progress failed"; got != want {
			h.t.Errorf("%s; want %s", got, want)
		}
	})
	withHarness(t, func(h *harness) {
		d := h.dieAt("after sending in_progress")
		ref := h.send(requester, "request: {intent: ring the bell}")
		if dead, _, _ := d.hasDied(); !dead {
			h.t.Fatal("no crash, want one")
		}
		h.send(requester, "cancel: {re: "+ref+"}")
		h.restart()
		h.advance(5 * time.Second)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectNone || h.lamp.acts() != "" {
			h.t.Errorf("%+v; the lamp did %q", s.Reason, h.lamp.acts())
		}
	})
}

// The agent retries a sentence that kills the program before the claim once, and other requests
// continue.
func TestFatalSentenceIsRetriedOnce(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.policyCfg.Devices = map[string]settings.Limits{"vacuum": {Requires: []settings.Condition{{Device: "porch-lamp", Is: "off"}}}}
	}, func(h *harness) {
		d := h.dieAt("before the look") // at the lamp, during planning
		ref := h.send(requester, "request: {intent: vacuum both}")
		for range 2 {
			h.advance(5 * time.Second)
			if dead, _, _ := d.hasDied(); !dead {
				h.t.Fatalf("no crash; statuses are %s", h.statuses(ref))
			}
			d = h.restartUntil("before the look")
		}
		h.advance(10 * time.Second)
		if dead, _, _ := d.hasDied(); dead {
			h.t.Fatal("the program crashed again, want a run without a crash")
		}
		if s := h.wantStatus(ref, mess.Declined); s.Reason == nil || !strings.Contains(s.Reason.Detail, "died 2 times while it read this request; the agent has quarantined it") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.wantStatus(h.send(requester, `request: {intent: "what's in the fridge?"}`), mess.Completed)
	})
}
