package family

import (
	"context"
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
	_ drivers.Sensor = sensor{}
)

// switcher is the part of a device that switches and reads back.
type switcher struct{ *Device }

// Switch turns it on or off.
func (s switcher) Switch(ctx context.Context, on bool) error {
	return does(ctx, s.Device, func(ctx context.Context) error { return s.verbs.Switch(ctx, on) })
}

// On reads it back from the device.
func (s switcher) On(ctx context.Context) (bool, error) { return with(ctx, s.Device, s.verbs.On) }

// Levels are what Start and Halt set.
func (s switcher) Levels() (initial, safe string) { return s.settings.Initial, s.settings.Safe }

// Safe reads back whether it is at its safe level.
func (s switcher) Safe(ctx context.Context) (bool, error) {
	if s.settings.Safe == "keep" {
		return true, nil
	}
	if err := s.connect(ctx); err != nil {
		return false, s.named(err)
	}
	defer s.disconnect()
	on, err := s.verbs.On(ctx)
	return on == (s.settings.Safe == "on"), s.named(err)
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

// sensor is the part of a device that measures.
type sensor struct{ d *Device }

// Read reads what the device measures.
func (s sensor) Read(ctx context.Context) ([]drivers.Reading, error) {
	return with(ctx, s.d, s.d.verbs.Read)
}

// shape gives a device the methods that it can keep: verbs are found by type.
func shape(d *Device) drivers.Device {
	switch v := d.verbs; {
	case v.Switch != nil && v.SwitchFor != nil && v.Read != nil:
		return struct {
			switcher
			timer
			sensor
		}{switcher{d}, timer{d}, sensor{d}}
	case v.Switch != nil && v.SwitchFor != nil:
		return struct {
			switcher
			timer
		}{switcher{d}, timer{d}}
	case v.Switch != nil && v.Read != nil:
		return struct {
			switcher
			sensor
		}{switcher{d}, sensor{d}}
	case v.Switch != nil:
		return switcher{d}
	case v.Read != nil:
		return struct {
			*Device
			sensor
		}{d, sensor{d}}
	}
	return d
}
