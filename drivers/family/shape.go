package family

import (
	"context"
	"errors"
	"fmt"
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
	_ drivers.PersistentTimer        = timer{}
	_ drivers.TimerRounder           = timer{}
	_ drivers.Sensor                 = sensor{}
	_ drivers.Dimmer                 = dimmer{}
	_ drivers.LevelReader            = dimmer{}
	_ drivers.ColorSetter            = tinter{}
	_ drivers.ColorReader            = tinter{}
	_ drivers.ColorTemperatureSetter = whitener{}
	_ drivers.ColorTemperatureReader = whitener{}

	_ drivers.Opener        = cover{}
	_ drivers.Positioner    = positioner{}
	_ drivers.Stopper       = stopper{}
	_ drivers.OpeningReader = cover{}
	_ drivers.SafeReader    = cover{}
	_ drivers.RestReader    = cover{}
	_ drivers.Detacher      = cover{}
	_ drivers.Thermostat    = heater{}
	_ drivers.TargetReader  = heater{}
	_ drivers.Locker        = lock{}
	_ drivers.LockReader    = lock{}
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
func (t timer) TimerMayBeSet() { t.d.verbs.TimerLeft() }

// RoundTimer returns how long the timer runs for a time.
func (t timer) RoundTimer(limit time.Duration) time.Duration { return t.d.verbs.TimerFor(limit) }

// sensor implements drivers.Sensor.
type sensor struct{ d *Device }

// Read reads the measurements of the device.
func (s sensor) Read(ctx context.Context) ([]drivers.Reading, error) {
	return drivers.DoValue(ctx, &s.d.Base, s.d.verbs.Read)
}

// dimmer implements drivers.Dimmer.
type dimmer struct{ d *Device }

// Dim sets the brightness; 0 turns the lamp off.
func (m dimmer) Dim(ctx context.Context, percent float64) error {
	return m.d.Do(ctx, func(ctx context.Context) error {
		switch {
		case !(percent >= 0 && percent <= 100):
			return drivers.MarkNothingDone(fmt.Errorf("%v %% is not between 0 and 100", percent))
		case percent == 0:
			return m.d.verbs.Switch(ctx, false)
		}
		return m.d.verbs.Light.Dim(ctx, percent)
	})
}

// Level reads back the brightness.
func (m dimmer) Level(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &m.d.Base, m.d.verbs.Light.Level)
}

// tinter implements drivers.ColorSetter.
type tinter struct{ d *Device }

// SetColor sets the color.
func (p tinter) SetColor(ctx context.Context, c drivers.Color) error {
	return p.d.Do(ctx, func(ctx context.Context) error { return p.d.verbs.Light.Tint(ctx, c) })
}

// Color reads back the color.
func (p tinter) Color(ctx context.Context) (drivers.Color, error) {
	return drivers.DoValue(ctx, &p.d.Base, p.d.verbs.Light.Colour)
}

// cover implements drivers.Opener. It executes one movement at a time.
type cover struct{ d *Device }

// Open opens the cover.
func (c cover) Open(ctx context.Context) error { return c.moves(ctx, c.d.verbs.Cover.Open) }

// Close closes the cover.
func (c cover) Close(ctx context.Context) error { return c.moves(ctx, c.d.verbs.Cover.Shut) }

func (c cover) moves(ctx context.Context, f func(context.Context) error) error {
	return c.d.Do(ctx, func(ctx context.Context) error {
		ctx, release, err := c.d.errand.Begin(ctx, "moving")
		if err != nil {
			return err
		}
		defer release()
		err = f(ctx)
		if !errors.Is(err, drivers.ErrNothingDone) {
			c.d.loose.Store(errors.Is(err, drivers.ErrMayAct))
		}
		if err != nil && drivers.IsStopped(ctx) && !errors.Is(err, drivers.ErrMayAct) {
			return drivers.ErrStopped
		}
		return err
	})
}

// Detach stops the cover if it may move because of a command of this driver. It does not
// stop a movement that another client started; only Halt does.
func (c cover) Detach() error {
	c.d.StopVerbs() // may set loose
	if c.d.loose.Load() {
		return c.d.Halt()
	}
	c.d.turn.Lock()
	defer c.d.turn.Unlock()
	c.d.end()
	return nil
}

// Safe reads back whether the cover stands still.
func (c cover) Safe(ctx context.Context) (bool, error) {
	moves, err := c.looks(ctx, c.d.verbs.Cover.Moves)
	return err == nil && !moves && !c.d.loose.Load(), err
}

// AtRest reads back whether the cover stands still. It returns an error if the cover may
// still execute an earlier command.
func (c cover) AtRest(ctx context.Context) (bool, error) {
	stands, err := c.looks(ctx, c.d.verbs.Cover.Stands)
	if err == nil && c.d.loose.Load() {
		err = c.d.WithName(drivers.ErrMayAct)
	}
	return err == nil && stands, err
}

// looks reads a state, even while the device is halted.
func (c cover) looks(ctx context.Context, f func(context.Context) (bool, error)) (bool, error) {
	if err := c.d.connect(ctx); err != nil {
		return false, c.d.WithName(err)
	}
	defer c.d.disconnect()
	is, err := f(ctx)
	return is, c.d.WithName(err)
}

// Opening reads back the position in percent.
func (c cover) Opening(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &c.d.Base, c.d.verbs.Cover.Opening)
}

