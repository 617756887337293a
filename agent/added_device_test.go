package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
)

// latecomer is a switch whose start may fail.
type latecomer struct {
	fails         error
	on            bool
	starts, halts int
}

func (l *latecomer) Name() string { return "latecomer" }

func (l *latecomer) Start() error { l.starts++; return l.fails }

func (l *latecomer) Halt() error { l.halts++; return nil }

func (l *latecomer) Switch(_ context.Context, on bool) error { l.on = on; return nil }

// A device that the program adds later has its own limits and risk. One that does not start leaves the set
// as it was.
func TestDeviceIsAddedLater(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	g := policy.New(settings.DefaultConfig(), time.Now, log)
	s := device.NewSet(nil, g, nil, time.Now, log)
	plan := capabilities.Plan{Device: "plug", Command: capabilities.SetSwitch, Risk: capabilities.RiskComfort, Effect: capabilities.Idempotent}
	_, _ = g.Check(plan) // somebody asks before the device is there

	broken := &latecomer{fails: errors.New("no answer")}
	if _, err := s.Add(t.Context(), device.Device{Name: "plug", Driver: broken}); err == nil || s.Get("plug") != nil || broken.halts != 1 {
		t.Errorf("%v, %v, halted %d times", err, s.Get("plug"), broken.halts)
	}
	g.AddDevice("plug", settings.Limits{Locked: true}, capabilities.RiskAccess)
	works := &latecomer{}
	d, err := s.Add(t.Context(), device.Device{Name: "plug", Driver: works})
	if err != nil || s.Get("plug") == nil || works.starts != 1 {
		t.Fatal(err)
	}
	if _, err := g.Check(plan); err == nil {
		t.Error("the lockout of the new device does not count")
	}
	if _, err := s.Add(t.Context(), d); err == nil || works.starts != 1 {
		t.Error("a second device has the name of the first")
	}

	// Another name and area leave the state as it is.
	running := s.Get("plug").IsRunning(g)
	if err := s.Describe(device.Device{Name: "plug", Label: "Desk plug", Area: "office", Hidden: true}); err != nil || !running {
		t.Fatal(err, running)
	}
	if h := s.Get("plug"); h.Label != "Desk plug" || h.Area != "office" || !h.Hidden || !h.IsRunning(g) {
		t.Errorf("%+v", h.Device)
	}
	if err := s.Describe(device.Device{Name: "none", Label: "x"}); err == nil {
		t.Error("an unknown device was described")
	}
	if err := s.HaltAll(t.Context()); err != nil || works.halts != 1 {
		t.Errorf("%v, halted %d times", err, works.halts)
	}

	g.Stop("a test") // nothing starts during a stop
	if _, err := s.Add(t.Context(), device.Device{Name: "other", Driver: &latecomer{}}); err == nil || s.Get("other") != nil {
		t.Error("a device started during a stop")
	}
}
