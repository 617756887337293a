package policy

import (
	"context"
	"slices"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Acts end with their ctx and at a Stop. Reading continues during a Stop, so that a client may
// still check the state of a device.

// Switch turns the device on or off. Run switches it off when its time is over, the watchdog if
// this program cannot, and the device itself if it has a timer.
func (p *Pass) Switch(ctx context.Context, s drivers.Switch, on bool) error {
	name := map[bool]string{true: "switch on", false: "switch off"}[on]
	if err := p.matchesPlan(name, capabilities.SetSwitch, !on || TurnsOn(p.order.Plan)); err != nil && p.order.Command != capabilities.Toggle {
		return err
	}
	_, err := act(ctx, p, name, p.dev.limits.Timeout, func(ctx context.Context) (struct{}, error) {
		if on {
			return struct{}{}, p.switchOn(ctx, s, func(ctx context.Context) error { return s.Switch(ctx, true) })
		}
		return struct{}{}, s.Switch(ctx, false)
	})
	if err == nil && !on {
		p.g.setOff(p.dev)
	}
	return err
}

// DimmableLight is a light with a brightness.
type DimmableLight interface {
	drivers.Switch
	drivers.Dimmer
}

// Dim sets the brightness of a light, in percent. A level above 0 switches it on, with the same
// limits as Switch.
func (p *Pass) Dim(ctx context.Context, l DimmableLight, percent float64) error {
	level, fixed := p.order.Args.Get("level")
	is, known := number(level)
	if err := p.matchesPlan("dim", capabilities.Dim, !fixed && percent > 0 || known && is == percent); err != nil {
		return err
	}
	_, err := act(ctx, p, "dim", p.dev.limits.Timeout, func(ctx context.Context) (struct{}, error) {
		if percent > 0 {
			return struct{}{}, p.switchOn(ctx, l, func(ctx context.Context) error { return l.Dim(ctx, percent) })
		}
		return struct{}{}, l.Dim(ctx, 0)
	})
	if err == nil && percent == 0 {
		p.g.setOff(p.dev)
	}
	return err
}

// ColorLight is a light with colors.
type ColorLight interface {
	drivers.Switch
	drivers.Tinter
}

// Tint sets the color of a light and switches it on.
func (p *Pass) Tint(ctx context.Context, l ColorLight, c drivers.Colour) error {
	colour, _ := p.order.Args.Get("colour")
	if err := p.matchesPlan("tint", capabilities.Tint, colour == c.String()); err != nil {
		return err
	}
	_, err := act(ctx, p, "tint", p.dev.limits.Timeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.switchOn(ctx, l, func(ctx context.Context) error { return l.Tint(ctx, c) })
	})
	return err
}

// ColorTemperatureLight is a light with an adjustable color temperature.
type ColorTemperatureLight interface {
	drivers.Switch
	drivers.Warmer
}

// Warm sets the color temperature of a light, in kelvin, and switches it on.
func (p *Pass) Warm(ctx context.Context, l ColorTemperatureLight, kelvin float64) error {
	_, changes := p.order.Args.Get("change")
	if err := p.matchesPlan("set the white", capabilities.Warm, changes || p.planHas("kelvin", kelvin)); err != nil {
		return err
	}
	_, err := act(ctx, p, "set the white", p.dev.limits.Timeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.switchOn(ctx, l, func(ctx context.Context) error { return l.Warm(ctx, kelvin) })
	})
	return err
}

// planHas reports whether the plan has this number for a parameter.
func (p *Pass) planHas(key string, value float64) bool {
	planned, _ := p.order.Args.Get(key)
	is, known := number(planned)
	return known && is == value
}

// Warmth reads back the color temperature of the device, in kelvin.
func (p *Pass) Warmth(ctx context.Context, r drivers.WarmthReader) (float64, error) {
	return readDevice(ctx, p, "read the white", r.Warmth)
}

// TurnTo turns a device to an angle, in degrees.
func (p *Pass) TurnTo(ctx context.Context, t drivers.Turner, degrees float64) error {
	if err := p.matchesPlan("turn", capabilities.TurnTo, p.planHas("angle", degrees)); err != nil {
		return err
	}
	_, err := act(ctx, p, "turn", p.dev.limits.LongTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, t.TurnTo(ctx, degrees)
	})
	return err
}

// Angle reads back the angle of the device, in degrees.
func (p *Pass) Angle(ctx context.Context, r drivers.AngleReader) (float64, error) {
	return readState(ctx, p, "angle", "°", "read angle", r.Angle)
}

// EstimatedOpening returns the device's own estimate of its opening, in percent.
func (p *Pass) EstimatedOpening(ctx context.Context, e drivers.OpeningEstimator) (float64, error) {
	return readDevice(ctx, p, "read opening", e.EstimatedOpening)
}

// SetTarget sets the target temperature of a thermostat, in °C.
func (p *Pass) SetTarget(ctx context.Context, t drivers.Thermostat, celsius float64) error {
	if err := p.matchesPlan("set the temperature", capabilities.SetTemperature, p.planHas("temperature", celsius)); err != nil {
		return err
	}
	_, err := act(ctx, p, "set the temperature", p.dev.limits.Timeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, t.SetTarget(ctx, celsius)
	})
	return err
}

// Target reads back the target temperature, in °C.
func (p *Pass) Target(ctx context.Context, r drivers.TargetReader) (float64, error) {
	return readState(ctx, p, "target", "°C", "read the temperature", r.Target)
}

