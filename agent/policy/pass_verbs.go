package policy

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Acts end with their ctx and at a Stop. A Stop rejects every new plan, also one that only reads. A
// pass from before the Stop may still read, so that its task reports the true state of the device.

// verb describes the driver call of a command.
type verb struct {
	name string // in errors
	long bool   // the call lasts as long as the task
}

// verbs has the commands that Pass.do carries out.
var verbs = map[capabilities.Command]verb{
	capabilities.Dim: {name: "dim"}, capabilities.SetColor: {name: "tint"}, capabilities.SetColorTemperature: {name: "set the white"},
	capabilities.SetTemperature: {name: "set the temperature"},
	capabilities.Open:           {name: "open", long: true}, capabilities.OpenTo: {name: "open", long: true}, capabilities.Close: {name: "close", long: true},
	capabilities.Lock: {name: "lock"}, capabilities.Unlock: {name: "unlock"},
	capabilities.TurnTo: {name: "turn", long: true}, capabilities.Dock: {name: "dock", long: true}, capabilities.CleanSpot: {name: "clean the spot", long: true},
	capabilities.Pause: {name: "pause"}, capabilities.Resume: {name: "resume"}, capabilities.Stop: {name: "stop"},
	capabilities.Press: {name: "press it", long: true},
}

// do carries out a command, if it is the command of the plan and args says that it has the
// arguments of the plan.
func (p *Pass) do(ctx context.Context, c capabilities.Command, args bool, f func(context.Context) error) error {
	v, limit := verbs[c], p.dev.limits.Timeout
	if v.long {
		limit = p.dev.limits.LongTimeout
	}
	if err := p.matchesPlan(v.name, c, args); err != nil {
		return err
	}
	_, err := act(ctx, p, v.name, limit, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}

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
	is, known := settings.Number(level)
	args := !fixed && percent > 0 || known && is == percent
	err := p.do(ctx, capabilities.Dim, args, func(ctx context.Context) error {
		if percent > 0 {
			return p.switchOn(ctx, l, func(ctx context.Context) error { return l.Dim(ctx, percent) })
		}
		return l.Dim(ctx, 0)
	})
	if err == nil && percent == 0 {
		p.g.setOff(p.dev)
	}
	return err
}

// ColorLight is a light with colors.
type ColorLight interface {
	drivers.Switch
	drivers.ColorSetter
}

// SetColor sets the color of a light and switches it on.
func (p *Pass) SetColor(ctx context.Context, l ColorLight, c drivers.Color) error {
	color, _ := p.order.Args.Get("colour")
	return p.do(ctx, capabilities.SetColor, color == c.String(), func(ctx context.Context) error {
		return p.switchOn(ctx, l, func(ctx context.Context) error { return l.SetColor(ctx, c) })
	})
}

// ColorTemperatureLight is a light with an adjustable color temperature.
type ColorTemperatureLight interface {
	drivers.Switch
	drivers.ColorTemperatureSetter
}

// SetColorTemperature sets the color temperature of a light, in kelvin, and switches it on.
func (p *Pass) SetColorTemperature(ctx context.Context, l ColorTemperatureLight, kelvin float64) error {
	_, changes := p.order.Args.Get("change")
	return p.do(ctx, capabilities.SetColorTemperature, changes || p.planHas("kelvin", kelvin), func(ctx context.Context) error {
		return p.switchOn(ctx, l, func(ctx context.Context) error { return l.SetColorTemperature(ctx, kelvin) })
	})
}

// planHas reports whether the plan has this number for a parameter.
func (p *Pass) planHas(key string, value float64) bool {
	planned, _ := p.order.Args.Get(key)
	is, known := settings.Number(planned)
	return known && is == value
}

// ColorTemperature reads back the color temperature of the device, in kelvin.
func (p *Pass) ColorTemperature(ctx context.Context, r drivers.ColorTemperatureReader) (float64, error) {
	return readDevice(ctx, p, "read the white", r.ColorTemperature)
}

