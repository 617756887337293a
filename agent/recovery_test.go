package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/mess"
)

// diesAt lets the program die at the first place of that name.
func (h *house) diesAt(where string) *death {
	d := &death{h: h, place: where}
	d.armed()
	return d
}

// Possible statuses of a thread after a crash.
var (
	begunAnew = stand{code: mess.Completed, codes: 2, acts: 1} // offered again and completed
	doneAgain = stand{code: mess.Completed, codes: 1, acts: 1} // continued under the same claim
	doneOnce  = stand{code: mess.Completed, codes: 1, acts: 1}
	notKnown  = stand{code: mess.Failed, codes: 1, acts: 1, effect: mess.EffectUnknown}
	redone    = stand{code: mess.Pending, codes: 1}
)

type stand struct {
	code   mess.Code
	codes  int // number of claims
	acts   int // number of acts that the device saw
	effect mess.Effect
	again  bool // recoverable
}

func (s stand) seen(acts int) stand { s.acts = acts; return s }

// The program dies at every point of the table in execution.md, with every class of effect. The
// exchange reports the status of the table, and the device has seen no more acts than allowed.
func TestCrashTable(t *testing.T) {
	intents := []string{"is the porch light on?", "turn on the porch light", "ring the bell", "vacuum both"}
	for _, c := range []struct {
		point string
		place string
		back  bool     // the program starts again
		want  [4]stand // for a query, an idempotent plan, a plan for once with readback, and one without
	}{
		{"before the gate", "before sending in_progress", true, [4]stand{begunAnew.seen(0), begunAnew, begunAnew, begunAnew}},
		{"after the gate, before the intent", "after sending in_progress", true, [4]stand{begunAnew.seen(0), begunAnew, begunAnew, begunAnew}},
		{"after the intent, before the act", "before the act", true, [4]stand{doneAgain.seen(0), doneAgain, notKnown.seen(0), notKnown.seen(0)}},
		{"after the act, before its result", "after the act", true, [4]stand{doneAgain.seen(0), doneOnce, doneOnce, notKnown}},
		{"after the result, before the look", "before the look", true, [4]stand{doneAgain.seen(0), doneOnce, doneOnce, doneOnce}},
		{"after the result, before the report", "before sending completed", true, [4]stand{doneOnce.seen(0), doneOnce, doneOnce, doneOnce}},
		{"after the report, before that is noted", "after sending completed", true, [4]stand{doneOnce.seen(0), doneOnce, doneOnce, doneOnce}},
		{"gone for good after the act", "after the act", false, [4]stand{redone, redone.seen(1), notKnown, notKnown}},
	} {
		for i, intent := range intents {
			t.Run(c.point+"/"+intent, func(t *testing.T) {
				inHouse(t, func(h *house) {
					place := c.place
					if i == 0 && (place == "before the act" || place == "after the act") {
						place = "before the look" // a question acts by reading
					}
					if i == 3 && place == "after the act" {
						place = "after an act" // the first of two
					}
					d := h.diesAt(place)
					ref := h.says(claude, `request: {intent: "`+intent+`"}`)
					h.confirms(ref, 30*time.Second)
					if dead, _, _ := d.came(); !dead {
						h.t.Fatalf("it has not died %s; %s", place, h.codes(ref))
					}
					if c.back {
						h.reboots()
						h.confirms(ref, 10*time.Minute)
					} else {
						h.after(3 * time.Hour)
					}
					h.stands(ref, c.want[i])
				})
			})
		}
	}
}

