package printer_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/printer"
)

func TestProblemNeedsPerson(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		one, err := p.Print(t.Context(), "benchy")
		if err != nil {
			t.Fatal(err)
		}
		b.machine().set(func(m *machine) { m.frozen, m.phase = true, "paused" }) // as Klipper's own sensor does, without a message
		if s, err := p.PrintState(t.Context(), one); err != nil || s.Finished || s.Help == nil || !strings.Contains(s.Help.Problem, "without a reason") {
			t.Errorf("paused without a cause: %+v, %v", s, err)
		}
		if b.kind != "octoprint" { // OctoPrint reports no reason for a pause
			b.machine().set(func(m *machine) { m.frozen, m.phase, m.message = true, "paused", "Filament runout detected" })
			s, err := p.PrintState(t.Context(), one)
			if err != nil || s.Finished || s.Help == nil || !strings.Contains(s.Help.Help, "load new filament") {
				t.Errorf("%+v, %v", s, err)
			}
		}
		b.machine().set(func(m *machine) { m.phase, m.message = "failed", "Thermal runaway on the heater bed" })
		s, err := p.PrintState(t.Context(), one)
		help, ok := errors.AsType[*drivers.HelpError](s.Err)
		if err != nil || !s.Finished || !ok || !strings.Contains(help.Problem, "Thermal runaway") || !strings.Contains(help.Help, "let it cool down") {
			t.Errorf("%+v, %v", s, err)
		}
		before := len(b.machine().log())
		if _, err := p.Print(t.Context(), "benchy"); !errors.Is(err, drivers.ErrNothingDone) || len(b.machine().log()) != before {
			t.Error(err)
		}
		seen, err := p.Observe(t.Context())
		if err != nil || !strings.Contains(seen.Text, "Thermal runaway") {
			t.Errorf("%+v, %v", seen, err)
		}
	})
}

// A command whose answer gets lost has arrived: the driver does not repeat it, and the
// state of the printer counts.
func TestNoDuplicateCommands(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		b.machine().set(func(m *machine) { m.lost, m.frozen = 1, true })
		one, err := p.Print(t.Context(), "benchy")
		if err != nil || len(b.machine().log()) != 1 {
			t.Fatalf("%+v, %v, %q", one, err, b.machine().log())
		}
		b.machine().set(func(m *machine) { m.deaf = true })
		ctx, cancel := context.WithCancel(t.Context())
		var watch sync.WaitGroup
		defer watch.Wait()
		defer cancel()
		watch.Go(func() {
			b.machine().await(ctx, func(acts []string) bool { return len(acts) == 2 })
			cancel()
		})
		if err := p.Pause(ctx); err == nil || errors.Is(err, drivers.ErrNothingDone) {
			t.Error(err)
		}
		if log := b.machine().log(); !slices.Equal(log[1:], []string{"pause"}) {
			t.Errorf("%q", log)
		}
	})
}

// soon returns a context that ends after the printer has received the command.
func soon(t *testing.T, b *bench, command string) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var watch sync.WaitGroup
	watch.Go(func() {
		b.machine().await(ctx, func(acts []string) bool { return slices.Contains(acts, command) })
		cancel()
	})
	t.Cleanup(func() { cancel(); watch.Wait() })
	return ctx
}

// The driver repeats a lost cancel while the printer prints.
func TestLostCancel(t *testing.T) {
	each(t, func(t *testing.T, b *bench, p *printer.Printer) {
		b.machine().set(func(m *machine) { m.frozen = true })
		if _, err := p.Print(t.Context(), "benchy"); err != nil {
			t.Fatal(err)
		}
		b.machine().set(func(m *machine) { m.unreceived = 1 })
		if left, err := p.Stop(t.Context()); err != nil || !strings.Contains(left, "lies on the bed") {
			t.Errorf("%q, %v", left, err)
		}
		if phase, _ := b.machine().is(); phase != "cancelled" {
			t.Errorf("%s, %q", phase, b.machine().log())
		}
		b.machine().set(func(m *machine) { m.acts = nil; m.begin(m.file); m.deaf = true })
		if left, err := p.Stop(soon(t, b, "cancel")); !errors.Is(err, drivers.ErrMayAct) {
			t.Errorf("%q, %v", left, err)
		}
	})
}

// Moonraker is unreachable during its restart, while Klipper continues to print.
func TestMoonrakerRestarts(t *testing.T) {
	b := newBench(t, "moonraker")
	p := quick(t, b, "")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	b.machine().set(func(m *machine) { m.frozen = true })
	one, err := p.Print(t.Context(), "benchy")
	if err != nil {
		t.Fatal(err)
	}
	b.machine().set(func(m *machine) { m.phase = "offline" })
	if s, err := p.PrintState(t.Context(), one); err == nil {
		t.Errorf("%+v", s)
	}
	if left, err := p.Stop(t.Context()); err == nil {
		t.Errorf("stopped: %q", left)
	}
	if safe, err := p.Safe(t.Context()); err == nil || safe {
		t.Errorf("%t, %v", safe, err)
	}
	b.machine().set(func(m *machine) { m.phase = "printing" })
	if s, err := p.PrintState(t.Context(), one); err != nil || s.Finished {
		t.Errorf("%+v, %v", s, err)
	}
}
