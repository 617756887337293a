package agent

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Watches are what waits for something to happen.
type Watches struct {
	Default time.Duration `yaml:"default"` // how long one lasts where the request does not say it
	Longest time.Duration `yaml:"longest"` // how long one may
	Every   time.Duration `yaml:"every"`   // between two looks at what tells of no change itself
	AtOnce  int           `yaml:"at_once"` // how many may run
}

// DefaultWatches are the watches that an agent has unless told otherwise.
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

// Validate tells all that cannot be.
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

// Done is how it is known from the power that a thing takes that it is done.
type Done struct {
	Below float64       `yaml:"below"` // W that it takes less than when it does not run
	For   time.Duration `yaml:"for"`   // how long: a washing machine pauses, and is not done
}

// DefaultDone fits what has a display and no heater that comes and goes.
func DefaultDone() Done { return Done{Below: 5, For: 2 * time.Minute} }

func (d Done) filled() Done {
	return Done{Below: cmp.Or(d.Below, DefaultDone().Below), For: cmp.Or(d.For, DefaultDone().For)}
}

// Validate tells all that cannot be. Zero is the default.
func (d Done) Validate() error {
	var errs []error
	if !(d.Below >= 0 && d.Below <= 1e5) { // so that NaN is refused
		errs = append(errs, fmt.Errorf("below: %v W cannot be; write 0 to 100000", d.Below))
	}
	if d.For < 0 || d.For > time.Hour {
		errs = append(errs, fmt.Errorf("for: %v is not between 0 and 1h", d.For))
	}
	return errors.Join(errs...)
}

// watchable reports whether a device tells how it is.
func watchable(d drivers.Device) bool {
	switch d.(type) {
	case drivers.Sensor, drivers.SwitchReader, drivers.OpeningReader, drivers.LockReader:
		return true
	}
	return false
}

// tellsEnd reports whether a device may tell when what it is at is done. Of a sensor
// it is seen by the power; one that measures none says so when it is asked.
func tellsEnd(d drivers.Device) bool {
	switch d.(type) {
	case drivers.Worker, drivers.RestReader, drivers.Sensor:
		return true
	}
	return false
}

// mayWatch is why there can be no watch more, nil if there can.
func (a *Agent) mayWatch() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.watching >= a.cfg.Watch.AtOnce {
		return fmt.Errorf("%d things are watched already, and more may not be at a time (agent: watch: at_once); cancel one, or ask again later", a.watching)
	}
	return nil
}

// watches counts a watch until the function that it returns is called.
func (a *Agent) watches() (done func()) {
	count := func(n int) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.watching += n
	}
	count(1)
	return func() { count(-1) }
}
