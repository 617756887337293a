package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

func TestPrintCompletes(t *testing.T) {
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		h.advance(pressTime)
		if s := h.wantStatus(ref, mess.Completed); s.Evidence != mess.Photographed {
			t.Errorf("%+v", s)
		}
		h.wantAnswer(ref, "The printer has printed benchy.gcode in 100 layers.", "The picture is from the fridge.")
		h.image(ref)
		p.wantLog(t, "print benchy")
	})
}

func TestPrintIsCancelled(t *testing.T) {
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		h.send(requester, "cancel: {re: "+ref+"}")
		h.advance(time.Second)
		s := h.wantStatus(ref, mess.Cancelled)
		if s.Reason.Effect != mess.EffectPartial || !strings.Contains(s.Reason.Detail, "done: layers 1 to 30; not done: layers 31 to 100") {
			t.Errorf("%+v", s.Reason)
		}
		h.wantAnswer(ref, "a half print lies on the bed")
		h.image(ref)
		p.wantLog(t, "print benchy, stop")
	})
}

// A print that is cancelled before its begin ends when it begins.
func TestPrintCancelledBeforeItsBegin(t *testing.T) {
	p := &fakePrinter{slow: true}
	withHarnessSetup(t, func(h *harness) {
		h.more = []device.Device{{Name: "press", Label: "printer", Driver: p}}
		h.sentences["print"] = pressOutcome(capabilities.Print)
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: print}")
		h.advance(2 * time.Second)
		h.send(requester, "cancel: {re: "+ref+"}")
		h.advance(time.Second)
		if s := h.wantStatus(ref, mess.Cancelled); s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "it may still act") {
			t.Errorf("%+v", s.Reason)
		}
		p.wantLog(t, "print benchy")
		p.set(func() { p.began = time.Now() })
		h.advance(time.Minute)
		p.wantLog(t, "print benchy, stop")
	})
}

// With an unreachable printer, the requester learns of that, and of the last progress.
func TestUnreachablePrinterIsReported(t *testing.T) {
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		p.set(func() { p.away = 60 })
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.InProgress); s.ProgressPct == nil || *s.ProgressPct != 30 || !strings.Contains(s.Message, "out of reach, and asked again; last report: printing") {
			t.Errorf("%+v", s)
		}
		h.advance(pressTime)
		h.wantStatus(ref, mess.Completed)
		p.wantLog(t, "print benchy")
	})
}

// Another request may steer a print without waiting for its end.
func TestRequestSteersRunningPrint(t *testing.T) {
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		h.wantStatus(h.send(person, "request: {intent: hold}"), mess.Completed)
		h.wantStatus(ref, mess.InProgress)
		p.wantLog(t, "print benchy, pause")
		h.wantStatus(h.send(person, "request: {intent: end}"), mess.Completed)
		p.set(func() { p.broken = errors.New("somebody has cancelled it at the printer") })
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.Partial); !strings.Contains(s.Reason.Detail, "somebody has cancelled it") {
			t.Errorf("%+v", s.Reason)
		}
		p.wantLog(t, "print benchy, pause, stop")
	})
}

