package policy_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// lamp is a switch that records its switchings.
type lamp struct {
	mu     sync.Mutex
	start  time.Time
	log    []string
	fail   int           // how many of the next calls fail
	block  chan struct{} // if not nil, the call ends when the test closes it, even after ctx has ended
	obeys  bool          // the call ends with ctx
	panics bool
}

func (l *lamp) Switch(ctx context.Context, on bool) error {
	switch {
	case l.panics:
		panic("boom")
	case l.obeys:
		<-ctx.Done()
		return ctx.Err()
	case l.block != nil:
		<-l.block
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail > 0 {
		l.fail--
		return errors.New("lamp: no contact")
	}
	l.log = append(l.log, map[bool]string{true: "on ", false: "off "}[on]+time.Since(l.start).String())
	return nil
}

func (l *lamp) fails(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = n
}

func (l *lamp) history() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.log, ", ")
}

func switchPlan(on bool, d time.Duration) capabilities.Plan {
	return capabilities.Plan{
		Device: "lamp", Command: capabilities.SetSwitch, Args: mess.Object{{Key: "on", Value: on}},
		Risk: capabilities.RiskComfort, Effect: capabilities.Idempotent, For: d, Summary: "switch the lamp",
	}
}

// withLamp runs a test with a policy in a bubble of fake time, which begins at midnight.
func withLamp(t *testing.T, dev settings.Limits, test func(*testing.T, *policy.Policy, *lamp)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := settings.DefaultConfig()
		cfg.Devices = map[string]settings.Limits{"lamp": dev}
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		g := policy.New(cfg, func() time.Time { return time.Now().UTC() }, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- g.Run(ctx) }()
		test(t, g, &lamp{start: time.Now()})
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// newPolicy returns a policy that does not run its timers.
func newPolicy(cfg settings.Config, opts ...policy.Option) *policy.Policy {
	return policy.New(cfg, time.Now, slog.New(slog.DiscardHandler), opts...)
}

func begin(t *testing.T, g *policy.Policy, p capabilities.Plan) *policy.Pass {
	t.Helper()
	pass, err := g.Admit(t.Context(), policy.Order{Plan: p}, nil)
	if err != nil {
		t.Fatalf("Enter: %v", err)
	}
	return pass
}

func switchLamp(t *testing.T, g *policy.Policy, l *lamp, on bool, d time.Duration) {
	t.Helper()
	pass := begin(t, g, switchPlan(on, d))
	defer pass.End()
	if err := pass.Switch(t.Context(), l, on); err != nil {
		t.Fatalf("Switch: %v", err)
	}
}

func wantRejection(t *testing.T, err error, rule string, words ...string) {
	t.Helper()
	r, ok := errors.AsType[*policy.Rejection](err)
	if !ok || r.Rule != rule {
		t.Fatalf("%v, want a refusal by %s", err, rule)
	}
	for _, w := range words {
		if !strings.Contains(r.Error(), w) {
			t.Errorf("%q lacks %q", r, w)
		}
	}
}

func advance(d time.Duration) {
	time.Sleep(d) // fake time
	synctest.Wait()
}

func TestMaxOn(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp) {
		switchLamp(t, g, l, true, 0)
		advance(90 * time.Minute)
		switchLamp(t, g, l, true, 10*time.Minute)
		advance(time.Hour)
		if want := "on 0s, off 1h0m0s, on 1h30m0s, off 1h40m0s"; l.history() != want {
			t.Errorf("%s, want %s", l.history(), want)
		}
		_, err := g.Check(switchPlan(true, 2*time.Hour))
		wantRejection(t, err, "max_on", "1h0m0s", "2h0m0s")
	})
}

// Another request does not extend the time: it counts from when the device went on, and begins
// anew after it was off.
func TestMaxOnIsNotExtended(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp) {
		for range 3 {
			switchLamp(t, g, l, true, 0)
			advance(25 * time.Minute)
		}
		switchLamp(t, g, l, true, 30*time.Minute)
		advance(20 * time.Minute)
		_, err := g.Check(switchPlan(true, 50*time.Minute))
		wantRejection(t, err, "max_on", "1h0m0s", "20m0s", "50m0s")
		switchLamp(t, g, l, true, 40*time.Minute)
		advance(2 * time.Hour)
		if want := "on 0s, on 25m0s, on 50m0s, off 1h0m0s, on 1h15m0s, on 1h35m0s, off 2h15m0s"; l.history() != want {
			t.Errorf("%s, want %s", l.history(), want)
		}
	})
}

