package agent

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Watches configures wait conditions.
type Watches struct {
	Default time.Duration `yaml:"default"` // duration without one in the request
	Longest time.Duration `yaml:"longest"` // longest duration
	Every   time.Duration `yaml:"every"`   // interval of readings for devices that report no changes
	AtOnce  int           `yaml:"at_once"` // maximum number at the same time
}

// DefaultWatches returns the default settings.
func DefaultWatches() Watches {
	return Watches{Default: capabilities.WatchFor, Longest: capabilities.WatchLongest, Every: 5 * time.Second, AtOnce: 32}
}

func (w Watches) filled() Watches {
	d := DefaultWatches()
	w.Longest = cmp.Or(w.Longest, d.Longest)
	w.Default = cmp.Or(w.Default, min(d.Default, w.Longest))
	w.Every = cmp.Or(w.Every, d.Every)
	w.AtOnce = cmp.Or(w.AtOnce, d.AtOnce)
	return w
}

// Validate returns an error for each invalid setting.
func (w Watches) Validate() error {
	var errs []error
	if w.Longest < time.Minute || w.Longest > 7*24*time.Hour {
		errs = append(errs, fmt.Errorf("longest: %v is not between 1m and 168h", w.Longest))
	}
	if w.Default < time.Second || w.Default > w.Longest {
		errs = append(errs, fmt.Errorf("default: %v is not between 1s and longest, which is %v", w.Default, w.Longest))
	}
	if w.Every < time.Second || w.Every > 10*time.Minute {
		errs = append(errs, fmt.Errorf("every: %v is not between 1s and 10m", w.Every))
	}
	if w.AtOnce < 1 {
		errs = append(errs, fmt.Errorf("at_once: %d is too few; write 1 or more", w.AtOnce))
	}
	return errors.Join(errs...)
}

// Done describes how a device's power shows the end of its activity.
type Done struct {
	Below float64       `yaml:"below"` // W; below this power it does not work
	For   time.Duration `yaml:"for"`   // duration of low power: a washing machine also pauses
}

// DefaultDone returns settings for a device with a display and no cycling heater.
func DefaultDone() Done { return Done{Below: 5, For: 2 * time.Minute} }

func (d Done) filled() Done {
	return Done{Below: cmp.Or(d.Below, DefaultDone().Below), For: cmp.Or(d.For, DefaultDone().For)}
}

// Validate returns an error for each invalid setting. Zero means the default.
func (d Done) Validate() error {
	var errs []error
	if !(d.Below >= 0 && d.Below <= 1e5) { // also rejects NaN
		errs = append(errs, fmt.Errorf("below: %v W cannot be; write 0 to 100000", d.Below))
	}
	if d.For < 0 || d.For > time.Hour {
		errs = append(errs, fmt.Errorf("for: %v is not between 0 and 1h", d.For))
	}
	return errors.Join(errs...)
}

// watchable reports whether a device reports a state.
func watchable(d drivers.Device) bool {
	switch d.(type) {
	case drivers.Sensor, drivers.SwitchReader, drivers.OpeningReader, drivers.LockReader:
		return true
	}
	return false
}

// tellsEnd reports whether a device may show the end of its activity. For a sensor the power
// shows it; a reading without power returns an error.
func tellsEnd(d drivers.Device) bool {
	switch d.(type) {
	case drivers.Worker, drivers.RestReader, drivers.Sensor:
		return true
	}
	return false
}
