package policy_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/drivers"
)

// ledgerWithPendingOff returns a ledger with one pending switch-off.
func ledgerWithPendingOff(device string, d policy.PendingOff) *fakeLedger {
	b := &fakeLedger{}
	b.kept.Apply(journal.LedgerEntry{Device: device, PendingOff: &d})
	return b
}

// If a run dies while a device is on for a time, the next run switches it off after that time,
// no sooner, and switches off nothing else.
func TestPendingOffSurvivesRestart(t *testing.T) {
	on := func(l *lamp) drivers.Device { return reader{plug{lamp: l}, true, nil} }
	for name, c := range map[string]struct {
		dev   settings.Limits
		lasts []time.Duration // requested times on
		away  time.Duration   // from the death to the next start
		next  func(*lamp) drivers.Device
		wall  func() (time.Time, error)
		want  string
	}{
		"later":                  {lasts: []time.Duration{time.Minute}, away: 20 * time.Second, next: on, want: "on 0s, off 1m0s"},
		"its time is over":       {lasts: []time.Duration{time.Minute}, away: time.Hour, next: on, want: "on 0s, off 1h0m0s"},
		"it is off":              {lasts: []time.Duration{time.Minute}, away: time.Hour, next: func(l *lamp) drivers.Device { return reader{plug{lamp: l}, false, nil} }, want: "on 0s"},
		"unknown":                {lasts: []time.Duration{time.Minute}, away: time.Hour, next: func(l *lamp) drivers.Device { return plug{lamp: l} }, want: "on 0s, off 1h0m0s"},
		"it may stay on":         {lasts: []time.Duration{time.Minute, 0}, away: time.Hour, next: on, want: "on 0s, on 0s"},
		"longest time on":        {dev: settings.Limits{MaxOn: time.Minute}, lasts: []time.Duration{0}, away: 20 * time.Second, next: on, want: "on 0s, off 1m0s"},
		"the clock is not set":   {lasts: []time.Duration{time.Minute}, away: time.Hour, next: on, wall: func() (time.Time, error) { return time.Time{}, errors.New("it was never set") }, want: "on 0s, off 1h1m0s"},
		"the clock was put back": {lasts: []time.Duration{time.Minute}, away: -time.Hour, next: on, want: "on 0s, off 1m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			withLamp(t, c.dev, func(t *testing.T, _ *policy.Policy, l *lamp) {
				kept, cfg := &fakeLedger{}, settings.DefaultConfig()
				cfg.Devices = map[string]settings.Limits{"lamp": c.dev}
				killed := newPolicy(cfg)
				killed.UseLedger(kept, nil)
				for _, d := range c.lasts {
					switchLamp(t, killed, l, true, d)
				}
				shift := time.Duration(0)
				if c.away < 0 {
					shift = c.away
				}
				advance(max(0, c.away))
				var opts []policy.Option
				if c.wall != nil {
					opts = append(opts, policy.WithWallClock(c.wall))
				}
				next := policy.New(cfg, func() time.Time { return time.Now().Add(shift) }, slog.New(slog.DiscardHandler), opts...)
				next.UseLedger(kept, []string{"lamp"})
				go func() { _ = next.Run(t.Context()) }()
				if err := next.Start(t.Context(), c.next(l), "lamp"); err != nil {
					t.Fatal(err)
				}
				advance(10 * time.Minute)
				if l.history() != c.want {
					t.Errorf("%q, want %q", l.history(), c.want)
				}
				if due := kept.pendingOffs(); len(due) != 0 {
					t.Errorf("pending switch-offs are %+v, want none", due)
				}
			})
		})
	}
}

// The policy reports to a device with its own timer that an earlier run has set it, if it has.
func TestDeviceTimerOfEarlierRun(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, _ *policy.Policy, l *lamp) {
		for _, left := range []bool{true, false} {
			now, kept := time.Now(), &fakeLedger{}
			if left {
				kept = ledgerWithPendingOff("lamp", policy.PendingOff{At: now.Add(time.Minute), On: now, Within: time.Minute})
			}
			g := newPolicy(settings.DefaultConfig())
			g.UseLedger(kept, []string{"lamp"})
			d := &deviceWithTimer{plug: plug{lamp: l}}
			if err := g.Start(t.Context(), d, "lamp"); err != nil || d.timerSet != left {
				t.Errorf("pending switch-off: %t, device notified of it: %t: %v", left, d.timerSet, err)
			}
		}
	})
}

// deviceWithTimer has a timer that stays set.
type deviceWithTimer struct {
	plug
	timerSet bool
}

func (*deviceWithTimer) SwitchFor(context.Context, bool, time.Duration) error { return nil }
func (k *deviceWithTimer) TimerMayBeSet()                                     { k.timerSet = true }