func TestPrinterNeedsPerson(t *testing.T) {
	for answer, want := range map[string]struct {
		code mess.Code
		did  string
	}{
		"go on":  {mess.Completed, "print benchy, resume"},
		"cancel": {mess.Partial, "print benchy, stop"},
	} {
		withPrint(t, func(h *harness, p *fakePrinter, ref string) {
			p.set(func() {
				p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the filament has run out", Help: "load new filament"}
			})
			h.advance(time.Minute)
			s := h.wantStatus(ref, mess.NeedsInput)
			if q := s.Questions[0]; q.Question != "The printer: the filament has run out; load new filament. Shall it go on?" || strings.Join(q.Options, ", ") != "go on, cancel" {
				t.Errorf("%+v", q)
			}
			h.advance(time.Hour)
			h.wantStatus(ref, mess.NeedsInput)
			h.send(requester, "answer: {re: "+ref+", value: "+answer+"}")
			h.advance(pressTime)
			h.wantStatus(ref, want.code)
			p.wantLog(t, want.did)
		})
	}
	// Any other answer moves nothing, and the question comes again.
	for _, answer := range []string{`"no"`, "false", `"wait"`, `"the red one"`, `"yes, but not so hot"`} {
		withPrint(t, func(h *harness, p *fakePrinter, ref string) {
			p.set(func() { p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the door is open", Help: "close it"} })
			h.advance(time.Minute)
			h.send(requester, "answer: {re: "+ref+", value: "+answer+"}")
			h.advance(time.Minute)
			h.wantStatus(ref, mess.NeedsInput)
			p.wantLog(t, "print benchy")
			h.send(requester, "answer: {re: "+ref+`, value: "stop"}`)
			h.advance(time.Minute)
			h.wantStatus(ref, mess.Partial)
			p.wantLog(t, "print benchy, stop")
		})
	}
	// An answer counts for the current trouble, and not for an earlier one.
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		for range 3 {
			p.set(func() { p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the door is open", Help: "close it"} })
			h.advance(time.Minute)
			h.wantStatus(ref, mess.NeedsInput)
			p.set(func() { p.began, p.held, p.help = p.began.Add(time.Since(p.held)), time.Time{}, nil })
			h.advance(time.Minute)
		}
		p.set(func() { p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the door is open", Help: "close it"} })
		h.advance(time.Minute)
		h.send(requester, "answer: {re: "+ref+", value: cancel}")
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Partial)
		p.wantLog(t, "print benchy, stop")
	})
	// After help at the printer, no answer is needed.
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		p.set(func() { p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the door is open", Help: "close it"} })
		h.advance(time.Minute)
		h.wantStatus(ref, mess.NeedsInput)
		p.set(func() { p.began, p.held, p.help = p.began.Add(time.Since(p.held)), time.Time{}, nil })
		h.advance(time.Minute)
		h.wantStatus(ref, mess.InProgress)
		h.advance(pressTime)
		h.wantStatus(ref, mess.Completed)
		p.wantLog(t, "print benchy")
	})
}

// A failed print reports the completed part and advice for a person.
func TestFailedPrintReportsProgress(t *testing.T) {
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		p.set(func() { p.broken = &drivers.HelpError{Problem: "thermal runaway", Help: "let it cool down"} })
		h.advance(time.Minute)
		s := h.wantStatus(ref, mess.Partial)
		if s.Reason.Type != "needs_person" || s.Suggestion != "let it cool down" || !strings.Contains(s.Reason.Detail, "done: layers 1 to 3") {
			t.Errorf("%+v %+v", s, s.Reason)
		}
	})
}

// The program may end or die at any time: the print begins once, and its end is reported.
func TestPrintSurvivesProgram(t *testing.T) {
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		for range 3 {
			h.stopAgent()
			p.set(func() { p.away = 3 })
			h.advance(100 * time.Second)
			h.startAgent()
			h.advance(time.Minute)
			h.wantStatus(ref, mess.InProgress)
		}
		h.advance(pressTime)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "The printer has printed benchy.gcode")
		p.wantLog(t, "print benchy")
		if p.left != 3 || p.halted != 0 {
			t.Errorf("left %d times, halted %d times", p.left, p.halted)
		}
	})
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		h.stopAgent()
		p.set(func() { p.began = time.Time{} }) // and the printer does not know it
		h.startAgent()
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "cannot find its print again") {
			t.Errorf("%+v", s.Reason)
		}
		p.wantLog(t, "print benchy")
	})
	withPrint(t, func(h *harness, p *fakePrinter, ref string) {
		h.stopAgent()
		h.send(requester, "cancel: {re: "+ref+"}") // during that time
		h.startAgent()
		h.advance(time.Minute)
		h.wantStatus(ref, mess.Cancelled)
		p.wantLog(t, "print benchy, stop")
	})
}

