package policy_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// fakeWatchdog is a watchdog that records its messages.
type fakeWatchdog struct {
	absent error // it is not running
	no     error // it rejects
	slow   time.Duration

	mu  sync.Mutex
	log []string
}

func (w *fakeWatchdog) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *fakeWatchdog) Ready(string) error { return w.absent }

func (w *fakeWatchdog) WillBeOn(_ string, left time.Duration) error {
	w.note("on %v", left)
	advance(w.slow)
	return w.no
}

func (w *fakeWatchdog) MayBeOn(_ string, left time.Duration) { w.note("maybe on %v", left) }
func (w *fakeWatchdog) IsOff(string)                         { w.note("off") }

func (w *fakeWatchdog) messages() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.log, ", ")
}

// The watchdog learns of a device before it is on, and after it is off again.
func TestWatchdogIsNotifiedInOrder(t *testing.T) {
	for _, tt := range []struct {
		name            string
		watchdog        *fakeWatchdog
		story           func(*testing.T, *policy.Policy, *lamp)
		messages, lamps string
	}{
		{
			name: "on for a while",
			story: func(t *testing.T, g *policy.Policy, l *lamp) {
				turnOn(t, g, l, 30*time.Second, "")
			},
			messages: "on 30s, off", lamps: "on 0s, off 30s",
		},
		{
			name: "on, and off by hand",
			story: func(t *testing.T, g *policy.Policy, l *lamp) {
				turnOn(t, g, l, 0, "")
				pass := begin(t, g, switchPlan(false, 0))
				defer pass.End()
				if err := pass.Switch(t.Context(), l, false); err != nil {
					t.Error(err)
				}
			},
			messages: "on 1m0s, off", lamps: "on 0s, off 0s",
		},
		{
			name:     "a button on a line, pressed",
			story:    func(t *testing.T, g *policy.Policy, l *lamp) { pressKnob(t, g, l, "") },
			messages: "on 1m0s, off", lamps: "on 0s, off 0s",
		},
		{
			name: "a button on a line, that may not have been released",
			story: func(t *testing.T, g *policy.Policy, l *lamp) {
				l.fails(1)
				pressKnob(t, g, l, "no contact")
			},
			messages: "on 1m0s, off", lamps: "off 1m0s",
		},
		{
			name:     "a button on a line, and the watchdog rejects it",
			watchdog: &fakeWatchdog{no: errors.New("it is being switched off")},
			story:    func(t *testing.T, g *policy.Policy, l *lamp) { pressKnob(t, g, l, "guard: it is being switched off") },
			messages: "on 1m0s, off",
		},
		{
			name: "the driver fails: it may be on",
			story: func(t *testing.T, g *policy.Policy, l *lamp) {
				l.fails(1)
				turnOn(t, g, l, 0, "no contact")
			},
			messages: "on 1m0s, off", lamps: "off 1m0s",
		},
		{
			name: "it may be on at the start",
			story: func(t *testing.T, g *policy.Policy, l *lamp) {
				if err := g.Start(t.Context(), plug{lamp: l}, "lamp"); err != nil {
					t.Error(err)
				}
			},
			messages: "maybe on 1m0s, off", lamps: "off 1m0s",
		},
		{
			name: "it is off at the start",
			story: func(t *testing.T, g *policy.Policy, l *lamp) {
				if err := g.Start(t.Context(), reader{plug{lamp: l}, false, nil}, "lamp"); err != nil {
					t.Error(err)
				}
			},
			messages: "maybe on 1m0s, off",
		},
		{
			name:     "the watchdog rejects it",
			watchdog: &fakeWatchdog{no: errors.New("it is being switched off")},
			story: func(t *testing.T, g *policy.Policy, l *lamp) {
				turnOn(t, g, l, 0, "lamp: guard: it is being switched off")
			},
			messages: "on 1m0s, off",
		},
		{
			name:     "its answer comes when the time is over",
			watchdog: &fakeWatchdog{slow: 2 * time.Second},
			story: func(t *testing.T, g *policy.Policy, l *lamp) {
				turnOn(t, g, l, time.Second, "lamp: max_on: its time was over before messkit could switch it on")
			},
			messages: "on 1s, off", lamps: "off 2s",
		},
	} {
		withLamp(t, settings.Limits{MaxOn: time.Minute}, func(t *testing.T, g *policy.Policy, l *lamp) {
			w := cmp.Or(tt.watchdog, &fakeWatchdog{})
			policy.WithWatchdog(w)(g)
			tt.story(t, g, l)
			advance(10 * time.Minute)
			if got := w.messages(); got != tt.messages {
				t.Errorf("%s: messages to the watchdog are %q, want %q", tt.name, got, tt.messages)
			}
			if got := l.history(); got != tt.lamps {
				t.Errorf("%s: the lamp: %q, want %q", tt.name, got, tt.lamps)
			}
		})
	}
}

