package device

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/internal/wait"
)

// Set is the devices of one executor under its safety policy. Add, Remove and Describe change it. Its
// methods are safe for concurrent use.
type Set struct {
	Gate     *policy.Policy
	Cameras  *imaging.Cameras
	failures chan struct{} // signals a changed failure of a device
	now      func() time.Time
	log      *slog.Logger

	mu     sync.RWMutex // guards byName
	byName map[string]*Handle
}

// NewSet returns the set of devices, of which Start may have opened some. fit reduces
// their images to limits.
func NewSet(devices []Device, g *policy.Policy, fit imaging.Fit, now func() time.Time, log *slog.Logger) *Set {
	s := &Set{Gate: g, Cameras: imaging.NewCameras(fit, now), failures: make(chan struct{}, 1), now: now, log: log, byName: map[string]*Handle{}}
	for _, d := range devices {
		if d.Label == "" {
			d.Label = d.Name
		}
		if d.opened == nil {
			d.opened = newHandle(d)
		}
		d.opened.Label = d.Label
		s.byName[d.Name] = d.opened
		s.Cameras.SetPlaceholders(d.Name, d.Placeholders)
	}
	return s
}

// Get returns the device of a name, nil if there is none.
func (s *Set) Get(name string) *Handle {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.byName[name]
}

// All lists the devices by name.
func (s *Set) All() iter.Seq[*Handle] {
	return func(yield func(*Handle) bool) {
		s.mu.RLock()
		list := slices.Collect(maps.Values(s.byName))
		s.mu.RUnlock()
		slices.SortFunc(list, func(a, b *Handle) int { return strings.Compare(a.Name, b.Name) })
		for _, d := range list {
			if !yield(d) {
				return
			}
		}
	}
}

// FailuresChanged reports that a device has failed, or works again.
func (s *Set) FailuresChanged() { wait.Notify(s.failures) }

// StartAll starts all devices that are not started.
func (s *Set) StartAll(ctx context.Context) { startAll(ctx, s.Gate, s.All(), s.log) }

// HaltAll takes all devices to their safe state.
func (s *Set) HaltAll(ctx context.Context) error { return haltAll(ctx, s.Gate, s.log, s.All()) }

// Capture captures an image with another device's camera and returns that camera's display name.
func (s *Set) Capture(ctx context.Context, name string, lim picture.Limits) (p imaging.Image, by string, err error) {
	err = s.withCamera(ctx, name, "look at the result", func(take imaging.CaptureFunc) (err error) {
		p, err = s.Cameras.Capture(ctx, name, lim, take)
		return err
	})
	if d := s.Get(name); d != nil {
		by = d.Label
	}
	return p, by, err
}

// Frame captures one image for a live picture. The error is a *policy.Rejection, that of the camera,
// or the cause of ctx.
func (s *Set) Frame(ctx context.Context, name string, lim picture.Limits) (p picture.Picture, err error) {
	err = s.withCamera(ctx, name, "show the live picture", func(take imaging.CaptureFunc) (err error) {
		p, err = s.Cameras.Frame(ctx, name, lim, take)
		return err
	})
	return p, err
}

// withCamera calls f with the function that captures an image with a camera, if the policy allows it
// now.
func (s *Set) withCamera(ctx context.Context, name, summary string, f func(imaging.CaptureFunc) error) error {
	d := s.Get(name)
	if d == nil {
		return fmt.Errorf("there is no camera %q here", name)
	}
	c, ok := d.Driver.(drivers.Photographer)
	if !ok {
		return fmt.Errorf("%s takes no pictures", name)
	}
	if err := d.Open(ctx, s.Gate); err != nil {
		return err
	}
	pass, err := s.Gate.Admit(ctx, policy.Order{Plan: capabilities.Plan{
		Device: name, Command: capabilities.TakePhoto, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: summary,
	}}, nil)
	if err != nil {
		return err
	}
	defer pass.End()
	return f(func(ctx context.Context) (drivers.Photo, error) { return pass.Photo(ctx, c) })
}

// stateReadTimeout limits the reading of one state.
const stateReadTimeout = 5 * time.Second

// State reads the state of a device; "" if it does not report one.
func (s *Set) State(ctx context.Context, d *Handle) string {
	type pass = *policy.Pass
	switch r := d.Driver.(type) {
	case drivers.SwitchReader:
		return WordFor(wording.OnOff)(ReadState(ctx, s, d, func(ctx context.Context, p pass) (bool, error) { return p.On(ctx, r) }))
	case drivers.OpeningReader:
		open := func(percent float64) string { return map[bool]string{true: "open", false: "closed"}[percent > 0] }
		return WordFor(open)(ReadState(ctx, s, d, func(ctx context.Context, p pass) (float64, error) { return p.Opening(ctx, r) }))
	case drivers.LockReader:
		locked := func(is bool) string { return map[bool]string{true: "locked", false: "unlocked"}[is] }
		return WordFor(locked)(ReadState(ctx, s, d, func(ctx context.Context, p pass) (bool, error) { return p.Locked(ctx, r) }))
	case drivers.DockReader:
		if in, known := ReadState(ctx, s, d, func(ctx context.Context, p pass) (bool, error) { return p.Docked(ctx, r) }); in || !known {
			return map[bool]string{true: "docked"}[in]
		}
		if rest, reads := r.(drivers.RestReader); reads {
			idle := func(still bool) string { return map[bool]string{true: "idle"}[still] }
			return WordFor(idle)(ReadState(ctx, s, d, func(ctx context.Context, p pass) (bool, error) { return p.AtRest(ctx, rest) }))
		}
	}
	return ""
}

// WordFor adapts the words for a state to an unknown state, for which it returns "".
func WordFor[T any](word func(T) string) func(T, bool) string {
	return func(v T, known bool) string {
		if !known {
			return ""
		}
		return word(v)
	}
}

// ReadState reads one state of a device; known is false if the device does not report it.
func ReadState[T any](ctx context.Context, s *Set, d *Handle, look func(context.Context, *policy.Pass) (T, error)) (v T, known bool) {
	if !d.IsRunning(s.Gate) {
		return v, false
	}
	ctx, cancel := context.WithTimeout(ctx, stateReadTimeout)
	defer cancel()
	pass, err := s.Gate.Admit(ctx, policy.Order{Plan: capabilities.Plan{
		Device: d.Name, Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "see how it is",
	}}, nil)
	if err != nil {
		return v, false
	}
	defer pass.End()
	v, err = look(ctx, pass)
	return v, err == nil
}