// A program that dies just after its print command finds the print that begins later, and
// reports it even if it is cancelled first; it also reports if no print begins.
func TestPrintBeginsAfterProgramDied(t *testing.T) {
	for _, then := range []mess.Code{mess.Completed, mess.Cancelled, mess.Failed} {
		p := &fakePrinter{slow: true}
		withHarnessSetup(t, func(h *harness) {
			h.more = []device.Device{{Name: "press", Label: "printer", Driver: p}}
			h.sentences["print"] = pressOutcome(capabilities.Print)
		}, func(h *harness) {
			ref := h.send(requester, "request: {intent: print}")
			h.advance(2 * time.Second)
			h.dir = copyOf(t, h.dir)
			h.connection.setCut(true)
			h.restart()
			h.advance(10 * time.Second)
			h.wantStatus(ref, mess.InProgress)
			switch then {
			case mess.Completed:
				p.set(func() { p.began = time.Now() })
				h.advance(pressTime)
			case mess.Cancelled:
				h.send(requester, "cancel: {re: "+ref+"}")
			}
			h.advance(2 * time.Minute)
			s := h.wantStatus(ref, then)
			if then != mess.Completed && (s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "cannot find its print again")) {
				t.Errorf("%s: %+v", then, s.Reason)
			}
			p.wantLog(t, "print benchy")
		})
	}
}

// coolingPrinter is a printer that cancels at a stop and stands still a little later.
type coolingPrinter struct {
	*fakePrinter
	stood time.Time
}

func (s *coolingPrinter) Halt() error {
	s.record("halt")
	s.set(func() { s.stood = time.Now().Add(3 * time.Second) })
	return s.fakePrinter.Halt()
}

func (s *coolingPrinter) AtRest(context.Context) (bool, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return !s.stood.IsZero() && !time.Now().Before(s.stood), nil
}

// A stop cancels a print, which takes a moment: the thread waits for that and reports the
// completed part. It reports a print that continues as such.
func TestStopCancelsPrint(t *testing.T) {
	ends := func(p drivers.Device, code mess.Code, check func(s mess.Status), wantText string) {
		t.Helper()
		withHarnessSetup(t, func(h *harness) {
			h.more = []device.Device{{Name: "press", Label: "printer", Driver: p}}
			h.sentences["print"] = pressOutcome(capabilities.Print)
		}, func(h *harness) {
			ref := h.send(requester, "request: {intent: print}")
			h.advance(305 * time.Second)
			h.postStop(requester)
			h.advance(time.Minute)
			check(h.wantStatus(ref, code))
			h.wantAnswer(ref, wantText)
		})
	}
	ends(&coolingPrinter{fakePrinter: &fakePrinter{}}, mess.Partial, func(s mess.Status) {
		if s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectPartial || !strings.Contains(s.Reason.Detail, "it stands still; done: layers 1 to 30; not done: layers 31 to 100") {
			t.Errorf("%+v", s.Reason)
		}
	}, "the printed part lies on the bed")
	ends(movingPrinter{&fakePrinter{}}, mess.Failed, func(s mess.Status) {
		if s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "it may still be moving") {
			t.Errorf("%+v", s.Reason)
		}
	}, "it still moves")
}

// movingPrinter is a printer that ignores a stop.
type movingPrinter struct{ *fakePrinter }

func (movingPrinter) AtRest(context.Context) (bool, error) { return false, nil }

// unstoppablePrinter is a printer that rejects a cancel and stands still.
type unstoppablePrinter struct{ *fakePrinter }

func (unstoppablePrinter) Stop(context.Context) (string, error) {
	return "", errors.New("the print is cancelled, and the heaters are not known to be off")
}
func (unstoppablePrinter) AtRest(context.Context) (bool, error) { return true, nil }

// A printer that stands still may be in a hot pause: it is not stopped.
func TestPausedPrinterIsNotStopped(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.more = []device.Device{{Name: "press", Label: "printer", Driver: unstoppablePrinter{&fakePrinter{}}}}
		h.sentences["end"] = pressOutcome(capabilities.Stop)
	}, func(h *harness) {
		ref := h.send(person, "request: {intent: end}")
		h.advance(time.Minute)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "heaters are not known to be off; it stands still") {
			t.Errorf("%+v", s.Reason)
		}
	})
}
