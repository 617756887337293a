package policy_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// thing is a device without capabilities.
type thing struct{ name string }

func (t thing) Name() string               { return t.name }
func (thing) SetName(string)               {}
func (thing) Connection() gobot.Connection { return nil }
func (thing) Start() error                 { return nil }
func (thing) Halt() error                  { return nil }

// sensor measures a given value.
type sensor struct {
	thing
	read func() ([]drivers.Reading, error)
}

func (s *sensor) Read(context.Context) ([]drivers.Reading, error) { return s.read() }

func measures(quantity string, value float64) func() ([]drivers.Reading, error) {
	return func() ([]drivers.Reading, error) {
		return []drivers.Reading{{Quantity: "battery", Value: 3}, {Quantity: quantity, Value: value, At: time.Now()}}, nil
	}
}

// relay is a switch with a readable state, unless it is broken.
type relay struct {
	plug
	on     bool
	broken error
}

func (r *relay) On(context.Context) (bool, error) { return r.on, r.broken }

func (r *relay) Switch(ctx context.Context, on bool) error {
	r.on = on
	return r.lamp.Switch(ctx, on)
}

func newRelay(on bool) *relay { return &relay{plug: plug{lamp: &lamp{start: time.Now()}}, on: on} }

func TestRequires(t *testing.T) {
	need := func(is string) settings.Condition { return settings.Condition{Device: "door", Is: is} }
	between := settings.Condition{Device: "door", Quantity: "temperature", Min: new(5.0), Max: new(30.0)}
	for _, c := range []struct {
		name string
		need settings.Condition
		door drivers.Device // nil: absent
		want string         // text of the rejection; "" for none
	}{
		{"closed", need("closed"), &sensor{read: measures("contact", 1)}, ""},
		{"open instead", need("closed"), &sensor{read: measures("contact", 0)}, "door must be closed, but it reports open"},
		{"open", need("open"), &sensor{read: measures("contact", 0)}, ""},
		{"nobody", need("nobody"), &sensor{read: measures("motion", 0)}, ""},
		{"somebody instead", need("nobody"), &sensor{read: measures("presence", 1)}, "door must see nobody, but it reports somebody"},
		{"somebody", need("somebody"), &sensor{read: measures("occupancy", 1)}, ""},
		{"nobody instead", need("somebody"), &sensor{read: measures("occupancy", 0)}, "it reports nobody"},
		{"off", need("off"), newRelay(false), ""},
		{"on instead", need("off"), newRelay(true), "door must be off, but it is on"},
		{"within", between, &sensor{read: measures("temperature", 30)}, ""},
		{"too warm", between, &sensor{read: measures("temperature", 30.5)}, "temperature of door must be 5 to 30, but it is 30.5"},
		{"half a truth", need("closed"), &sensor{read: measures("contact", 0.5)}, "the condition needs 0 or 1"},
		{"another quantity", need("closed"), &sensor{read: measures("humidity", 1)}, "its state is unknown: it measures no contact now"},
		{"no answer", need("closed"), &sensor{read: func() ([]drivers.Reading, error) { return nil, errors.New("no answer") }}, "its state is unknown: no answer; check door"},
		{"nothing", need("nobody"), &sensor{read: func() ([]drivers.Reading, error) { return nil, nil }}, "its state is unknown"},
		{"a sensor that panics", need("closed"), &sensor{read: func() ([]drivers.Reading, error) { panic("boom") }}, "its state is unknown"},
		{"no sensor", need("closed"), thing{}, "it measures nothing"},
		{"no reader", need("on"), plug{lamp: &lamp{}}, "it cannot report whether it is on"},
		{"not there", need("closed"), nil, "it has not started"},
		{"old", need("closed"), &sensor{read: aged(61 * time.Second)}, "is 1m1s old, but max_age is 1m0s"},
		{"old enough", settings.Condition{Device: "door", Is: "closed", MaxAge: time.Hour}, &sensor{read: aged(59 * time.Minute)}, ""},
		{"from tomorrow", need("closed"), &sensor{read: aged(-24 * time.Hour)}, "in the future"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := c.need.Validate(); err != nil {
				t.Fatal(err)
			}
			withLamp(t, settings.Limits{Requires: []settings.Condition{c.need}}, func(t *testing.T, g *policy.Policy, l *lamp) {
				if c.door != nil {
					if err := g.Start(t.Context(), c.door, "door"); err != nil {
						t.Fatal(err)
					}
				}
				_, atPlan := g.Evaluate(t.Context(), policy.Order{Plan: switchPlan(true, 0)})
				_, held := g.Admit(t.Context(), policy.Order{Plan: switchPlan(true, 0)}, nil)
				for _, err := range []error{atPlan, held} {
					if c.want == "" && err != nil {
						t.Error(err)
					} else if c.want != "" {
						wantRejection(t, err, "requires", c.want)
					}
				}
				if c.want != "" {
					switchLamp(t, g, l, false, 0) // the policy never delays switching off
				}
			})
		})
	}
}

