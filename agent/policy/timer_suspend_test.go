package policy_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
)

// suspendClock is a machine that can sleep.
type suspendClock struct{ slept atomic.Int64 }

func (s *suspendClock) suspend(d time.Duration) { s.slept.Add(int64(d)) }

// withSuspend is withLamp with a machine that can sleep, and a watchdog.
func withSuspend(t *testing.T, dev settings.Limits, test func(*testing.T, *policy.Policy, *lamp, *suspendClock, *fakeWatchdog)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, w := &suspendClock{}, &fakeWatchdog{}
		cfg := settings.DefaultConfig()
		cfg.Devices = map[string]settings.Limits{"lamp": dev}
		g := policy.New(cfg, time.Now, slog.New(slog.DiscardHandler), policy.WithWatchdog(w),
			policy.WithSuspendTime(func() time.Duration { return time.Duration(s.slept.Load()) }))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Run(ctx) }()
		test(t, g, &lamp{start: time.Now()}, s, w)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// A permission does not outlive a sleep of the machine at any point.
func TestPermissionExpiresDuringSuspend(t *testing.T) {
	withSuspend(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp, s *suspendClock, _ *fakeWatchdog) {
		asked := 0
		no := errors.New("its lease is over")
		pass := begin(t, g, switchPlan(true, 0))
		defer pass.End()
		at := time.Now()
		s.suspend(time.Hour) // before the policy learns of the permission
		pass.RequirePermission(at, func(context.Context) (time.Time, error) { asked++; return time.Now(), no })
		wantRejection(t, pass.Switch(t.Context(), l, true), "permission", "its lease is over")
		if no = nil; asked != 1 || l.history() != "" {
			t.Errorf("asked %d times, %q", asked, l.history())
		}
		if err := pass.Switch(t.Context(), l, true); err != nil || asked != 2 {
			t.Errorf("%v, asked %d times", err, asked)
		}
		if err := pass.Switch(t.Context(), l, false); err != nil || asked != 2 {
			t.Errorf("a permission that is new: %v, asked %d times", err, asked)
		}
		pass.RequirePermission(time.Now(), func(context.Context) (time.Time, error) {
			at := time.Now()
			if asked++; asked == 3 {
				s.suspend(time.Hour) // before the exchange answers
			}
			return at, nil
		})
		s.suspend(time.Hour)
		if err := pass.Switch(t.Context(), l, true); err != nil || asked != 4 {
			t.Errorf("%v, asked %d times", err, asked)
		}
	})
}

// If max_on has passed while the machine slept, the policy switches the device off at once. It
// reports to the watchdog how long the others may still be on.
func TestMaxOnContinuesDuringSuspend(t *testing.T) {
	withSuspend(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp, s *suspendClock, w *fakeWatchdog) {
		switchLamp(t, g, l, true, 0)
		s.suspend(50 * time.Minute)
		advance(time.Second)
		if want := "on 1h0m0s, maybe on 9m59.5s"; l.history() != "on 0s" || w.messages() != want {
			t.Errorf("history is %s; messages to the watchdog are %s, want %s", l.history(), w.messages(), want)
		}
		switchLamp(t, g, l, true, 0) // another request does not extend the time
		s.suspend(9 * time.Minute)
		advance(time.Minute)
		if want := "on 0s, on 1s, off 1m0s"; l.history() != want {
			t.Errorf("%s, want %s", l.history(), want)
		}
		switchLamp(t, g, l, true, 10*time.Minute)
		s.suspend(time.Hour)
		advance(500 * time.Millisecond)
		if want := "on 0s, on 1s, off 1m0s, on 1m1s, off 1m1.5s"; l.history() != want {
			t.Errorf("%s, want %s", l.history(), want)
		}
	})
}