// The time begins anew if the device reports off, by its own timer or after a stop. It does not
// if the device has only not gone on yet.
func TestMaxOnRestartsAfterOff(t *testing.T) {
	for name, c := range map[string]struct {
		reads []fixedState // one per ten minutes, the first at once
		stop  bool
		want  string
	}{
		"on all the time":         {[]fixedState{true, true, true}, false, "on 0s, on 30m0s, off 1h0m0s"},
		"off in between":          {[]fixedState{true, false, false}, false, "on 0s, on 30m0s, off 1h30m0s"},
		"on again, by its button": {[]fixedState{true, false, true}, false, "on 0s, on 30m0s, off 1h0m0s"},
		"slow to come on":         {[]fixedState{false}, false, "on 0s, on 30m0s, off 1h0m0s"},
		"stopped":                 {nil, true, "on 0s, on 30m0s, off 1h30m0s"},
	} {
		t.Run(name, func(t *testing.T) {
			withLamp(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp) {
				d := &stopped{outlet: outlet{plug: plug{lamp: l}, safe: "off"}}
				if err := g.Start(t.Context(), d, "lamp"); err != nil {
					t.Fatal(err)
				}
				advance(0)
				switchLamp(t, g, l, true, 0)
				look := begin(t, g, capabilities.Plan{Device: "lamp", Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query})
				for n, on := range c.reads {
					if n > 0 {
						advance(10 * time.Minute)
					}
					if _, err := look.On(t.Context(), on); err != nil {
						t.Fatal(err)
					}
				}
				if c.stop {
					advance(time.Minute)
					l.fails(1) // its halt switches it off
					g.Stop("smoke")
					advance(time.Minute)
					g.ResetStop()
				}
				advance(30*time.Minute - time.Since(l.start))
				switchLamp(t, g, l, true, 0)
				advance(2 * time.Hour)
				if l.history() != c.want {
					t.Errorf("%s, want %s", l.history(), c.want)
				}
			})
		})
	}
}

// stopped is an outlet that reports a safe state.
type stopped struct{ outlet }

func (*stopped) Safe(context.Context) (bool, error) { return true, nil }

func TestManualSwitchOffBeforeMaxOn(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp) {
		switchLamp(t, g, l, true, 0)
		advance(time.Minute)
		switchLamp(t, g, l, false, 0)
		advance(2 * time.Hour)
		if want := "on 0s, off 1m0s"; l.history() != want {
			t.Errorf("%s, want %s", l.history(), want)
		}
	})
}

func TestSwitchOffIsRetried(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Minute}, func(t *testing.T, g *policy.Policy, l *lamp) {
		switchLamp(t, g, l, true, 0)
		l.fails(3)
		advance(2 * time.Minute)
		if want := "on 0s, off 1m7s"; l.history() != want {
			t.Errorf("%s, want %s: tries after 1, 2 and 4 seconds", l.history(), want)
		}
	})
}

func TestMinInterval(t *testing.T) {
	withLamp(t, settings.Limits{MinInterval: time.Minute, Busy: settings.BusyReject}, func(t *testing.T, g *policy.Policy, l *lamp) {
		switchLamp(t, g, l, true, 0)
		advance(20 * time.Second)
		_, err := g.Check(switchPlan(true, 0))
		wantRejection(t, err, "min_interval", "1m0s", "40s")
		switchLamp(t, g, l, false, 0) // switching off never waits
		advance(time.Minute)
		switchLamp(t, g, l, true, 0)
	})
	withLamp(t, settings.Limits{MinInterval: time.Minute}, func(t *testing.T, g *policy.Policy, l *lamp) {
		switchLamp(t, g, l, true, 0)
		switchLamp(t, g, l, true, 0)
		if want := "on 0s, on 1m0s"; l.history() != want {
			t.Errorf("%s, want %s", l.history(), want)
		}
	})
}

func TestOneTaskPerDevice(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		first := begin(t, g, switchPlan(true, 0))
		var wg sync.WaitGroup
		var reason string
		wg.Go(func() {
			second, err := g.Admit(t.Context(), policy.Order{Plan: switchPlan(false, 0)}, func(s string) { reason = s })
			if err != nil {
				t.Errorf("Enter: %v", err)
				return
			}
			defer second.End()
			if err := second.Switch(t.Context(), l, false); err != nil {
				t.Error(err)
			}
		})
		advance(time.Second)
		if err := first.Switch(t.Context(), l, true); err != nil {
			t.Error(err)
		}
		first.End()
		first.End()
		wg.Wait()
		if want := "on 1s, off 1s"; l.history() != want || !strings.Contains(reason, "switch the lamp") {
			t.Errorf("history is %s, want %s; the reason is %q", l.history(), want, reason)
		}
	})
	withLamp(t, settings.Limits{Busy: settings.BusyReject}, func(t *testing.T, g *policy.Policy, _ *lamp) {
		defer begin(t, g, switchPlan(true, 0)).End()
		_, err := g.Admit(t.Context(), policy.Order{Plan: switchPlan(true, 0)}, nil)
		wantRejection(t, err, "busy", "switch the lamp")
	})
}

