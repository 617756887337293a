package agent_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// fakePrinter is a simulated printer: a print takes 1000 s and continues without the program.
type fakePrinter struct {
	fakeDevice
	lock   sync.Mutex
	began  time.Time // zero: no print
	held   time.Time // since when it waits; zero: it does not
	help   *drivers.HelpError
	broken error
	away   int  // number of failing calls
	left   int  // number of Detach calls
	slow   bool // it answers first and begins later
}

const pressTime = 1000 * time.Second

var (
	_ drivers.Printer  = (*fakePrinter)(nil)
	_ drivers.Pauser   = (*fakePrinter)(nil)
	_ drivers.Stopper  = (*fakePrinter)(nil)
	_ drivers.Detacher = (*fakePrinter)(nil)
)

func (p *fakePrinter) Print(ctx context.Context, file string) (drivers.Print, error) {
	if p.slow {
		p.record("print " + file)
		<-ctx.Done()
		return drivers.Print{}, drivers.ErrMayAct
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.record("print " + file)
	p.began = time.Now()
	return drivers.Print{File: file + ".gcode", Began: p.began}, nil
}

func (p *fakePrinter) FindPrint(_ context.Context, file string, since time.Time) (drivers.Print, error) {
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

func (p *fakePrinter) PrintState(context.Context, drivers.Print) (drivers.PrintState, error) {
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
		Progress: drivers.Progress{Percent: percent, Activity: "printing", TimeLeft: pressTime - now.Sub(p.began), Help: p.help}, Layer: int(percent), Layers: 100,
		PollInterval: 10 * time.Second, Paused: !p.held.IsZero(),
	}
	if p.broken != nil || percent == 100 {
		s.Finished, s.Err, s.Help = true, p.broken, nil
	}
	return s, nil
}

func (p *fakePrinter) Pause(context.Context) error {
	p.record("pause")
	p.set(func() { p.held = time.Now() })
	return nil
}

func (p *fakePrinter) set(f func()) { p.lock.Lock(); defer p.lock.Unlock(); f() }

func (p *fakePrinter) Resume(context.Context) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.record("resume")
	p.began, p.held, p.help = p.began.Add(time.Since(p.held)), time.Time{}, nil
	return nil
}

func (p *fakePrinter) Stop(context.Context) (string, error) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.slow && p.began.IsZero() {
		return "", drivers.ErrMayAct
	}
	p.record("stop")
	p.began = time.Time{}
	return "a half print lies on the bed", nil
}

func (p *fakePrinter) Detach() error { p.set(func() { p.left++ }); return nil }

func pressOutcome(command capabilities.Command) capabilities.Outcome {
	p := capabilities.Plan{Device: "press", Command: command, Risk: capabilities.RiskAppliance, Effect: capabilities.Idempotent, Summary: string(command)}
	if command == capabilities.Print {
		p.Effect, p.Args = capabilities.Once, mess.Object{{Key: "file", Value: "benchy"}}
	}
	return capabilities.Outcome{Plan: &p}
}

// withPrint runs a test with a print that began 300 s ago.
func withPrint(t *testing.T, test func(h *harness, p *fakePrinter, ref string)) {
	t.Helper()
	p := &fakePrinter{}
	withHarnessSetup(t, func(h *harness) {
		h.more = []device.Device{{Name: "press", Label: "printer", SeenBy: "fridge-cam", Driver: p}}
		h.sentences["print"], h.sentences["hold"], h.sentences["end"] = pressOutcome(capabilities.Print), pressOutcome(capabilities.Pause), pressOutcome(capabilities.Stop)
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: print}")
		h.advance(305 * time.Second)
		if s := h.wantStatus(ref, mess.InProgress); s.ProgressPct == nil || *s.ProgressPct < 25 || s.ETA == "" {
			t.Errorf("%+v", s)
		}
		test(h, p, ref)
	})
}

func (p *fakePrinter) wantLog(t *testing.T, want string) {
	t.Helper()
	if p.acts() != want {
		t.Errorf("the printer did %q, want %q", p.acts(), want)
	}
}
