package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// press is a simulated printer: a print takes 1000 s and continues without the program.
type press struct {
	part
	lock   sync.Mutex
	began  time.Time // zero: no print
	held   time.Time // since when it waits; zero: it does not
	help   *drivers.HelpError
	broken error
	away   int  // number of failing calls
	left   int  // number of Leave calls
	slow   bool // it answers first and begins later
}

const pressTime = 1000 * time.Second

var (
	_ drivers.Printer = (*press)(nil)
	_ drivers.Pauser  = (*press)(nil)
	_ drivers.Stopper = (*press)(nil)
	_ drivers.Leaver  = (*press)(nil)
)

func (p *press) Print(ctx context.Context, file string) (drivers.Print, error) {
	if p.slow {
		p.note("print " + file)
		<-ctx.Done()
		return drivers.Print{}, drivers.ErrMayAct
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.note("print " + file)
	p.began = time.Now()
	return drivers.Print{File: file + ".gcode", Began: p.began}, nil
}

func (p *press) Find(_ context.Context, file string, since time.Time) (drivers.Print, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.away > 0 {
		p.away--
		return drivers.Print{}, errors.New("made: no answer")
	}
	if p.began.IsZero() || p.began.Sub(since).Abs() > time.Minute {
		return drivers.Print{}, drivers.ErrNoPrint
	}
	return drivers.Print{File: file + ".gcode", Began: p.began}, nil
}

func (p *press) Printing(context.Context, drivers.Print) (drivers.PrintState, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.away > 0 {
		p.away--
		return drivers.PrintState{}, errors.New("made: no answer")
	}
	now := time.Now()
	if !p.held.IsZero() {
		now = p.held
	}
	percent := min(100, 100*now.Sub(p.began).Seconds()/pressTime.Seconds())
	s := drivers.PrintState{
		Progress: drivers.Progress{Percent: percent, Doing: "printing", Left: pressTime - now.Sub(p.began), Help: p.help}, Layer: int(percent), Layers: 100,
		Every: 10 * time.Second, Paused: !p.held.IsZero(),
	}
	if p.broken != nil || percent == 100 {
		s.Over, s.Err, s.Help = true, p.broken, nil
	}
	return s, nil
}

func (p *press) Pause(context.Context) error {
	p.note("pause")
	p.set(func() { p.held = time.Now() })
	return nil
}

func (p *press) set(f func()) { p.lock.Lock(); defer p.lock.Unlock(); f() }

func (p *press) Resume(context.Context) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.note("resume")
	p.began, p.held, p.help = p.began.Add(time.Since(p.held)), time.Time{}, nil
	return nil
}

func (p *press) Stop(context.Context) (string, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.slow && p.began.IsZero() {
		return "", drivers.ErrMayAct
	}
	p.note("stop")
	p.began = time.Time{}
	return "a half print lies on the bed", nil
}

func (p *press) Leave() error { p.set(func() { p.left++ }); return nil }

func pressed(command capabilities.Command) capabilities.Outcome {
	p := capabilities.Plan{Device: "press", Command: command, Risk: capabilities.RiskAppliance, Effect: capabilities.Idempotent, Summary: string(command)}
	if command == capabilities.Print {
		p.Effect, p.Args = capabilities.Once, mess.Object{{Key: "file", Value: "benchy"}}
	}
	return capabilities.Outcome{Plan: &p}
}

// printing runs a test with a print that began 300 s ago.
func printing(t *testing.T, story func(h *house, p *press, ref string)) {
	t.Helper()
	p := &press{}
	inHouseWith(t, func(h *house) {
		h.more = []device.Device{{Name: "press", Label: "printer", SeenBy: "fridge-cam", Driver: p}}
		h.words["print"], h.words["hold"], h.words["end"] = pressed(capabilities.Print), pressed(capabilities.Pause), pressed(capabilities.Stop)
	}, func(h *house) {
		ref := h.says(claude, "request: {intent: print}")
		h.after(305 * time.Second)
		if s := h.is(ref, mess.InProgress); s.ProgressPct == nil || *s.ProgressPct < 25 || s.ETA == "" {
			t.Errorf("%+v", s)
		}
		story(h, p, ref)
	})
}