// Level reads back the brightness of the device, in percent.
func (p *Pass) Level(ctx context.Context, r drivers.LevelReader) (float64, error) {
	return readState(ctx, p, "level", "%", "read level", r.Level)
}

// Colour reads back the color of the device.
func (p *Pass) Colour(ctx context.Context, r drivers.ColourReader) (drivers.Colour, error) {
	return readDevice(ctx, p, "read colour", r.Colour)
}

// Clean cleans areas. It calls progress from another goroutine.
func (p *Pass) Clean(ctx context.Context, c drivers.Cleaner, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	planned := stringList(areasOf(p.order.Plan))
	if err := p.matchesPlan("clean", capabilities.Clean, slices.Equal(planned, areas)); err != nil {
		return drivers.Outcome{Remaining: areas}, err
	}
	return act(ctx, p, "clean", p.dev.limits.LongTimeout, func(ctx context.Context) (drivers.Outcome, error) {
		return c.Clean(ctx, areas, progress)
	})
}

// Dock sends a cleaner to its dock.
func (p *Pass) Dock(ctx context.Context, c drivers.Cleaner) error {
	if err := p.matchesPlan("dock", capabilities.Dock, true); err != nil {
		return err
	}
	_, err := act(ctx, p, "dock", p.dev.limits.LongTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, c.Dock(ctx)
	})
	return err
}

// Open opens a cover, a door or a valve.
func (p *Pass) Open(ctx context.Context, o drivers.Opener) error {
	return p.moves(ctx, "open", capabilities.Open, p.dev.limits.LongTimeout, o.Open)
}

// Shut closes a cover, a door or a valve.
func (p *Pass) Shut(ctx context.Context, o drivers.Opener) error {
	return p.moves(ctx, "close", capabilities.Shut, p.dev.limits.LongTimeout, o.Shut)
}

// OpenTo opens a cover to a position, in percent.
func (p *Pass) OpenTo(ctx context.Context, o drivers.Positioner, percent float64) error {
	if err := p.matchesPlan("open", capabilities.OpenTo, p.planHas("opening", percent)); err != nil {
		return err
	}
	_, err := act(ctx, p, "open", p.dev.limits.LongTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, o.OpenTo(ctx, percent)
	})
	return err
}

// Lock locks a lock.
func (p *Pass) Lock(ctx context.Context, l drivers.Locker) error {
	return p.moves(ctx, "lock", capabilities.Lock, p.dev.limits.Timeout, l.Lock)
}

// Unlock unlocks a lock.
func (p *Pass) Unlock(ctx context.Context, l drivers.Locker) error {
	return p.moves(ctx, "unlock", capabilities.Unlock, p.dev.limits.Timeout, l.Unlock)
}

// moves performs an act without arguments.
func (p *Pass) moves(ctx context.Context, name string, c capabilities.Command, limit time.Duration, f func(context.Context) error) error {
	if err := p.matchesPlan(name, c, true); err != nil {
		return err
	}
	_, err := act(ctx, p, name, limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

// Opening reads back the opening of the device, in percent.
func (p *Pass) Opening(ctx context.Context, r drivers.OpeningReader) (float64, error) {
	return readState(ctx, p, "opening", "%", "read opening", r.Opening)
}

// Locked reads back whether the lock reports locked.
func (p *Pass) Locked(ctx context.Context, r drivers.LockReader) (bool, error) {
	return readState(ctx, p, "lock", "", "read lock", r.Locked)
}

// Docked reads back whether a cleaner is in its dock.
func (p *Pass) Docked(ctx context.Context, r drivers.DockReader) (bool, error) {
	return readState(ctx, p, "docked", "", "read state", r.Docked)
}

// AtRest reads back whether a device stands still.
func (p *Pass) AtRest(ctx context.Context, r drivers.RestReader) (bool, error) {
	return readDevice(ctx, p, "read whether it stands still", r.AtRest)
}

// Photo captures an image.
func (p *Pass) Photo(ctx context.Context, c drivers.Photographer) (drivers.Photo, error) {
	return readDevice(ctx, p, "photo", c.Photo)
}

// Map draws a map.
func (p *Pass) Map(ctx context.Context, m drivers.Mapper) (drivers.Photo, error) {
	return readDevice(ctx, p, "map", m.Map)
}

// On reads back whether the device is on.
func (p *Pass) On(ctx context.Context, r drivers.SwitchReader) (bool, error) {
	return readState(ctx, p, "on", "", "read state", r.On)
}

// Read reads measurements.
func (p *Pass) Read(ctx context.Context, s drivers.Sensor) ([]drivers.Reading, error) {
	return readState(ctx, p, "", "", "read", s.Read)
}

// Observe reads the items that the device recognizes.
func (p *Pass) Observe(ctx context.Context, o drivers.Observer) (drivers.Observation, error) {
	return readDevice(ctx, p, "observe", o.Observe)
}

// readDevice calls a reading method.
func readDevice[T any](ctx context.Context, p *Pass, name string, f func(context.Context) (T, error)) (T, error) {
	p.g.mu.Lock()
	err := p.g.notQuarantined(p.dev, p.order.Plan)
	p.g.mu.Unlock()
	if err != nil {
		var none T
		return none, err
	}
	return run(ctx, p.g, &call{dev: p.dev, name: name, limit: p.dev.limits.Timeout, lock: p.dev.readLock}, f)
}
