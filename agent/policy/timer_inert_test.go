package policy_test

import (
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
)

// outlet is a plug with a chosen result of its next switching and a chosen safe level.
type outlet struct {
	plug
	ends          error
	initial, safe string
}

func (o *outlet) Switch(context.Context, bool) error      { return o.ends }
func (o *outlet) StartHaltStates() (initial, safe string) { return o.initial, o.safe }

// MayBeActive reports a device that has acted and may be active; it does not report an unused device.
func TestMayBeActive(t *testing.T) {
	deaf, nothing := errors.New("no answer"), drivers.MarkNothingDone(errors.New("no route"))
	halted := fmt.Errorf("%w: %w", drivers.ErrHalted, drivers.ErrNotStarted)
	type act struct {
		on   bool
		ends error
	}
	for name, c := range map[string]struct {
		initial, safe string
		starts        error
		acts          []act
		want          bool
	}{
		"never used":                    {safe: "off"},
		"never used, and never started": {safe: "off", starts: deaf},
		"on":                            {safe: "off", acts: []act{{true, nil}}, want: true},
		"on and off":                    {safe: "off", acts: []act{{true, nil}, {false, nil}}},
		"may be on":                     {safe: "off", acts: []act{{true, deaf}}, want: true},
		"has not received it":           {safe: "off", acts: []act{{true, nothing}}},
		"on, and has not received off":  {safe: "off", acts: []act{{true, nil}, {false, nothing}}, want: true},
		"on, and may be off":            {safe: "off", acts: []act{{true, nil}, {false, deaf}}, want: true},
		"cut short by a halt":           {safe: "off", acts: []act{{true, halted}}, want: true},
		"off, and is to be on":          {safe: "on", acts: []act{{true, nil}, {false, nil}}, want: true},
		"on from the start":             {initial: "on", safe: "off", want: true},
		"may be on from the start":      {initial: "on", safe: "off", starts: deaf, want: true},
		"not on from the start":         {initial: "on", safe: "off", starts: nothing},
	} {
		t.Run(name, func(t *testing.T) {
			withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
				d := &outlet{plug: plug{lamp: l, startErr: c.starts}, initial: c.initial, safe: c.safe}
				_ = g.Start(t.Context(), d, "lamp") // some fail
				for _, a := range c.acts {
					d.ends = a.ends
					_ = switchDevice(t, g, "lamp", d, a.on)
				}
				if got := g.MayBeActive("lamp"); got != c.want {
					t.Errorf("left: %t, want %t", got, c.want)
				}
				if err := g.Halt(t.Context(), d, "lamp"); err != nil || g.MayBeActive("lamp") {
					t.Errorf("after a halt: %t, %v", g.MayBeActive("lamp"), err)
				}
			})
		})
	}
}

// lateCover is a cover whose first stops fail, as often as set.
type lateCover struct {
	plug
	mu    sync.Mutex
	start time.Time
	deaf  int
	stops []string
	opens error
}

func (s *lateCover) Open(context.Context) error  { return s.opens }
func (s *lateCover) Close(context.Context) error { return nil }

func (s *lateCover) Stop(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops = append(s.stops, time.Since(s.start).String())
	if len(s.stops) <= s.deaf {
		return "", errors.New("no answer")
	}
	return "", nil
}

// The policy repeats the stop of a device that may still be moving, until the device acknowledges
// it or gets another command.
func TestStopIsRepeatedUntilAcknowledged(t *testing.T) {
	mayAct := fmt.Errorf("cancelled; %w", drivers.ErrMayAct)
	for name, c := range map[string]struct {
		opens error
		deaf  int
		shut  bool
		want  string
		left  bool
	}{
		"it may move":                 {mayAct, 2, false, "1s 2s 4s", false},
		"it is commanded another way": {mayAct, 9, true, "", true},
		"it is at rest":               {errors.New("jammed"), 0, false, "", true},
		"it has not received it":      {drivers.ErrNothingDone, 0, false, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			withLamp(t, settings.Limits{}, func(t *testing.T, g *policy.Policy, l *lamp) {
				s := &lateCover{plug: plug{lamp: l}, start: time.Now(), deaf: c.deaf, opens: c.opens}
				if err := g.Start(t.Context(), s, "lamp"); err != nil {
					t.Fatal(err)
				}
				plan := capabilities.Plan{Device: "lamp", Command: capabilities.Open, Risk: capabilities.RiskComfort, Effect: capabilities.Once}
				pass := begin(t, g, plan)
				if err := pass.Open(t.Context(), s); !errors.Is(err, c.opens) {
					t.Error(err)
				}
				pass.End()
				if c.shut {
					plan.Command = capabilities.Close
					pass := begin(t, g, plan)
					if err := pass.Close(t.Context(), s); err != nil {
						t.Error(err)
					}
					pass.End()
				}
				advance(time.Minute)
				s.mu.Lock()
				defer s.mu.Unlock()
				if got := strings.Join(s.stops, " "); got != c.want || g.MayBeActive("lamp") != c.left {
					t.Errorf("stop commands at %q, may be active: %t; want %q, %t", got, g.MayBeActive("lamp"), c.want, c.left)
				}
			})
		})
	}
}
