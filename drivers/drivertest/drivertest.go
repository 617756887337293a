// Package drivertest is the conformance suite that every driver passes: it
// obeys its context, goes to its safe state, tells the truth about itself and
// leaves nothing behind. What the device did is asked of its simulator, never
// of the driver that is judged.
package drivertest

import (
	"errors"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// An Option tells Run what it cannot learn from the driver itself.
type Option func(*bench)

// Safe gives the probe that asks the simulator whether the device is in its
// safe state: nil if it is, else an error that says what it does instead. It
// is required for a Switch, and for a Cleaner and a Mover, whose safe state is to
// stand still.
func Safe(probe func() error) Option { return func(b *bench) { b.safe = probe } }

// Acts gives the number of times that the simulator was made to do something.
// It is required for a Switch, a Cleaner and a Mover.
func Acts(count func() int) Option { return func(b *bench) { b.acts = count } }

// Level gives what the simulator says about on and off, or whether it moves. It is
// required for a Switch and for a Mover.
func Level(on func() bool) Option { return func(b *bench) { b.level = on } }

// Force changes the simulated device behind the driver's back, as a hand on
// the wall switch does. It is required for a SwitchReader: one that remembers
// what it last sent is found out by it.
func Force(set func(on bool)) Option { return func(b *bench) { b.force = set } }

// Obey gives the kind's Obey. It is required for a Guarded device that has
// orders.
func Obey(obey func(order []byte) (changed bool, err error)) Option {
	return func(b *bench) { b.obey = obey }
}

// limit is how long a call may take before it counts as hanging, and what it leaves
// behind may take to end: longer than a library waits for a connection that is let
// go. It guards against a suite that never ends, and is no measure of speed.
const limit = time.Minute

// Run holds the devices that open gives to every rule of the suite, each rule
// with a device of its own. open returns a device that was not started yet, on
// a simulator of its own; the probes always speak of the device opened last.
// Run counts goroutines, so nothing may run in parallel to it.
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

// bench is what a rule works with.
type bench struct {
	open  func() drivers.Device
	safe  func() error
	acts  func() int
	level func() bool
	force func(on bool)
	obey  func([]byte) (bool, error)
	limit time.Duration
}

func newBench(open func() drivers.Device, opts ...Option) *bench {
	b := &bench{open: open, limit: limit}
	for _, o := range opts {
		o(b)
	}
	return b
}

// notApplicable is what a rule returns for a device that lacks the verb which
// the rule is about.
type notApplicable string

func (n notApplicable) Error() string { return string(n) }

// probed tells which options are missing for the verbs that d has: without
// them the suite could not fail.
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
	missing(isGuarded(d), b.obey != nil, "Obey")
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