// The policy also switches off a device that fails to start, and repeats that until the device
// takes it.
func TestUnstartedDeviceIsSwitchedOff(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		now := time.Now()
		kept := ledgerWithPendingOff("lamp", policy.PendingOff{At: now.Add(time.Minute), On: now, Within: time.Minute})
		g.UseLedger(kept, []string{"lamp"})
		l.fails(3)
		_ = g.Start(t.Context(), plug{l, errors.New("out of reach")}, "lamp")
		advance(time.Hour)
		if want := "off 1m7s"; l.history() != want {
			t.Errorf("%q, want %q", l.history(), want)
		}
		if due := kept.pendingOffs(); len(due) != 0 {
			t.Errorf("pending switch-offs are %+v, want none", due)
		}
	})
}

// A full disk gets the current state once it has space: the next run does not switch off a
// device that may stay on.
func TestPendingOffIsWrittenAfterFullDisk(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		kept := &fakeLedger{}
		g.UseLedger(kept, []string{"lamp"})
		switchLamp(t, g, l, true, time.Minute)
		kept.fail(errors.New("the disk is full"))
		advance(2 * time.Minute)
		switchLamp(t, g, l, true, 0)
		kept.fail(nil)
		advance(time.Minute)
		if due := kept.pendingOffs(); len(due) != 0 {
			t.Errorf("pending switch-offs are %+v, want none", due)
		}
	})
}

// The policy switches a device on for a time only if it can record the end.
func TestTimedOnNeedsRecord(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		g.UseLedger(&fakeLedger{err: errors.New("the disk is full")}, nil)
		pass := begin(t, g, switchPlan(true, time.Minute))
		wantRejection(t, pass.Switch(t.Context(), l, true), "max_on", "the journal cannot record when to switch it off", "the disk is full")
		pass.End()
		switchLamp(t, g, l, true, 0)
		if want := "on 0s"; l.history() != want {
			t.Errorf("%q, want %q", l.history(), want)
		}
	})
}

// A hanging disk keeps no device on.
func TestHangingDiskKeepsNothingOn(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		disk := &hangingLedger{}
		g.UseLedger(disk, nil)
		switchLamp(t, g, l, true, time.Minute)
		disk.hung.Lock() // from now on
		advance(2 * time.Minute)
		if want := "on 0s, off 1m0s"; l.history() != want {
			t.Errorf("%q, want %q", l.history(), want)
		}
		_ = g.Start(t.Context(), reader{plug{lamp: l}, true, nil}, "lamp")
		advance(time.Minute)
		disk.hung.Unlock()
		advance(time.Second)
	})
}

// While the disk hangs, the policy does not switch a device on for a time. It blames the disk,
// and the device stays usable.
func TestHangingDiskIsReported(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		disk := &hangingLedger{}
		g.UseLedger(disk, nil)
		disk.hung.Lock()
		pass := begin(t, g, switchPlan(true, time.Minute))
		wantRejection(t, pass.Switch(t.Context(), l, true), "max_on", "the journal cannot record when to switch it off", "the disk does not answer within 5s", "check the disk")
		pass.End()
		if hung := g.Quarantined(); len(hung) != 0 {
			t.Errorf("quarantined: %v", hung)
		}
		switchLamp(t, g, l, true, 0)
		disk.hung.Unlock()
		advance(time.Minute)
		switchLamp(t, g, l, true, time.Minute)
		advance(time.Hour)
		if want := "on 10s, on 1m10s, off 2m10s"; l.history() != want {
			t.Errorf("%q, want %q", l.history(), want)
		}
		if due := disk.pendingOffs(); len(due) != 0 {
			t.Errorf("pending switch-offs are %+v, want none", due)
		}
	})
}

// hangingLedger is a ledger that blocks while the test holds hung.
type hangingLedger struct {
	fakeLedger
	hung sync.Mutex
}

func (h *hangingLedger) AppendLedger(ctx context.Context, notes ...journal.LedgerEntry) error {
	for !h.hung.TryLock() {
		time.Sleep(time.Second) // inside the bubble a mutex would stop its time
	}
	h.hung.Unlock()
	return h.fakeLedger.AppendLedger(ctx, notes...)
}

// A device that is no longer in the configuration loses its pending switch-off; a later device
// with that name does not go off.
func TestRemovedDeviceHasNoPendingOff(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		kept := ledgerWithPendingOff("fan", policy.PendingOff{At: time.Now(), On: time.Now()})
		g.UseLedger(kept, []string{"lamp"})
		switchLamp(t, g, l, true, time.Minute)
		if due := kept.pendingOffs(); len(due) != 1 || due["lamp"].At.IsZero() {
			t.Errorf("%+v", due)
		}
	})
}
