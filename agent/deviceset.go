package agent

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/internal/wait"
)

// deviceSet is the devices of one executor under its safety policy. It does not change, and its
// methods are safe for concurrent use.
type deviceSet struct {
	gate    *policy.Policy
	cameras *imaging.Cameras
	wrong   chan struct{} // signals a changed failure of a device
	now     func() time.Time
	log     *slog.Logger
	byName  map[string]*device
}

// newDeviceSet returns the set of devices, of which Start may have opened some. fit reduces
// their images to limits.
func newDeviceSet(devices []Device, g *policy.Policy, fit imaging.Fit, now func() time.Time, log *slog.Logger) *deviceSet {
	s := &deviceSet{gate: g, cameras: imaging.NewCameras(fit, now), wrong: make(chan struct{}, 1), now: now, log: log, byName: map[string]*device{}}
	for _, d := range devices {
		if d.Label == "" {
			d.Label = d.Name
		}
		if d.opened == nil {
			d.opened = newDevice(d)
		}
		d.opened.Label = d.Label
		s.byName[d.Name] = d.opened
		s.cameras.SetPlaceholders(d.Name, d.Placeholders)
	}
	return s
}

// get returns the device of a name, nil if there is none.
func (s *deviceSet) get(name string) *device { return s.byName[name] }

// all lists the devices by name.
func (s *deviceSet) all() iter.Seq[*device] {
	return func(yield func(*device) bool) {
		for _, name := range slices.Sorted(maps.Keys(s.byName)) {
			if !yield(s.byName[name]) {
				return
			}
		}
	}
}

// failuresChanged reports that a device has failed, or works again.
func (s *deviceSet) failuresChanged() { wait.Notify(s.wrong) }

// start starts all devices that are not started.
func (s *deviceSet) start(ctx context.Context) { startAll(ctx, s.gate, s.all(), s.log) }

// halt takes all devices to their safe state.
func (s *deviceSet) halt(ctx context.Context) error { return haltAll(ctx, s.gate, s.log, s.all()) }

// see captures an image with another device's camera and returns that camera's display name.
func (s *deviceSet) see(ctx context.Context, name string, lim picture.Limits) (p imaging.Image, by string, err error) {
	d := s.get(name)
	if d == nil {
		return p, "", fmt.Errorf("there is no camera %q here", name)
	}
	c, ok := d.Driver.(drivers.Photographer)
	if !ok {
		return p, "", fmt.Errorf("%s takes no pictures", name)
	}
	if err := d.open(ctx, s.gate); err != nil {
		return p, "", err
	}
	pass, err := s.gate.Admit(ctx, policy.Order{Plan: capabilities.Plan{
		Device: name, Command: capabilities.TakePhoto, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "look at what was done",
	}}, nil)
	if err != nil {
		return p, "", err
	}
	defer pass.End()
	p, err = s.cameras.Capture(ctx, name, lim, func(ctx context.Context) (drivers.Photo, error) { return pass.Photo(ctx, c) })
	return p, d.Label, err
}

// glanceTime limits the reading of one state.
const glanceTime = 5 * time.Second

// stateOf reads the state of a device; "" if it does not report one.
func (s *deviceSet) stateOf(ctx context.Context, d *device) string {
	type pass = *policy.Pass
	switch r := d.Driver.(type) {
	case drivers.SwitchReader:
		return wordFor(onOff)(glanced(ctx, s, d, func(ctx context.Context, p pass) (bool, error) { return p.On(ctx, r) }))
	case drivers.OpeningReader:
		open := func(percent float64) string { return map[bool]string{true: "open", false: "closed"}[percent > 0] }
		return wordFor(open)(glanced(ctx, s, d, func(ctx context.Context, p pass) (float64, error) { return p.Opening(ctx, r) }))
	case drivers.LockReader:
		locked := func(is bool) string { return map[bool]string{true: "locked", false: "unlocked"}[is] }
		return wordFor(locked)(glanced(ctx, s, d, func(ctx context.Context, p pass) (bool, error) { return p.Locked(ctx, r) }))
	case drivers.DockReader:
		if in, known := glanced(ctx, s, d, func(ctx context.Context, p pass) (bool, error) { return p.Docked(ctx, r) }); in || !known {
			return map[bool]string{true: "docked"}[in]
		}
		if rest, reads := r.(drivers.RestReader); reads {
			idle := func(still bool) string { return map[bool]string{true: "idle"}[still] }
			return wordFor(idle)(glanced(ctx, s, d, func(ctx context.Context, p pass) (bool, error) { return p.AtRest(ctx, rest) }))
		}
	}
	return ""
}

// wordFor adapts the words for a state to an unknown state, for which it returns "".
func wordFor[T any](word func(T) string) func(T, bool) string {
	return func(v T, known bool) string {
		if !known {
			return ""
		}
		return word(v)
	}
}

// glanced reads one state of a device; known is false if the device does not report it.
func glanced[T any](ctx context.Context, s *deviceSet, d *device, look func(context.Context, *policy.Pass) (T, error)) (v T, known bool) {
	if !d.running(s.gate) {
		return v, false
	}
	ctx, cancel := context.WithTimeout(ctx, glanceTime)
	defer cancel()
	pass, err := s.gate.Admit(ctx, policy.Order{Plan: capabilities.Plan{
		Device: d.Name, Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "see how it is",
	}}, nil)
	if err != nil {
		return v, false
	}
	defer pass.End()
	v, err = look(ctx, pass)
	return v, err == nil
}
