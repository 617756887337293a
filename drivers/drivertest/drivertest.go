// Package drivertest is the conformance suite for every driver: the driver follows its
// context, reaches its safe state, reports its real state and leaves no goroutines. The
// suite asks the simulator for the real state of the device, never the driver.
package drivertest

import (
	"errors"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Option gives Run information that the driver cannot provide.
type Option func(*bench)

// Safe sets the probe for the safe state of the simulator: it returns nil, or an error that
// describes the present state. The suite requires it for a Switch, and for a Cleaner and a
// Mover, whose safe state is to stand still.
func Safe(probe func() error) Option { return func(b *bench) { b.safe = probe } }

// Acts sets the probe for the number of actions of the simulator. The suite requires it for
// a Switch, a Cleaner and a Mover.
func Acts(count func() int) Option { return func(b *bench) { b.acts = count } }

// Level sets the probe for the level of the simulator: on or off, or whether it moves. The
// suite requires it for a Switch and for a Mover.
func Level(on func() bool) Option { return func(b *bench) { b.level = on } }

// Force sets a function that changes the simulated device without the driver, like a wall
// switch. The suite requires it for a SwitchReader, to detect a driver that only remembers
// the last command.
func Force(set func(on bool)) Option { return func(b *bench) { b.force = set } }

// RunWatchdogCommand sets the RunWatchdogCommand function of the kind. The suite requires it
// for a WatchdogTarget with orders.
func RunWatchdogCommand(runCommand func(order []byte) (changed bool, err error)) Option {
	return func(b *bench) { b.runCommand = runCommand }
}

// limit is the time after which a call counts as hanging, and the time for leftover
// goroutines to end. It is longer than a library waits for a connection to close. It
// prevents an endless suite, and does not measure speed.
const limit = time.Minute

// Run applies every rule of the suite to a device of its own. open returns a device before
// Start, on a simulator of its own; the probes refer to the last opened device. Run counts
// goroutines, so nothing may run in parallel to it.
func Run(t *testing.T, open func(t *testing.T) drivers.Device, opts ...Option) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			b := newBench(func() drivers.Device { return open(t) }, opts...)
			err := r.check(t.Context(), b)
			if n, ok := errors.AsType[notApplicable](err); ok {
				t.Skip(n)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// bench contains the state of a rule.
type bench struct {
	open       func() drivers.Device
	safe       func() error
	acts       func() int
	level      func() bool
	force      func(on bool)
	runCommand func([]byte) (bool, error)
	limit      time.Duration
}

func newBench(open func() drivers.Device, opts ...Option) *bench {
	b := &bench{open: open, limit: limit}
	for _, o := range opts {
		o(b)
	}
	return b
}

// notApplicable is the result of a rule for a device without the verb of the rule.
type notApplicable string

func (n notApplicable) Error() string { return string(n) }

// probed returns the missing options for the verbs of d, without which the suite could not
// fail.
func (b *bench) probed(d drivers.Device) error {
	_, switches := d.(drivers.Switch)
	_, reads := d.(drivers.SwitchReader)
	_, cleans := d.(drivers.Cleaner)
	_, moves := d.(drivers.Mover)
	var errs []error
	missing := func(verb bool, given bool, option string) {
		if verb && !given {
			errs = append(errs, errors.New("the suite needs the option "+option+" to judge this device"))
		}
	}
	missing(switches || cleans || moves, b.safe != nil, "Safe")
	missing(switches || cleans || moves, b.acts != nil, "Acts")
	missing(switches || moves, b.level != nil, "Level")
	missing(isGuarded(d), b.runCommand != nil, "RunWatchdogCommand")
	missing(isGuarded(d), b.force != nil, "Force")
	missing(switches && reads && !isGuarded(d), b.force != nil, "Force")
	return errors.Join(errs...)
}

func (b *bench) countActs() int {
	if b.acts == nil {
		return 0
	}
	return b.acts()
}

func (b *bench) checkSafe() error {
	if b.safe == nil {
		return nil
	}
	return b.safe()
}