func (p *press) has(t *testing.T, want string) {
	t.Helper()
	if p.did() != want {
		t.Errorf("the printer did %q, want %q", p.did(), want)
	}
}

func TestPrintCompletes(t *testing.T) {
	printing(t, func(h *house, p *press, ref string) {
		h.after(pressTime)
		if s := h.is(ref, mess.Completed); s.Evidence != mess.Photographed {
			t.Errorf("%+v", s)
		}
		h.answers(ref, "The printer has printed benchy.gcode in 100 layers.", "The picture is from the fridge.")
		h.picture(ref)
		p.has(t, "print benchy")
	})
}

func TestPrintIsCancelled(t *testing.T) {
	printing(t, func(h *house, p *press, ref string) {
		h.says(claude, "cancel: {re: "+ref+"}")
		h.after(time.Second)
		s := h.is(ref, mess.Cancelled)
		if s.Reason.Effect != mess.EffectPartial || !strings.Contains(s.Reason.Detail, "done: layers 1 to 30; not done: layers 31 to 100") {
			t.Errorf("%+v", s.Reason)
		}
		h.answers(ref, "a half print lies on the bed")
		h.picture(ref)
		p.has(t, "print benchy, stop")
	})
}

// A print that is cancelled before its begin ends when it begins.
func TestPrintCancelledBeforeItsBegin(t *testing.T) {
	p := &press{slow: true}
	inHouseWith(t, func(h *house) {
		h.more = []device.Device{{Name: "press", Label: "printer", Driver: p}}
		h.words["print"] = pressed(capabilities.Print)
	}, func(h *house) {
		ref := h.says(claude, "request: {intent: print}")
		h.after(2 * time.Second)
		h.says(claude, "cancel: {re: "+ref+"}")
		h.after(time.Second)
		if s := h.is(ref, mess.Cancelled); s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "it may still act") {
			t.Errorf("%+v", s.Reason)
		}
		p.has(t, "print benchy")
		p.set(func() { p.began = time.Now() })
		h.after(time.Minute)
		p.has(t, "print benchy, stop")
	})
}

// With an unreachable printer, the requester learns of that, and of the last progress.
func TestUnreachablePrinterIsReported(t *testing.T) {
	printing(t, func(h *house, p *press, ref string) {
		p.set(func() { p.away = 60 })
		h.after(time.Minute)
		if s := h.is(ref, mess.InProgress); s.ProgressPct == nil || *s.ProgressPct != 30 || !strings.Contains(s.Message, "out of reach, and asked again; last heard of: printing") {
			t.Errorf("%+v", s)
		}
		h.after(pressTime)
		h.is(ref, mess.Completed)
		p.has(t, "print benchy")
	})
}