// turnOn switches the lamp on and expects an error with this beginning or end.
func turnOn(t *testing.T, g *policy.Policy, s drivers.Switch, d time.Duration, want string) {
	t.Helper()
	pass := begin(t, g, switchPlan(true, d))
	defer pass.End()
	err := pass.Switch(t.Context(), s, true)
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("switched on: %v, want %q", err, want)
	}
}

// Without its watchdog, the policy allows switching a device off and reading it, but not
// switching it on.
func TestNothingIsOnWithoutWatchdog(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		policy.WithWatchdog(&fakeWatchdog{absent: errors.New("the watchdog is not running")})(g)
		const want = "lamp: guard: the watchdog is not running, and only the watchdog could switch the device off if messkit died; ask again in a second"
		for name, ask := range map[string]func() error{
			"Check": func() error { _, err := g.Check(switchPlan(true, 0)); return err },
			"Enter": func() error { _, err := g.Admit(t.Context(), policy.Order{Plan: switchPlan(true, 0)}, nil); return err },
		} {
			err := ask()
			no, ok := errors.AsType[*policy.Rejection](err)
			if !ok || no.Rule != "guard" || no.Retry != time.Second || no.Error() != want {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, err := g.Check(switchPlan(false, 0)); err != nil {
			t.Errorf("off: %v", err)
		}
	})
}

// timed is a lamp with a timer of its own.
type timed struct {
	*lamp
	limits []time.Duration
}

func (l *timed) SwitchFor(ctx context.Context, on bool, limit time.Duration) error {
	l.limits = append(l.limits, limit)
	return l.Switch(ctx, on)
}

// The policy sets the device's own timer if it has one and there is a limit.
func TestAutoOff(t *testing.T) {
	for _, tt := range []struct{ max, ask, want time.Duration }{
		{0, 0, 0}, {time.Minute, 0, time.Minute}, {time.Minute, time.Second, time.Second}, {0, time.Hour, time.Hour},
	} {
		withLamp(t, settings.Limits{MaxOn: tt.max}, func(t *testing.T, g *policy.Policy, l *lamp) {
			d := &timed{lamp: l}
			turnOn(t, g, d, tt.ask, "")
			if tt.want == 0 && len(d.limits) == 0 {
				return
			}
			if len(d.limits) != 1 || d.limits[0] != tt.want {
				t.Errorf("%v: %v", tt, d.limits)
			}
		})
	}
}

// bright is a dimmable lamp with a timer of its own.
type bright struct{ *timed }

func (l bright) Switch(ctx context.Context, on bool) error {
	l.limits = nil // this takes the timer away
	return l.timed.Switch(ctx, on)
}

func (l bright) Dim(ctx context.Context, percent float64) error {
	return l.lamp.Switch(ctx, percent > 0)
}

// A later command without an end also removes the device's own timer.
func TestAutoOffIsUndone(t *testing.T) {
	withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
		d := bright{&timed{lamp: l}}
		turnOn(t, g, d, time.Hour, "")
		if len(d.limits) != 1 {
			t.Fatalf("the driver set the timer %d times, want once", len(d.limits))
		}
		plan := switchPlan(true, 0)
		plan.Command, plan.Args = capabilities.Dim, mess.Object{{Key: "level", Value: 40.0}}
		pass := begin(t, g, plan)
		defer pass.End()
		if err := pass.Dim(t.Context(), d, 40); err != nil || len(d.limits) != 0 {
			t.Errorf("dimmed: %v, timers %v", err, d.limits)
		}
	})
}

// A device that an earlier run may have switched on counts as on since then, unless that time
// is over.
func TestOnSinceEarlierRun(t *testing.T) {
	for ago, want := range map[time.Duration]time.Duration{4 * time.Second: 6 * time.Second, 0: 10 * time.Second, time.Minute: 10 * time.Second} {
		withLamp(t, settings.Limits{MaxOn: 10 * time.Second}, func(t *testing.T, g *policy.Policy, l *lamp) {
			pass, err := g.Admit(t.Context(), policy.Order{Plan: switchPlan(true, 0), Began: time.Now().Add(-ago)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer pass.End()
			if err := pass.Switch(t.Context(), l, true); err != nil || pass.OffIn() != want {
				t.Errorf("begun %v ago: off in %v, want %v: %v", ago, pass.OffIn(), want, err)
			}
		})
	}
}

// knob is a button on an output line: the line is on during a press.
type knob struct{ *lamp }

func (k knob) Press(ctx context.Context) error {
	if err := k.Switch(ctx, true); err != nil {
		return err
	}
	return k.Switch(ctx, false)
}

// pressKnob presses it and expects an error like that.
func pressKnob(t *testing.T, g *policy.Policy, l *lamp, want string) {
	t.Helper()
	plan := switchPlan(true, 0)
	plan.Command, plan.Args, plan.Effect = capabilities.Press, nil, capabilities.Once
	pass := begin(t, g, plan)
	defer pass.End()
	err := pass.Press(t.Context(), knob{l})
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("pressed: %v, want %q", err, want)
	}
}