// TurnTo turns a device to an angle, in degrees.
func (p *Pass) TurnTo(ctx context.Context, t drivers.Turner, degrees float64) error {
	return p.do(ctx, capabilities.TurnTo, p.planHas("angle", degrees), func(ctx context.Context) error { return t.TurnTo(ctx, degrees) })
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
	return p.do(ctx, capabilities.SetTemperature, p.planHas("temperature", celsius), func(ctx context.Context) error { return t.SetTarget(ctx, celsius) })
}

// Target reads back the target temperature, in °C.
func (p *Pass) Target(ctx context.Context, r drivers.TargetReader) (float64, error) {
	return readState(ctx, p, "target", "°C", "read the temperature", r.Target)
}

// Level reads back the brightness of the device, in percent.
func (p *Pass) Level(ctx context.Context, r drivers.LevelReader) (float64, error) {
	return readState(ctx, p, "level", "%", "read level", r.Level)
}

// Color reads back the color of the device.
func (p *Pass) Color(ctx context.Context, r drivers.ColorReader) (drivers.Color, error) {
	return readDevice(ctx, p, "read color", r.Color)
}

// Clean cleans areas. It calls progress from another goroutine.
func (p *Pass) Clean(ctx context.Context, c drivers.Cleaner, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	planned := settings.Strings(areasOf(p.order.Plan))
	if err := p.matchesPlan("clean", capabilities.Clean, slices.Equal(planned, areas)); err != nil {
		return drivers.Outcome{Remaining: areas}, err
	}
	return act(ctx, p, "clean", p.dev.limits.LongTimeout, func(ctx context.Context) (drivers.Outcome, error) {
		return c.Clean(ctx, areas, progress)
	})
}

// Dock sends a cleaner to its dock.
func (p *Pass) Dock(ctx context.Context, c drivers.Cleaner) error {
	return p.do(ctx, capabilities.Dock, true, c.Dock)
}

// Open opens a cover, a door or a valve.
func (p *Pass) Open(ctx context.Context, o drivers.Opener) error {
	return p.do(ctx, capabilities.Open, true, o.Open)
}

// Close closes a cover, a door or a valve.
func (p *Pass) Close(ctx context.Context, o drivers.Opener) error {
	return p.do(ctx, capabilities.Close, true, o.Close)
}

// OpenTo opens a cover to a position, in percent.
func (p *Pass) OpenTo(ctx context.Context, o drivers.Positioner, percent float64) error {
	return p.do(ctx, capabilities.OpenTo, p.planHas("opening", percent), func(ctx context.Context) error { return o.OpenTo(ctx, percent) })
}

// Lock locks a lock.
func (p *Pass) Lock(ctx context.Context, l drivers.Locker) error {
	return p.do(ctx, capabilities.Lock, true, l.Lock)
}