// Another request may steer a print without waiting for its end.
func TestRequestSteersRunningPrint(t *testing.T) {
	printing(t, func(h *house, p *press, ref string) {
		h.is(h.says(person, "request: {intent: hold}"), mess.Completed)
		h.is(ref, mess.InProgress)
		p.has(t, "print benchy, pause")
		h.is(h.says(person, "request: {intent: end}"), mess.Completed)
		p.set(func() { p.broken = errors.New("somebody has cancelled it at the printer") })
		h.after(time.Minute)
		if s := h.is(ref, mess.Partial); !strings.Contains(s.Reason.Detail, "somebody has cancelled it") {
			t.Errorf("%+v", s.Reason)
		}
		p.has(t, "print benchy, pause, stop")
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
		printing(t, func(h *house, p *press, ref string) {
			p.set(func() {
				p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the filament has run out", Help: "load new filament"}
			})
			h.after(time.Minute)
			s := h.is(ref, mess.NeedsInput)
			if q := s.Questions[0]; q.Question != "The printer: the filament has run out; load new filament. Shall it go on?" || strings.Join(q.Options, ", ") != "go on, cancel" {
				t.Errorf("%+v", q)
			}
			h.after(time.Hour)
			h.is(ref, mess.NeedsInput)
			h.says(claude, "answer: {re: "+ref+", value: "+answer+"}")
			h.after(pressTime)
			h.is(ref, want.code)
			p.has(t, want.did)
		})
	}
	// Any other answer moves nothing, and the question comes again.
	for _, answer := range []string{`"no"`, "false", `"wait"`, `"the red one"`, `"yes, but not so hot"`} {
		printing(t, func(h *house, p *press, ref string) {
			p.set(func() { p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the door is open", Help: "close it"} })
			h.after(time.Minute)
			h.says(claude, "answer: {re: "+ref+", value: "+answer+"}")
			h.after(time.Minute)
			h.is(ref, mess.NeedsInput)
			p.has(t, "print benchy")
			h.says(claude, "answer: {re: "+ref+`, value: "stop"}`)
			h.after(time.Minute)
			h.is(ref, mess.Partial)
			p.has(t, "print benchy, stop")
		})
	}
	// An answer counts for the current trouble, and not for an earlier one.
	printing(t, func(h *house, p *press, ref string) {
		for range 3 {
			p.set(func() { p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the door is open", Help: "close it"} })
			h.after(time.Minute)
			h.is(ref, mess.NeedsInput)
			p.set(func() { p.began, p.held, p.help = p.began.Add(time.Since(p.held)), time.Time{}, nil })
			h.after(time.Minute)
		}
		p.set(func() { p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the door is open", Help: "close it"} })
		h.after(time.Minute)
		h.says(claude, "answer: {re: "+ref+", value: cancel}")
		h.after(time.Minute)
		h.is(ref, mess.Partial)
		p.has(t, "print benchy, stop")
	})
	// After help at the printer, no answer is needed.
	printing(t, func(h *house, p *press, ref string) {
		p.set(func() { p.held, p.help = time.Now(), &drivers.HelpError{Problem: "the door is open", Help: "close it"} })
		h.after(time.Minute)
		h.is(ref, mess.NeedsInput)
		p.set(func() { p.began, p.held, p.help = p.began.Add(time.Since(p.held)), time.Time{}, nil })
		h.after(time.Minute)
		h.is(ref, mess.InProgress)
		h.after(pressTime)
		h.is(ref, mess.Completed)
		p.has(t, "print benchy")
	})
}

// A failed print reports the completed part and advice for a person.
func TestFailedPrintReportsProgress(t *testing.T) {
	printing(t, func(h *house, p *press, ref string) {
		p.set(func() { p.broken = &drivers.HelpError{Problem: "thermal runaway", Help: "let it cool down"} })
		h.after(time.Minute)
		s := h.is(ref, mess.Partial)
		if s.Reason.Type != "needs_person" || s.Suggestion != "let it cool down" || !strings.Contains(s.Reason.Detail, "done: layers 1 to 3") {
			t.Errorf("%+v %+v", s, s.Reason)
		}
	})
}

// The program may end or die at any time: the print begins once, and its end is reported.
func TestPrintSurvivesProgram(t *testing.T) {
	printing(t, func(h *house, p *press, ref string) {
		for range 3 {
			h.stopAgent()
			p.set(func() { p.away = 3 })
			h.after(100 * time.Second)
			h.startAgent()
			h.after(time.Minute)
			h.is(ref, mess.InProgress)
		}
		h.after(pressTime)
		h.is(ref, mess.Completed)
		h.answers(ref, "The printer has printed benchy.gcode")
		p.has(t, "print benchy")
		if p.left != 3 || p.halted != 0 {
			t.Errorf("left %d times, halted %d times", p.left, p.halted)
		}
	})
	printing(t, func(h *house, p *press, ref string) {
		h.stopAgent()
		p.set(func() { p.began = time.Time{} }) // and the printer does not know it
		h.startAgent()
		h.after(time.Minute)
		if s := h.is(ref, mess.Failed); s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "cannot find its print again") {
			t.Errorf("%+v", s.Reason)
		}
		p.has(t, "print benchy")
	})
	printing(t, func(h *house, p *press, ref string) {
		h.stopAgent()
		h.says(claude, "cancel: {re: "+ref+"}") // during that time
		h.startAgent()
		h.after(time.Minute)
		h.is(ref, mess.Cancelled)
		p.has(t, "print benchy, stop")
	})
}

// A program that dies just after its print command finds the print that begins later, and
// reports it even if it is cancelled first; it also reports if no print begins.
func TestPrintBeginsAfterProgramDied(t *testing.T) {
	for _, then := range []mess.Code{mess.Completed, mess.Cancelled, mess.Failed} {
		p := &press{slow: true}
		inHouseWith(t, func(h *house) {
			h.more = []device.Device{{Name: "press", Label: "printer", Driver: p}}
			h.words["print"] = pressed(capabilities.Print)
		}, func(h *house) {
			ref := h.says(claude, "request: {intent: print}")
			h.after(2 * time.Second)
			h.dir = copyOf(t, h.dir)
			h.line.cutIt(true)
			h.reboots()
			h.after(10 * time.Second)
			h.is(ref, mess.InProgress)
			switch then {
			case mess.Completed:
				p.set(func() { p.began = time.Now() })
				h.after(pressTime)
			case mess.Cancelled:
				h.says(claude, "cancel: {re: "+ref+"}")
			}
			h.after(2 * time.Minute)
			s := h.is(ref, then)
			if then != mess.Completed && (s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "cannot find its print again")) {
				t.Errorf("%s: %+v", then, s.Reason)
			}
			p.has(t, "print benchy")
		})
	}
}

// cooling is a printer that cancels at a stop and stands still a little later.
type cooling struct {
	*press
	stood time.Time
}

func (s *cooling) Halt() error {
	s.note("halt")
	s.set(func() { s.stood = time.Now().Add(3 * time.Second) })
	return s.press.Halt()
}

func (s *cooling) AtRest(context.Context) (bool, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return !s.stood.IsZero() && !time.Now().Before(s.stood), nil
}

// A stop cancels a print, which takes a moment: the thread waits for that and reports the
// completed part. It reports a print that continues as such.
func TestStopCancelsPrint(t *testing.T) {
	ends := func(p drivers.Device, code mess.Code, check func(s mess.Status), says string) {
		t.Helper()
		inHouseWith(t, func(h *house) {
			h.more = []device.Device{{Name: "press", Label: "printer", Driver: p}}
			h.words["print"] = pressed(capabilities.Print)
		}, func(h *house) {
			ref := h.says(claude, "request: {intent: print}")
			h.after(305 * time.Second)
			h.stops(claude)
			h.after(time.Minute)
			check(h.is(ref, code))
			h.answers(ref, says)
		})
	}
	ends(&cooling{press: &press{}}, mess.Partial, func(s mess.Status) {
		if s.Reason.Type != "stop" || s.Reason.Effect != mess.EffectPartial || !strings.Contains(s.Reason.Detail, "it stands still; done: layers 1 to 30; not done: layers 31 to 100") {
			t.Errorf("%+v", s.Reason)
		}
	}, "the printed part lies on the bed")
	ends(moves{&press{}}, mess.Failed, func(s mess.Status) {
		if s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "it may still be moving") {
			t.Errorf("%+v", s.Reason)
		}
	}, "it still moves")
}

// moves is a printer that ignores a stop.
type moves struct{ *press }

func (moves) AtRest(context.Context) (bool, error) { return false, nil }

// stuck is a printer that rejects a cancel and stands still.
type stuck struct{ *press }

func (stuck) Stop(context.Context) (string, error) {
	return "", errors.New("the print is cancelled, and the heaters are not known to be off")
}
func (stuck) AtRest(context.Context) (bool, error) { return true, nil }

// A printer that stands still may be in a hot pause: it is not stopped.
func TestPausedPrinterIsNotStopped(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.more = []device.Device{{Name: "press", Label: "printer", Driver: stuck{&press{}}}}
		h.words["end"] = pressed(capabilities.Stop)
	}, func(h *house) {
		ref := h.says(person, "request: {intent: end}")
		h.after(time.Minute)
		if s := h.is(ref, mess.Failed); s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "heaters are not known to be off; it stands still") {
			t.Errorf("%+v", s.Reason)
		}
	})
}
