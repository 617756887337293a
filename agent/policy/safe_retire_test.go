package policy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/drivers"
)

// socket is a plug that keeps its level at its end.
type socket struct {
	plug
	halts   *int
	haltErr *error
}

var _ drivers.StartHaltStates = socket{}

func (s socket) Halt() error                           { *s.halts++; return *s.haltErr }
func (socket) StartHaltStates() (initial, safe string) { return "keep", "keep" }

// startSocket starts a socket.
func startSocket(t *testing.T, g *policy.Policy, l *lamp) socket {
	t.Helper()
	s := socket{plug{lamp: l}, new(int), new(error)}
	if err := g.Start(t.Context(), s, "lamp"); err != nil {
		t.Fatal(err)
	}
	return s
}

// A device that is on for a time is switched off before it is removed, although its safe state is keep, and
// no timer acts on it afterwards.
func TestRetiredDeviceIsSwitchedOff(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp) {
		s := startSocket(t, g, l)
		switchLamp(t, g, l, true, 0)
		if err := g.Retire(t.Context(), s, "lamp"); err != nil {
			t.Fatal(err)
		}
		g.Forget("lamp")
		advance(3 * time.Hour)
		g.Stop("a test")
		advance(time.Minute)
		if l.history() != "on 0s, off 0s" || *s.halts != 1 || g.MayBeActive("lamp") {
			t.Errorf("%q, halted %d times, may be active: %v", l.history(), *s.halts, g.MayBeActive("lamp"))
		}
	})
}

// A device that cannot be switched off stays, and the policy goes on to switch it off at its time.
func TestUnsafeDeviceIsNotRetired(t *testing.T) {
	withLamp(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp) {
		s := startSocket(t, g, l)
		switchLamp(t, g, l, true, 0)
		l.fails(1)
		if err := g.Retire(t.Context(), s, "lamp"); err == nil || !strings.Contains(err.Error(), "no contact") || *s.halts != 0 {
			t.Fatalf("%v, halted %d times", err, *s.halts)
		}
		*s.haltErr = errors.New("jammed")
		if err := g.Retire(t.Context(), s, "lamp"); err != nil { // it is off, so that a failing halt is harmless
			t.Fatal(err)
		}
		advance(2 * time.Hour)
		if l.history() != "on 0s, off 0s" {
			t.Errorf("%q", l.history())
		}
	})
	withLamp(t, settings.Limits{MaxOn: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp) {
		s := startSocket(t, g, l)
		switchLamp(t, g, l, true, 0)
		l.fails(1)
		_ = g.Retire(t.Context(), s, "lamp") // it fails
		advance(2 * time.Hour)
		if l.history() != "on 0s, off 1h0m0s" {
			t.Errorf("%q: the pending switch-off is lost", l.history())
		}
	})
}

// A task, a stop and a hanging driver keep a device from its removal.
func TestUsedDeviceIsNotRetired(t *testing.T) {
	withLamp(t, settings.Limits{Timeout: time.Second, StopWithin: time.Second}, func(t *testing.T, g *policy.Policy, l *lamp) {
		s := startSocket(t, g, l)
		pass := begin(t, g, switchPlan(true, 0))
		wantRejection(t, g.Retire(t.Context(), s, "lamp"), "busy")
		pass.End()
		g.Stop("smoke")
		wantRejection(t, g.Retire(t.Context(), s, "lamp"), "stop")
		g.ResetStop()
		l.block = make(chan struct{})
		pass = begin(t, g, switchPlan(true, 0))
		if err := pass.Switch(context.Background(), l, true); err == nil {
			t.Error("the driver does not hang")
		}
		pass.End()
		if err := g.Retire(t.Context(), s, "lamp"); err == nil || !strings.Contains(err.Error(), "has not returned") {
			t.Error(err)
		}
		close(l.block)
		advance(time.Second)
		if err := g.Retire(t.Context(), s, "lamp"); err != nil {
			t.Error(err)
		}
	})
}

// The minimum interval counts on for a device with another driver, so that a change of its settings does
// not shorten it.
func TestIntervalOutlivesDriver(t *testing.T) {
	withLamp(t, settings.Limits{MinInterval: time.Hour}, func(t *testing.T, g *policy.Policy, l *lamp) {
		s := startSocket(t, g, l)
		switchLamp(t, g, l, true, 0)
		if err := g.Retire(t.Context(), s, "lamp"); err != nil {
			t.Fatal(err)
		}
		g.AddDevice("lamp", settings.Limits{MinInterval: time.Hour}, "")
		startSocket(t, g, l)
		began := time.Now()
		switchLamp(t, g, l, true, 0)
		if waited := time.Since(began); waited != time.Hour {
			t.Errorf("the next act came after %v", waited)
		}
	})
}