// positioner implements drivers.Positioner.
type positioner struct{ cover }

// OpenTo moves the cover to a position in percent.
func (p positioner) OpenTo(ctx context.Context, percent float64) error {
	return p.moves(ctx, func(ctx context.Context) error {
		if !(percent >= 0 && percent <= 100) {
			return drivers.MarkNothingDone(fmt.Errorf("%v %% is not between 0 and 100", percent))
		}
		return p.d.verbs.Cover.To(ctx, percent)
	})
}

// stopper implements drivers.Stopper.
type stopper struct{ d *Device }

// Stop stops the cover, no matter which client moved it.
func (s stopper) Stop(ctx context.Context) (left string, err error) {
	return drivers.DoValue(ctx, &s.d.Base, func(ctx context.Context) (string, error) {
		err := errors.Join(s.d.errand.End(ctx), s.d.verbs.Cover.Stop(ctx))
		if err == nil {
			s.d.loose.Store(false)
		}
		return "", err
	})
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
		if err := h.d.verbs.Heat.Targets.Check(celsius); err != nil {
			return err
		}
		return h.d.verbs.Heat.Set(ctx, celsius)
	})
}

// TargetRange returns the range of target temperatures.
func (h heater) TargetRange() drivers.TargetRange { return h.d.verbs.Heat.Targets }

// Target reads back the target temperature.
func (h heater) Target(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &h.d.Base, h.d.verbs.Heat.Target)
}

// shape returns a device with exactly the methods of its verbs, because callers find verbs
// by type assertion.
func shape(d *Device) drivers.Device {
	v := d.verbs
	switch {
	case v.Cover != nil:
		return moving(d)
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
	if v.Heat != nil {
		return struct {
			switcher
			heater
			sensor
		}{switcher{d}, heater{d}, sensor{d}}
	}
	if v.Light != nil {
		return lamp(d)
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

// moving is shape for a cover.
func moving(d *Device) drivers.Device {
	c := d.verbs.Cover
	switch {
	case c.To != nil && c.Stop != nil:
		return struct {
			*Device
			positioner
			stopper
			sensor
		}{d, positioner{cover{d}}, stopper{d}, sensor{d}}
	case c.To != nil:
		return struct {
			*Device
			positioner
			sensor
		}{d, positioner{cover{d}}, sensor{d}}
	case c.Stop != nil:
		return struct {
			*Device
			cover
			stopper
			sensor
		}{d, cover{d}, stopper{d}, sensor{d}}
	}
	return struct {
		*Device
		cover
		sensor
	}{d, cover{d}, sensor{d}}
}

// whitener implements drivers.ColorTemperatureSetter.
type whitener struct{ d *Device }

// SetColorTemperature sets the color temperature in kelvin.
func (w whitener) SetColorTemperature(ctx context.Context, kelvin float64) error {
	return w.d.Do(ctx, func(ctx context.Context) error {
		if warmest, coldest := w.ColorTemperatureRange(); !(kelvin >= warmest && kelvin <= coldest) {
			return drivers.MarkNothingDone(fmt.Errorf("%v K is not between %v and %v", kelvin, warmest, coldest))
		}
		return w.d.verbs.Light.White.Warm(ctx, kelvin)
	})
}

// ColorTemperatureRange returns the limits of the color temperature.
func (w whitener) ColorTemperatureRange() (warmest, coldest float64) {
	return w.d.verbs.Light.White.Warmest, w.d.verbs.Light.White.Coldest
}

// ColorTemperature reads back the color temperature in kelvin.
func (w whitener) ColorTemperature(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &w.d.Base, w.d.verbs.Light.White.Warmth)
}

// Combinations of the verbs of lamps, without timers and sensors.
type (
	dims struct {
		switcher
		dimmer
	}
	tints struct {
		dims
		tinter
	}
	whitens struct {
		dims
		whitener
	}
	paints struct {
		tints
		whitener
	}
)

// lamp is shape for a lamp.
func lamp(d *Device) drivers.Device {
	l := dims{switcher{d}, dimmer{d}}
	switch light := d.verbs.Light; {
	case light.Tint != nil && light.White != nil:
		return painted(d, paints{tints{l, tinter{d}}, whitener{d}})
	case light.White != nil:
		return whitened(d, whitens{l, whitener{d}})
	case light.Tint != nil:
		return tinted(d, tints{l, tinter{d}})
	}
	return dimmed(d, l)
}

func dimmed(d *Device, l dims) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			dims
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			dims
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			dims
			sensor
		}{l, sensor{d}}
	}
	return l
}

func tinted(d *Device, l tints) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			tints
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			tints
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			tints
			sensor
		}{l, sensor{d}}
	}
	return l
}

func whitened(d *Device, l whitens) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			whitens
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			whitens
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			whitens
			sensor
		}{l, sensor{d}}
	}
	return l
}

func painted(d *Device, l paints) drivers.Device {
	timed, reads := d.verbs.SwitchFor != nil, d.verbs.Read != nil
	switch {
	case timed && reads:
		return struct {
			paints
			timer
			sensor
		}{l, timer{d}, sensor{d}}
	case timed:
		return struct {
			paints
			timer
		}{l, timer{d}}
	case reads:
		return struct {
			paints
			sensor
		}{l, sensor{d}}
	}
	return l
}
