package template

import (
	"context"
	"time"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Switch          = switcher{}
	_ drivers.SwitchReader    = switcher{}
	_ drivers.SafeReader      = switcher{}
	_ drivers.StartHaltStates = switcher{}
	_ drivers.AutoOff         = struct {
		switcher
		timer
	}{}
	_ drivers.PersistentTimer = timer{}
	_ drivers.TimerRounder    = timer{}
	_ drivers.Sensor          = sensor{}

	_ drivers.Thermostat   = heater{}
	_ drivers.TargetReader = heater{}
	_ drivers.Locker       = lock{}
	_ drivers.LockReader   = lock{}
)

// switcher implements drivers.Switch and its readback.
type switcher struct{ *Device }

// Switch turns the device on or off.
func (s switcher) Switch(ctx context.Context, on bool) error {
	return s.Do(ctx, func(ctx context.Context) error { return s.verbs.Switch(ctx, on) })
}

// On reads the level back from the device.
func (s switcher) On(ctx context.Context) (bool, error) {
	return drivers.DoValue(ctx, &s.Device.Base, s.verbs.On)
}

// StartHaltStates returns the levels that Start and Halt set.
func (s switcher) StartHaltStates() (initial, safe string) { return s.levels.Initial, s.levels.Safe }

// Safe reads back whether the device is at its safe level.
func (s switcher) Safe(ctx context.Context) (bool, error) {
	if s.levels.Safe == "keep" {
		return true, nil
	}
	if err := s.connect(ctx); err != nil {
		return false, s.WithName(err)
	}
	defer s.disconnect()
	on, err := s.verbs.On(ctx)
	return on == (s.levels.Safe == "on"), s.WithName(err)
}

// timer implements drivers.AutoOff.
type timer struct{ d *Device }

// SwitchFor turns the device on or off, and sets its timer.
func (t timer) SwitchFor(ctx context.Context, on bool, limit time.Duration) error {
	return t.d.Do(ctx, func(ctx context.Context) error {
		if !on {
			return t.d.verbs.Switch(ctx, false)
		}
		return t.d.verbs.SwitchFor(ctx, limit)
	})
}

// TimerMayBeSet reports that an earlier process has set the timer.
func (t timer) TimerMayBeSet() { t.d.verbs.TimerMayBeSet() }

// RoundTimer returns how long the timer runs for a time.
func (t timer) RoundTimer(limit time.Duration) time.Duration { return t.d.verbs.RoundTimer(limit) }

// sensor implements drivers.Sensor.
type sensor struct{ d *Device }

// Read reads the measurements of the device.
func (s sensor) Read(ctx context.Context) ([]drivers.Reading, error) {
	return drivers.DoValue(ctx, &s.d.Base, s.d.verbs.Read)
}

// lock implements drivers.Locker.
type lock struct{ d *Device }

// Lock locks the device.
func (l lock) Lock(ctx context.Context) error { return l.d.Do(ctx, l.d.verbs.Lock.Lock) }

// Unlock unlocks the device.
func (l lock) Unlock(ctx context.Context) error { return l.d.Do(ctx, l.d.verbs.Lock.Unlock) }

// Locked reads back whether the device is locked.
func (l lock) Locked(ctx context.Context) (bool, error) {
	return drivers.DoValue(ctx, &l.d.Base, l.d.verbs.Lock.Locked)
}

// heater implements drivers.Thermostat.
type heater struct{ d *Device }

// SetTarget sets the target temperature.
func (h heater) SetTarget(ctx context.Context, celsius float64) error {
	return h.d.Do(ctx, func(ctx context.Context) error {
		if err := h.d.verbs.Thermostat.TargetRange.Check(celsius); err != nil {
			return err
		}
		return h.d.verbs.Thermostat.Set(ctx, celsius)
	})
}

// TargetRange returns the range of target temperatures.
func (h heater) TargetRange() drivers.TargetRange { return h.d.verbs.Thermostat.TargetRange }

// Target reads back the target temperature.
func (h heater) Target(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &h.d.Base, h.d.verbs.Thermostat.Target)
}

// shape returns a device with exactly the methods of its verbs, because callers find verbs
// by type assertion.
func shape(d *Device) drivers.Device {
	v := d.verbs
	switch {
	case v.Cover != nil:
		return shapeCover(d)
	case v.Press != nil:
		return struct {
			*Device
			presser
		}{d, presser{d}}
	case v.Lock != nil:
		return struct {
			*Device
			lock
			sensor
		}{d, lock{d}, sensor{d}}
	}
	if v.Switch == nil {
		if v.Read == nil {
			return d
		}
		return struct {
			*Device
			sensor
		}{d, sensor{d}}
	}
	if v.Thermostat != nil {
		return struct {
			switcher
			heater
			sensor
		}{switcher{d}, heater{d}, sensor{d}}
	}
	if v.Light != nil {
		return shapeLamp(d)
	}
	switch {
	case v.SwitchFor != nil && v.Read != nil:
		return struct {
			switcher
			timer
			sensor
		}{switcher{d}, timer{d}, sensor{d}}
	case v.SwitchFor != nil:
		return struct {
			switcher
			timer
		}{switcher{d}, timer{d}}
	case v.Read != nil:
		return struct {
			switcher
			sensor
		}{switcher{d}, sensor{d}}
	}
	return switcher{d}
}

var (
	_ drivers.Presser      = presser{}
	_ drivers.PressReader  = presser{}
	_ drivers.Unrepeatable = presser{}
)

// Press contains the functions of a device with one action.
type Press struct {
	Do   func(context.Context) error
	Last func(context.Context) (drivers.PressState, error)
}

// presser implements drivers.Presser.
type presser struct{ d *Device }

// Press triggers the action.
func (p presser) Press(ctx context.Context) error { return p.d.Do(ctx, p.d.verbs.Press.Do) }

// PressState reads back the time of the last press.
func (p presser) PressState(ctx context.Context) (drivers.PressState, error) {
	return drivers.DoValue(ctx, &p.d.Base, p.d.verbs.Press.Last)
}

// Unrepeatable implements drivers.Unrepeatable.
func (presser) Unrepeatable() {}