func aged(d time.Duration) func() ([]drivers.Reading, error) {
	return func() ([]drivers.Reading, error) {
		return []drivers.Reading{{Quantity: "contact", Value: 1, At: time.Now().Add(-d)}}, nil
	}
}

// A condition may change between admission and act.
func TestRequiresIsCheckedBeforeEachAct(t *testing.T) {
	withLamp(t, settings.Limits{Requires: []settings.Condition{{Device: "door", Is: "closed"}}}, func(t *testing.T, g *policy.Policy, l *lamp) {
		door := &sensor{read: measures("contact", 1)}
		if err := g.Start(t.Context(), door, "door"); err != nil {
			t.Fatal(err)
		}
		pass := begin(t, g, switchPlan(true, 0))
		defer pass.End()
		if err := pass.Switch(t.Context(), l, true); err != nil {
			t.Fatal(err)
		}
		door.read = measures("contact", 0)
		wantRejection(t, pass.Switch(t.Context(), l, true), "requires", "it reports open")
		if l.history() != "on 0s" {
			t.Errorf("the lamp: %s", l.history())
		}
	})
}

// A sensor that answers too late permits nothing.
func TestSlowSensorPermitsNothing(t *testing.T) {
	withLamp(t, settings.Limits{Requires: []settings.Condition{{Device: "door", Is: "closed"}}}, func(t *testing.T, g *policy.Policy, l *lamp) {
		door := &sensor{read: func() ([]drivers.Reading, error) {
			time.Sleep(3 * time.Second) // fake time
			return measures("contact", 1)()
		}}
		if err := g.Start(t.Context(), door, "door"); err != nil {
			t.Fatal(err)
		}
		pass := begin(t, g, switchPlan(true, 0))
		defer pass.End()
		wantRejection(t, pass.Switch(t.Context(), l, true), "fresh", "2s, 3 times")
		if l.history() != "" {
			t.Errorf("the lamp: %s", l.history())
		}
	})
}

func withTwoDevices(t *testing.T, test func(*testing.T, *policy.Policy)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := settings.DefaultConfig()
		cfg.Devices = map[string]settings.Limits{
			"up": {Interlock: []string{"blind"}}, "down": {Interlock: []string{"other", "blind"}}, "vacuum": {Interlock: []string{"blind"}}, "lamp": {Interlock: []string{"light"}},
		}
		test(t, newPolicy(cfg))
	})
}

func on(device string, yes bool) policy.Order {
	p := switchPlan(yes, 0)
	p.Device, p.Summary = device, "switch "+device
	return policy.Order{Plan: p}
}

func switchDevice(t *testing.T, g *policy.Policy, device string, s drivers.Switch, yes bool) error {
	t.Helper()
	pass, err := g.Admit(t.Context(), on(device, yes), nil)
	if err != nil {
		return err
	}
	defer pass.End()
	return pass.Switch(t.Context(), s, yes)
}

