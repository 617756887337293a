package family

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Switch       = switcher{}
	_ drivers.SwitchReader = switcher{}
	_ drivers.SafeReader   = switcher{}
	_ drivers.Levels       = switcher{}
	_ drivers.AutoOff      = struct {
		switcher
		timer
	}{}
	_ drivers.TimerKeeper  = timer{}
	_ drivers.TimerLength  = timer{}
	_ drivers.Sensor       = sensor{}
	_ drivers.Dimmer       = dimmer{}
	_ drivers.LevelReader  = dimmer{}
	_ drivers.Tinter       = tinter{}
	_ drivers.ColourReader = tinter{}
	_ drivers.Warmer       = whitener{}
	_ drivers.WarmthReader = whitener{}

	_ drivers.Opener        = cover{}
	_ drivers.Positioner    = positioner{}
	_ drivers.Stopper       = stopper{}
	_ drivers.OpeningReader = cover{}
	_ drivers.SafeReader    = cover{}
	_ drivers.RestReader    = cover{}
	_ drivers.Leaver        = cover{}
	_ drivers.Thermostat    = heater{}
	_ drivers.TargetReader  = heater{}
	_ drivers.Locker        = lock{}
	_ drivers.LockReader    = lock{}
)

// switcher is the part of a device that switches and reads back.
type switcher struct{ *Device }

// Switch turns it on or off.
func (s switcher) Switch(ctx context.Context, on bool) error {
	return does(ctx, s.Device, func(ctx context.Context) error { return s.verbs.Switch(ctx, on) })
}

// On reads it back from the device.
func (s switcher) On(ctx context.Context) (bool, error) {
	return drivers.During(ctx, &s.Device.Life, s.verbs.On)
}

// Levels are what Start and Halt set.
func (s switcher) Levels() (initial, safe string) { return s.levels.Initial, s.levels.Safe }

// Safe reads back whether it is at its safe level.
func (s switcher) Safe(ctx context.Context) (bool, error) {
	if s.levels.Safe == "keep" {
		return true, nil
	}
	if err := s.connect(ctx); err != nil {
		return false, s.Named(err)
	}
	defer s.disconnect()
	on, err := s.verbs.On(ctx)
	return on == (s.levels.Safe == "on"), s.Named(err)
}

// timer is the part of a device that goes off by itself.
type timer struct{ d *Device }

// SwitchFor turns it on or off, and sets the device's own timer.
func (t timer) SwitchFor(ctx context.Context, on bool, limit time.Duration) error {
	return does(ctx, t.d, func(ctx context.Context) error {
		if !on {
			return t.d.verbs.Switch(ctx, false)
		}
		return t.d.verbs.SwitchFor(ctx, limit)
	})
}

// TimerLeft says that an earlier run has set the timer.
func (t timer) TimerLeft() { t.d.verbs.TimerLeft() }

// TimerFor is how long its timer runs for a time.
func (t timer) TimerFor(limit time.Duration) time.Duration { return t.d.verbs.TimerFor(limit) }

// sensor is the part of a device that measures.
type sensor struct{ d *Device }

// Read reads what the device measures.
func (s sensor) Read(ctx context.Context) ([]drivers.Reading, error) {
	return drivers.During(ctx, &s.d.Life, s.d.verbs.Read)
}

// dimmer is the part of a lamp that shines more or less.
type dimmer struct{ d *Device }

// Dim sets how bright it is; 0 switches it off.
func (m dimmer) Dim(ctx context.Context, percent float64) error {
	return does(ctx, m.d, func(ctx context.Context) error {
		switch {
		case !(percent >= 0 && percent <= 100):
			return drivers.NotDone(fmt.Errorf("%v %% is not between 0 and 100", percent))
		case percent == 0:
			return m.d.verbs.Switch(ctx, false)
		}
		return m.d.verbs.Light.Dim(ctx, percent)
	})
}

// Level reads back how bright it is.
func (m dimmer) Level(ctx context.Context) (float64, error) {
	return drivers.During(ctx, &m.d.Life, m.d.verbs.Light.Level)
}

// tinter is the part of a lamp that has colours.
type tinter struct{ d *Device }

// Tint gives it a colour.
func (p tinter) Tint(ctx context.Context, c drivers.Colour) error {
	return does(ctx, p.d, func(ctx context.Context) error { return p.d.verbs.Light.Tint(ctx, c) })
}

// Colour reads the colour back.
func (p tinter) Colour(ctx context.Context) (drivers.Colour, error) {
	return drivers.During(ctx, &p.d.Life, p.d.verbs.Light.Colour)
}

// cover is the part of a device that opens and closes. It does one thing at a time.
type cover struct{ d *Device }

// Open opens it.
func (c cover) Open(ctx context.Context) error { return c.moves(ctx, c.d.verbs.Cover.Open) }

// Shut closes it.
func (c cover) Shut(ctx context.Context) error { return c.moves(ctx, c.d.verbs.Cover.Shut) }

func (c cover) moves(ctx context.Context, f func(context.Context) error) error {
	return does(ctx, c.d, func(ctx context.Context) error {
		ctx, release, err := c.d.errand.Take(ctx, "moving")
		if err != nil {
			return err
		}
		defer release()
		err = f(ctx)
		if !errors.Is(err, drivers.ErrNothingDone) {
			c.d.loose.Store(errors.Is(err, drivers.ErrMayAct))
		}
		if err != nil && drivers.Stopped(ctx) && !errors.Is(err, drivers.ErrMayAct) {
			return drivers.ErrStopped
		}
		return err
	})
}