// Unlock unlocks a lock.
func (p *Pass) Unlock(ctx context.Context, l drivers.Locker) error {
	return p.do(ctx, capabilities.Unlock, true, l.Unlock)
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

// FloorMap draws a map with positions.
func (p *Pass) FloorMap(ctx context.Context, m drivers.FloorMapper) (drivers.FloorMap, error) {
	return readDevice(ctx, p, "map", m.FloorMap)
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

// Pause pauses the device's activity.
func (p *Pass) Pause(ctx context.Context, d drivers.Pauser) error {
	return p.do(ctx, capabilities.Pause, true, d.Pause)
}

// Resume continues the device's activity.
func (p *Pass) Resume(ctx context.Context, d drivers.Pauser) error {
	return p.do(ctx, capabilities.Resume, true, d.Resume)
}

// Stop ends the device's activity. left describes the remaining work for a person.
func (p *Pass) Stop(ctx context.Context, d drivers.Stopper) (left string, err error) {
	err = p.do(ctx, capabilities.Stop, true, func(ctx context.Context) (err error) {
		left, err = d.Stop(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	return left, nil
}

// CleanSpot cleans the spot at the cleaner's position. It calls progress from another goroutine.
func (p *Pass) CleanSpot(ctx context.Context, d drivers.SpotCleaner, progress func(drivers.Progress)) error {
	return p.do(ctx, capabilities.CleanSpot, true, func(ctx context.Context) error {
		return d.CleanSpot(ctx, progress)
	})
}

// Press triggers a button, a scene or a script. A button on an output line of this machine is
// on during the press, and the policy and the watchdog treat it like any device that is on.
func (p *Pass) Press(ctx context.Context, d drivers.Presser) error {
	s, line := d.(drivers.Switch)
	if !line {
		return p.do(ctx, capabilities.Press, true, d.Press)
	}
	err := p.do(ctx, capabilities.Press, true, func(ctx context.Context) error { return p.switchOn(ctx, s, d.Press) })
	if err == nil { // the driver has released it
		p.g.setOff(p.dev)
	}
	return err
}

// PressState reads back when the device last fired.
func (p *Pass) PressState(ctx context.Context, r drivers.PressReader) (drivers.PressState, error) {
	return readDevice(ctx, p, "read its last trigger", r.PressState)
}

// Print starts the print of a file.
func (p *Pass) Print(ctx context.Context, d drivers.Printer, file string) (drivers.Print, error) {
	planned, _ := p.order.Args.Get("file")
	if err := p.matchesPlan("print", capabilities.Print, planned == file); err != nil {
		return drivers.Print{}, err
	}
	return act(ctx, p, "print", p.dev.limits.Timeout, func(ctx context.Context) (drivers.Print, error) { return d.Print(ctx, file) })
}

// PrintState reads the state of a print.
func (p *Pass) PrintState(ctx context.Context, d drivers.Printer, one drivers.Print) (drivers.PrintState, error) {
	return readDevice(ctx, p, "read state", func(ctx context.Context) (drivers.PrintState, error) { return d.PrintState(ctx, one) })
}

// Working reads whether a device is working on its own.
func (p *Pass) Working(ctx context.Context, d drivers.Worker) (bool, error) {
	return readDevice(ctx, p, "read whether it works", d.Working)
}

// Changes returns a channel that the device closes at its next change.
func (p *Pass) Changes(ctx context.Context, d drivers.Notifier) (<-chan struct{}, error) {
	return readDevice(ctx, p, "listen", func(context.Context) (<-chan struct{}, error) { return d.Changes(), nil })
}

// FindPrint looks for a print that an earlier run of the program has begun.
func (p *Pass) FindPrint(ctx context.Context, d drivers.Printer, file string, since time.Time) (drivers.Print, error) {
	return readDevice(ctx, p, "find the print", func(ctx context.Context) (drivers.Print, error) { return d.FindPrint(ctx, file, since) })
}

// StopActivity ends the print of a pass: a person has asked for it in its own thread, or has
// cancelled that thread. If the printer does not acknowledge it, the policy repeats it until
// the printer does or gets another command.
func (p *Pass) StopActivity(ctx context.Context, d drivers.Stopper) (left string, err error) {
	left, err = run(ctx, p.g, &call{dev: p.dev, name: "stop", limit: p.dev.limits.Timeout, lock: p.dev.steerLock, acts: true}, d.Stop)
	if errors.Is(err, drivers.ErrMayAct) {
		p.g.mu.Lock()
		defer p.g.mu.Unlock()
		p.g.repeatStop(p.dev)
	}
	return left, err
}

// ResumeActivity resumes a print that waits for a person. It checks the rules for the plan
// again, since the pass may only be one for reading.
func (p *Pass) ResumeActivity(ctx context.Context, d drivers.Pauser, plan capabilities.Plan) error {
	c := &call{dev: p.dev, name: "resume", limit: p.dev.limits.Timeout, lock: p.dev.steerLock, acts: true}
	ctx, end := p.g.stoppable(ctx, c)
	defer end()
	_, err := run(ctx, p.g, c, func(ctx context.Context) (struct{}, error) {
		p.g.updateDecisions()
		p.g.mu.Lock()
		err := firstRejection(append(p.g.standingRules(), p.g.notDryRun), p.dev, plan)
		p.g.mu.Unlock()
		if err != nil {
			return struct{}{}, err
		}
		return struct{}{}, d.Resume(ctx)
	})
	return err
}