func TestQuietHours(t *testing.T) {
	quiet, err := settings.ParseHours("22:00-07:00")
	if err != nil {
		t.Fatal(err)
	}
	withLamp(t, settings.Limits{QuietHours: quiet}, func(t *testing.T, g *policy.Policy, l *lamp) {
		_, err := g.Check(switchPlan(true, 0))
		wantRejection(t, err, "quiet_hours", "22:00-07:00", "00:00", "7h0m0s")
		switchLamp(t, g, l, false, 0)
		advance(7 * time.Hour)
		switchLamp(t, g, l, true, 0)
		advance(15 * time.Hour)
		_, err = g.Admit(t.Context(), policy.Order{Plan: switchPlan(true, 0)}, nil)
		wantRejection(t, err, "quiet_hours", "9h0m0s")
		later := switchPlan(true, 0)
		later.NotBefore = time.Now().UTC().Add(12 * time.Hour) // asked for in the evening
		if _, err := g.Check(later); err != nil {
			t.Errorf("later: %v", err)
		}
		later.NotBefore = time.Now().UTC().Add(time.Hour)
		_, err = g.Check(later)
		wantRejection(t, err, "quiet_hours", "is within them; ask for another time")
	})
}

func TestDryRunAndLocked(t *testing.T) {
	withLamp(t, settings.Limits{DryRun: true}, func(t *testing.T, g *policy.Policy, _ *lamp) {
		_, err := g.Check(switchPlan(true, 0))
		wantRejection(t, err, "dry_run", "switch the lamp")
	})
	withLamp(t, settings.Limits{Locked: true}, func(t *testing.T, g *policy.Policy, _ *lamp) {
		_, err := g.Check(switchPlan(false, 0))
		wantRejection(t, err, "locked")
	})
}

func TestHangingDriverIsQuarantined(t *testing.T) {
	withLamp(t, settings.Limits{Timeout: 5 * time.Second, StopWithin: 2 * time.Second}, func(t *testing.T, g *policy.Policy, l *lamp) {
		l.block = make(chan struct{})
		pass := begin(t, g, switchPlan(true, 0))
		err := pass.Switch(t.Context(), l, true)
		late, ok := errors.AsType[*policy.TimeoutError](err)
		if !ok || !late.Quarantined || time.Since(l.start) != 7*time.Second {
			t.Fatalf("after %v: %v, want a hung driver after 7s", time.Since(l.start), err)
		}
		pass.End()
		_, err = g.Check(switchPlan(true, 0))
		wantRejection(t, err, "quarantine", "switch on")
		other := switchPlan(true, 0)
		other.Device = "heater"
		if _, err := g.Check(other); err != nil {
			t.Errorf("another device: %v", err)
		}
		close(l.block)
		synctest.Wait()
		switchLamp(t, g, l, false, 0)
	})
}

func TestSlowDriverIsReported(t *testing.T) {
	withLamp(t, settings.Limits{Timeout: 5 * time.Second}, func(t *testing.T, g *policy.Policy, l *lamp) {
		l.obeys = true
		pass := begin(t, g, switchPlan(true, 0))
		defer pass.End()
		err := pass.Switch(t.Context(), l, true)
		if late, ok := errors.AsType[*policy.TimeoutError](err); !ok || late.Quarantined || late.Limit != 5*time.Second {
			t.Errorf("%v, want a TimeoutError after 5s", err)
		}
	})
}

func TestErrorsHaveRemedy(t *testing.T) {
	for err, want := range map[error]string{
		&policy.TimeoutError{Device: "lamp", Call: "switch on", Limit: time.Second}:                    `lamp: no answer to "switch on" within 1s`,
		&policy.TimeoutError{Device: "lamp", Call: "switch on", Limit: time.Second, Quarantined: true}: `lamp: no answer to "switch on" within 1s; the driver ignores the cancel too, so the device stays in quarantine until the call returns`,
		&policy.Rejection{Device: "lamp", Rule: "locked", Text: "no"}:                                  "lamp: locked: no",
		&policy.Rejection{Rule: "stop", Text: "no"}:                                                    "stop: no",
	} {
		if err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

func TestPanicIsError(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		l.panics = true
		pass := begin(t, g, switchPlan(true, 0))
		defer pass.End()
		if err := pass.Switch(t.Context(), l, true); err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%v, want the panic", err)
		}
	})
}