// Leave has it stand if it may move because it was told to here. What others have set
// moving goes on: only Halt stops that.
func (c cover) Leave() error {
	c.d.Closed() // which may set it loose
	if c.d.loose.Load() {
		return c.d.Halt()
	}
	c.d.turn.Lock()
	defer c.d.turn.Unlock()
	c.d.end()
	return nil
}

// Safe reads back whether it does not move.
func (c cover) Safe(ctx context.Context) (bool, error) {
	moves, err := c.looks(ctx, c.d.verbs.Cover.Moves)
	return err == nil && !moves && !c.d.loose.Load(), err
}

// AtRest reads back whether it stands. One that may yet do what it was told does not
// say so.
func (c cover) AtRest(ctx context.Context) (bool, error) {
	stands, err := c.looks(ctx, c.d.verbs.Cover.Stands)
	if err == nil && c.d.loose.Load() {
		err = c.d.Named(drivers.ErrMayAct)
	}
	return err == nil && stands, err
}

// looks asks it though it may be halted.
func (c cover) looks(ctx context.Context, f func(context.Context) (bool, error)) (bool, error) {
	if err := c.d.connect(ctx); err != nil {
		return false, c.d.Named(err)
	}
	defer c.d.disconnect()
	is, err := f(ctx)
	return is, c.d.Named(err)
}

// Opening reads back how far it is open.
func (c cover) Opening(ctx context.Context) (float64, error) {
	return drivers.During(ctx, &c.d.Life, c.d.verbs.Cover.Opening)
}

// positioner is the part of a cover that stands anywhere on its way.
type positioner struct{ cover }

// OpenTo opens it so far, in percent.
func (p positioner) OpenTo(ctx context.Context, percent float64) error {
	return p.moves(ctx, func(ctx context.Context) error {
		if !(percent >= 0 && percent <= 100) {
			return drivers.NotDone(fmt.Errorf("%v %% is not between 0 and 100", percent))
		}
		return p.d.verbs.Cover.To(ctx, percent)
	})
}

// stopper is the part of a cover that stops on its way.
type stopper struct{ d *Device }

// Stop has it stand, whoever has set it moving.
func (s stopper) Stop(ctx context.Context) (left string, err error) {
	return drivers.During(ctx, &s.d.Life, func(ctx context.Context) (string, error) {
		err := errors.Join(s.d.errand.End(ctx), s.d.verbs.Cover.Stop(ctx))
		if err == nil {
			s.d.loose.Store(false)
		}
		return "", err
	})
}

// lock is the part of a device that locks and unlocks.
type lock struct{ d *Device }

// Lock locks it.
func (l lock) Lock(ctx context.Context) error { return does(ctx, l.d, l.d.verbs.Lock.Lock) }

// Unlock unlocks it.
func (l lock) Unlock(ctx context.Context) error { return does(ctx, l.d, l.d.verbs.Lock.Unlock) }

// Locked reads back whether it is locked.
func (l lock) Locked(ctx context.Context) (bool, error) {
	return drivers.During(ctx, &l.d.Life, l.d.verbs.Lock.Locked)
}

// heater is the part of a device that keeps a temperature.
type heater struct{ d *Device }

// SetTarget sets the temperature that it keeps.
func (h heater) SetTarget(ctx context.Context, celsius float64) error {
	return does(ctx, h.d, func(ctx context.Context) error {
		if err := h.d.verbs.Heat.Targets.Check(celsius); err != nil {
			return err
		}
		return h.d.verbs.Heat.Set(ctx, celsius)
	})
}

// Targets are the temperatures that it may be set to.
func (h heater) Targets() drivers.Targets { return h.d.verbs.Heat.Targets }

// Target reads back what it is set to.
func (h heater) Target(ctx context.Context) (float64, error) {
	return drivers.During(ctx, &h.d.Life, h.d.verbs.Heat.Target)
}

// shape gives a device the methods that it can keep: verbs are found by type.
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

// whitener is the part of a lamp whose white may be warm or cold.
type whitener struct{ d *Device }

// Warm sets its white, in kelvin.
func (w whitener) Warm(ctx context.Context, kelvin float64) error {
	return does(ctx, w.d, func(ctx context.Context) error {
		if warmest, coldest := w.Whites(); !(kelvin >= warmest && kelvin <= coldest) {
			return drivers.NotDone(fmt.Errorf("%v K is not between %v and %v", kelvin, warmest, coldest))
		}
		return w.d.verbs.Light.White.Warm(ctx, kelvin)
	})
}

// Whites are the whites that it has.
func (w whitener) Whites() (warmest, coldest float64) {
	return w.d.verbs.Light.White.Warmest, w.d.verbs.Light.White.Coldest
}

// Warmth reads back its white, in kelvin.
func (w whitener) Warmth(ctx context.Context) (float64, error) {
	return drivers.During(ctx, &w.d.Life, w.d.verbs.Light.White.Warmth)
}

// The lamps that there are, but for a timer and what they measure.
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
