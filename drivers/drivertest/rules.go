package drivertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
)

// rule is one requirement for every driver. check returns the violation, or nil.
type rule struct {
	name  string
	check func(context.Context, *bench) error
}

var rules = []rule{
	{"the device has a name", hasName},
	{"verbs need Start", verbsNeedStart},
	{"verbs end with Halt", verbsEndWithHalt},
	{"verbs respect an ended context", endsWithContext},
	{"Halt is safe", haltIsSafe},
	{"Safe reports the real state", reportsSafe},
	{"AtRest reports the real state", reportsRest},
	{"Halt works at any time", haltAtAnyTime},
	{"Halt works during a verb", haltDuringVerb},
	{"Start works after Halt", startAfterHalt},
	{"no goroutines remain", leavesNoGoroutine},
	{"a switch sets the requested level", switchReports},
	{"readback comes from the device", readsBack},
	{"a dimmer sets the requested level", dims},
	{"a light sets the requested color", tints},
	{"a light sets the requested color temperature", warms},
	{"an opener opens and closes", opens},
	{"a positioner reaches the requested position", opensPartly},
	{"a turner stays within its limits", turnsToAngles},
	{"a thermostat sets the requested temperature", keepsTargets},
	{"a locker locks and unlocks", locks},
	{"RunWatchdogCommand executes commands", runsWatchdogCommands},
	{"a motion ends with its lease", motionIsALease},
	{"a photo is new and complete", photoIsNew},
	{"a map is new and complete", mapIsNew},
	{"readings are complete", readingsAreWhole},
	{"an observation has a text", observationReports},
	{"areas have distinct names", areasAreNamed},
	{"a cleaner cleans the requested areas", cleanerReports},
	{"a cleaner rejects an unknown place", cleanerRefuses},
	{"a cleaner stops during a task", cleanerStops},
}

func hasName(_ context.Context, b *bench) error {
	if b.open().Name() == "" {
		return errors.New("the device has no name")
	}
	return nil
}

func verbsNeedStart(ctx context.Context, b *bench) error {
	d := b.open()
	if err := b.probed(d); err != nil {
		return err
	}
	return b.refusesAll(ctx, d, "before Start")
}

func verbsEndWithHalt(ctx context.Context, b *bench) error {
	d, err := b.started()
	if err != nil {
		return err
	}
	if err := b.must("Halt", d.Halt); err != nil {
		return err
	}
	return b.refusesAll(ctx, d, "after Halt")
}

// refusesAll checks that every verb returns an error and does nothing.
func (b *bench) refusesAll(ctx context.Context, d drivers.Device, when string) error {
	for _, v := range verbs(d) {
		before := b.countActs()
		if _, fault := b.mustFail(d, v.name, func() error { return v.call(ctx) }); fault != nil {
			return fmt.Errorf("%s: %w", when, fault)
		}
		if n := b.countActs() - before; n != 0 {
			return fmt.Errorf("%s: %s made the device act %d times", when, v.name, n)
		}
	}
	return nil
}

func endsWithContext(ctx context.Context, b *bench) error {
	return b.with(func(d drivers.Device) error {
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		late, cancel := context.WithDeadline(ctx, time.Unix(0, 0))
		defer cancel()
		return errors.Join(b.ended(cancelled, d), b.ended(late, d))
	})
}

// ended checks every verb with an ended context.
func (b *bench) ended(ctx context.Context, d drivers.Device) error {
	for _, v := range verbs(d) {
		before := b.countActs()
		err, fault := b.mustFail(d, v.name, func() error { return v.call(ctx) })
		switch {
		case fault != nil:
			return fmt.Errorf("with %w: %w", ctx.Err(), fault)
		case !errors.Is(err, ctx.Err()):
			return fmt.Errorf("with %w: %s returns another error: %w", ctx.Err(), v.name, err)
		case b.countActs() != before:
			return fmt.Errorf("with %w: %s made the device act", ctx.Err(), v.name)
		}
	}
	return nil
}