// stands compares the status of a thread with the expected one.
func (h *house) stands(ref string, want stand) {
	h.t.Helper()
	s := h.is(ref, want.code)
	acts := strings.Count(h.lamp.did(), "on") + strings.Count(h.vacuum.did(), "clean")
	if claims := strings.Count(h.codes(ref), "claimed"); acts != want.acts || claims != want.codes {
		h.t.Errorf("claimed %d times, %d acts; want %d and %d: %s", claims, acts, want.codes, want.acts, h.codes(ref))
	}
	if want.code != mess.Failed {
		return
	}
	if s.Reason.Type != "interrupted" || s.Reason.Effect != want.effect || *s.Recoverable != want.again {
		h.t.Errorf("%+v, recoverable %v; want effect %s, recoverable %v", s.Reason, *s.Recoverable, want.effect, want.again)
	}
	if unknown := want.effect == mess.EffectUnknown; unknown != (s.Suggestion == "look before retrying") {
		h.t.Errorf("it suggests %q", s.Suggestion)
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
			inHouse(t, func(h *house) {
				d := h.diesAt(c.place)
				ref := h.says(claude, `request: {intent: "`+c.intent+`"}`)
				for start := 1; ; start++ {
					h.after(5 * time.Second)
					if dead, _, _ := d.came(); !dead {
						h.t.Fatalf("start %d: it has not died", start)
					}
					if start == c.starts {
						break
					}
					d = h.rebootsTo(c.place)
				}
				if c.intent == "ring the bell" { // the reading of the device kills it, too
					d = h.rebootsTo("before the look")
					if dead, _, _ := d.came(); !dead {
						h.t.Fatal("it has not looked")
					}
				}
				d = h.rebootsTo("before the look")
				h.after(10 * time.Second)
				if dead, _, _ := d.came(); dead {
					h.t.Fatal("it has died of it again")
				}
				if s := h.is(ref, mess.Failed); s.Reason.Effect != c.effect || !strings.Contains(s.Reason.Detail, "died 2 times") || !strings.Contains(s.Reason.Detail, "quarantined") {
					h.t.Errorf("%+v", s.Reason)
				}
				h.is(h.says(claude, `request: {intent: "what's in the fridge?"}`), mess.Completed)
			})
		})
	}
}

// rebootsTo starts the program again, which dies at the next place of that name.
func (h *house) rebootsTo(where string) *death {
	h.t.Helper()
	copied := h.dir
	h.stopAgent() // it has no connections any more
	h.dir = copied
	h.line = &line{to: h.x.As(h.pi(), "test")}
	d := h.diesAt(where)
	h.startAgent()
	return d
}

// The agent reports threads that were open at its start to the code that arms it.
func TestOpenThreadsAreReportedAtStart(t *testing.T) {
	inHouse(t, func(h *house) {
		d := h.diesAt("before the act")
		ref := h.says(claude, "request: {intent: ring the bell}")
		if dead, _, _ := d.came(); !dead || len(h.journal.OpenAtStart()) > 0 {
			h.t.Fatalf("dead %v, unclean %v", dead, h.journal.OpenAtStart())
		}
		h.reboots()
		if got := strings.Join(h.journal.OpenAtStart(), " "); got != ref {
			h.t.Errorf("unclean: %q, want %s", got, ref)
		}
		h.after(time.Minute)
		h.stopAgent()
		h.startAgent()
		if got := h.journal.OpenAtStart(); len(got) > 0 {
			h.t.Errorf("unclean after a clean stop: %v", got)
		}
	})
}

// While the journal fails, the agent offers only reading; requests for acts wait.
func TestFailedJournalWithdrawsActs(t *testing.T) {
	inHouse(t, func(h *house) {
		if got := h.offered(); got != "switch take-photo vacuum-floor" {
			h.t.Fatalf("offered: %s", got)
		}
		if err := h.journal.Close(); err != nil {
			h.t.Fatal(err)
		}
		h.after(time.Minute)
		if got := h.offered(); got != "take-photo" {
			h.t.Errorf("offered while the journal cannot be written: %s", got)
		}
		waits := h.says(claude, "request: {intent: turn on the porch light, requires: [switch]}")
		h.is(waits, mess.Pending)
		h.is(h.says(claude, `request: {intent: "what's in the fridge?", requires: [take-photo]}`), mess.Completed)
		h.reboots() // with a working journal
		h.after(time.Minute)
		if got := h.offered(); got != "switch take-photo vacuum-floor" {
			h.t.Errorf("offered again: %s", got)
		}
		h.is(waits, mess.Completed)
	})
}

// offered returns the agent's capabilities at the exchange.
func (h *house) offered() string {
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
	inHouse(t, func(h *house) {
		h.lamp.set(func(l *lamp) {
			l.running = func() {
				if err := h.journal.Close(); err != nil {
					h.t.Error(err)
				}
			}
		})
		h.is(h.says(claude, "request: {intent: ring the bell}"), mess.Completed)
	})
}

