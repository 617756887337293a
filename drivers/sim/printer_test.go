package sim_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/sim"
)

// A print continues by itself, stops during a pause, and reports its end.
func TestPrinter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var shared drivers.Shared
		p := started(t, &shared, "sim-printer", "{files: [benchy, vase], takes: 100s}").(*sim.Printer)
		ctx := context.Background()
		began := time.Now()
		if _, err := p.Print(ctx, "rocket"); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "benchy, vase") {
			t.Errorf("a file that is not there: %v", err)
		}
		if err := p.Pause(ctx); !errors.Is(err, drivers.ErrNothingDone) {
			t.Errorf("a pause of no print: %v", err)
		}
		one, err := p.Print(ctx, "benchy")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Print(ctx, "vase"); !errors.Is(err, drivers.ErrBusy) {
			t.Errorf("a second print: %v", err)
		}
		wantState := func(percent float64, paused, over bool) {
			t.Helper()
			s, err := p.PrintState(ctx, one)
			if err != nil || s.Percent != percent || s.Paused != paused || s.Finished != over {
				t.Errorf("state is %v (%v); want %v %%, paused %t, finished %t", s, err, percent, paused, over)
			}
		}
		time.Sleep(30 * time.Second)
		wantState(30, false, false)
		if err := p.Pause(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		wantState(30, true, false)
		if rests, err := p.AtRest(ctx); !rests || err != nil {
			t.Errorf("paused, it rests: %t (%v)", rests, err)
		}
		if works, err := p.Working(ctx); !works || err != nil {
			t.Errorf("paused, it is at it: %t (%v)", works, err)
		}
		if err := p.Resume(ctx); err != nil {
			t.Error(err)
		}
		time.Sleep(20 * time.Second)
		if o, err := p.Observe(ctx); err != nil || o.Text != "The printer is printing: 50 % of benchy, and 50s are left." {
			t.Errorf("Observe = %q (%v)", o.Text, err)
		}
		time.Sleep(50 * time.Second)
		wantState(100, false, true)
		if found, err := p.FindPrint(ctx, "benchy", began); err != nil || found != one {
			t.Errorf("found %v (%v); want %v", found, err, one)
		}
		if _, err := p.FindPrint(ctx, "vase", began); !errors.Is(err, drivers.ErrNoPrint) {
			t.Errorf("a print that never was: %v", err)
		}
		two, err := p.Print(ctx, "vase")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if left, err := p.Stop(ctx); err != nil || !strings.Contains(left, "10 % of vase") {
			t.Errorf("stopped it leaves %q (%v)", left, err)
		}
		if s, err := p.PrintState(ctx, two); err != nil || !s.Finished || s.Err == nil || s.Percent != 10 {
			t.Errorf("state after the cancel is %v (%v)", s, err)
		}
		if err := p.Halt(); err != nil {
			t.Error(err)
		}
		if safe, err := p.Safe(ctx); !safe || err != nil {
			t.Errorf("halted it is safe: %t (%v)", safe, err)
		}
	})
}