func TestInterlock(t *testing.T) {
	withTwoDevices(t, func(t *testing.T, g *policy.Policy) {
		up, down := newRelay(false), newRelay(false)
		wantRejection(t, switchDevice(t, g, "up", up, true), "interlock", "down at the same time (group blind)", "may be on (it has not started)")
		for name, d := range map[string]drivers.Device{"up": up, "down": down, "vacuum": thing{}} {
			if err := g.Start(t.Context(), d, name); err != nil {
				t.Fatal(err)
			}
		}
		if err := switchDevice(t, g, "up", up, true); err != nil {
			t.Fatal(err)
		}
		_, err := g.Evaluate(t.Context(), on("down", true))
		wantRejection(t, err, "interlock", "up at the same time (group blind), which is on; switch up off first")
		if err := switchDevice(t, g, "down", down, false); err != nil {
			t.Errorf("off is not kept waiting: %v", err)
		}
		up.on = false // manually
		if err := switchDevice(t, g, "down", down, true); err != nil {
			t.Fatal(err)
		}
		down.broken = errors.New("no answer")
		wantRejection(t, switchDevice(t, g, "up", up, true), "interlock", "down", "may be on (no answer)")
		if err := switchDevice(t, g, "lamp", newRelay(false), true); err != nil {
			t.Errorf("a device of another group: %v", err)
		}
	})
}

// A hanging driver may still carry out its command at any time.
func TestInterlockWithHangingDriver(t *testing.T) {
	withTwoDevices(t, func(t *testing.T, g *policy.Policy) {
		down := newRelay(false)
		for name, d := range map[string]drivers.Device{"up": newRelay(false), "down": down, "vacuum": thing{}} {
			if err := g.Start(t.Context(), d, name); err != nil {
				t.Fatal(err)
			}
		}
		down.lamp.block = make(chan struct{})
		if err := switchDevice(t, g, "down", down.lamp, true); err == nil {
			t.Fatal("a driver that hangs has come back")
		}
		wantRejection(t, switchDevice(t, g, "up", newRelay(false), true), "interlock", "down", `quarantine: its driver has not returned from "switch on"`)
		close(down.lamp.block)
		synctest.Wait()
		if err := switchDevice(t, g, "up", newRelay(false), true); err != nil {
			t.Errorf("when it is back and reads off: %v", err)
		}
	})
}

// If two tasks enter at the same time, only one may act.
func TestInterlockOfConcurrentTasks(t *testing.T) {
	withTwoDevices(t, func(t *testing.T, g *policy.Policy) {
		for name, d := range map[string]drivers.Device{"up": newRelay(false), "down": newRelay(false), "vacuum": thing{}} {
			if err := g.Start(t.Context(), d, name); err != nil {
				t.Fatal(err)
			}
		}
		clean := policy.Order{Plan: capabilities.Plan{Device: "vacuum", Command: capabilities.Clean, Risk: capabilities.RiskMotion, Effect: capabilities.Once, Summary: "vacuum"}}
		clean.Confirmed = clean.Digest()
		pass, err := g.Admit(t.Context(), clean, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = g.Admit(t.Context(), on("up", true), nil)
		wantRejection(t, err, "interlock", "vacuum", "acts: vacuum")
		pass.End()
		if err := switchDevice(t, g, "up", newRelay(false), true); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// A switch without readback may be on until the policy has switched it off.
func TestInterlockWithoutReadback(t *testing.T) {
	withTwoDevices(t, func(t *testing.T, g *policy.Policy) {
		blind := plug{lamp: &lamp{start: time.Now()}}
		for name, d := range map[string]drivers.Device{"up": newRelay(false), "down": blind, "vacuum": thing{}} {
			if err := g.Start(t.Context(), d, name); err != nil {
				t.Fatal(err)
			}
		}
		wantRejection(t, switchDevice(t, g, "up", newRelay(false), true), "interlock", "it cannot report its state, and messkit has not switched it since the start")
		for _, step := range []struct {
			down bool
			want string
		}{{false, ""}, {true, "is on"}, {false, ""}} {
			if err := switchDevice(t, g, "down", blind, step.down); err != nil {
				t.Fatal(err)
			}
			_, err := g.Evaluate(t.Context(), on("up", true))
			if step.want == "" && err != nil || step.want != "" && !strings.Contains(fmt.Sprint(err), step.want) {
				t.Errorf("down is %v: %v, want %q", step.down, err, step.want)
			}
		}
	})
}