// The exchange is away for three days (F5). Running work ends, no other work begins, and the
// agent reports every end afterwards: the exchange has given the threads up and keeps the
// reports as evidence.
func TestThreeDaysWithoutExchange(t *testing.T) {
	inHouse(t, func(h *house) {
		h.lamp.set(func(l *lamp) { l.takes = 10 * time.Second })
		begun := []string{h.cleaning(), h.says(claude, "request: {intent: ring the bell}")}
		h.after(time.Second)
		h.line.cutIt(true)
		waits := h.says(claude, "request: {intent: ring the bell}")
		h.after(72 * time.Hour)
		if h.lamp.did() != "on" || h.vacuum.did() != "clean near sink+stove" {
			h.t.Errorf("the lamp did %q, the vacuum %q", h.lamp.did(), h.vacuum.did())
		}
		kept := h.journal.Tasks()
		for _, task := range kept {
			if task.Report == nil {
				h.t.Errorf("%s has no report", task.Ref)
			}
		}
		if len(kept) != len(begun) {
			h.t.Errorf("%d reports are kept, want %d", len(kept), len(begun))
		}
		h.line.cutIt(false)
		h.after(5 * time.Minute)
		for _, ref := range begun {
			if codes := h.codes(ref); !strings.HasSuffix(codes, "completed") {
				h.t.Errorf("%s: what was done is not told: %s", ref, codes)
			}
		}
		if left := h.journal.Tasks(); len(left) > 0 {
			h.t.Errorf("%d threads are left in the journal", len(left))
		}
		h.is(waits, mess.Completed)
	})
}

// A report waits for up to a minute while the exchange is away. The first successful heartbeat
// ends that wait.
func TestReportFollowsFirstHeartbeat(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.cfg.Jitter = func(limit time.Duration) time.Duration { return limit }
	}, func(h *house) {
		ref := h.cleaning()
		h.after(time.Second)
		h.line.cutIt(true)
		h.after(time.Hour)
		h.line.cutIt(false)
		h.after(h.cfg.Heartbeat + 2*time.Second)
		h.is(ref, mess.Completed)
	})
}

// A thread whose program died between the start permission and the intent goes back as long as
// possible. It ends with no effect if that happened too often, or after a cancel.
func TestReturnsOfThreadAreLimited(t *testing.T) {
	inHouse(t, func(h *house) {
		d := h.diesAt("after sending in_progress")
		ref := h.says(claude, "request: {intent: ring the bell}")
		for range 2 {
			if dead, _, _ := d.came(); !dead {
				h.t.Fatalf("it has not died: %s", h.codes(ref))
			}
			d = h.rebootsTo("after sending in_progress")
			h.after(5 * time.Second)
		}
		h.reboots()
		h.after(5 * time.Second)
		if s := h.is(ref, mess.Failed); s.Reason.Effect != mess.EffectNone || h.lamp.did() != "" || !*s.Recoverable {
			h.t.Errorf("%+v; the lamp did %q", s.Reason, h.lamp.did())
		}
		if got, want := h.codes(ref), "claimed in_progress delegated claimed in_progress delegated claimed in_progress failed"; got != want {
			h.t.Errorf("%s; want %s", got, want)
		}
	})
	inHouse(t, func(h *house) {
		d := h.diesAt("after sending in_progress")
		ref := h.says(claude, "request: {intent: ring the bell}")
		if dead, _, _ := d.came(); !dead {
			h.t.Fatal("it has not died")
		}
		h.says(claude, "cancel: {re: "+ref+"}")
		h.reboots()
		h.after(5 * time.Second)
		if s := h.is(ref, mess.Failed); s.Reason.Effect != mess.EffectNone || h.lamp.did() != "" {
			h.t.Errorf("%+v; the lamp did %q", s.Reason, h.lamp.did())
		}
	})
}

// The agent retries a sentence that kills the program before the claim once, and other requests
// continue.
func TestFatalSentenceIsRetriedOnce(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.gateCfg.Devices = map[string]policy.Limits{"vacuum": {Requires: []policy.Condition{{Device: "porch-lamp", Is: "off"}}}}
	}, func(h *house) {
		d := h.diesAt("before the look") // at the lamp, during planning
		ref := h.says(claude, "request: {intent: vacuum both}")
		for range 2 {
			h.after(5 * time.Second)
			if dead, _, _ := d.came(); !dead {
				h.t.Fatalf("it has not died: %s", h.codes(ref))
			}
			d = h.rebootsTo("before the look")
		}
		h.after(10 * time.Second)
		if dead, _, _ := d.came(); dead {
			h.t.Fatal("it has died of it again")
		}
		if s := h.is(ref, mess.Declined); s.Reason == nil || !strings.Contains(s.Reason.Detail, "died 2 times while it looked at this request; the agent has quarantined it") {
			h.t.Errorf("%+v", s.Reason)
		}
		h.is(h.says(claude, `request: {intent: "what's in the fridge?"}`), mess.Completed)
	})
}
