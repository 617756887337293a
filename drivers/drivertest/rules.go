package drivertest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
)

// rule is one thing that every driver keeps. check returns what is wrong.
type rule struct {
	name  string
	check func(context.Context, *bench) error
}

var rules = []rule{
	{"has a name", hasName},
	{"verbs need a start", verbsNeedStart},
	{"verbs end with Halt", verbsEndWithHalt},
	{"an ended context is obeyed", obeysContext},
	{"Halt is safe", haltIsSafe},
	{"it knows whether it is safe", saysWhetherSafe},
	{"it knows whether it stands still", saysWhetherItRests},
	{"Halt at any time", haltAtAnyTime},
	{"Halt beside a verb", haltBesideVerb},
	{"Start after Halt", startAfterHalt},
	{"no goroutine is left", leavesNoGoroutine},
	{"a switch does what it says", switchTells},
	{"read-back comes from the device", readsBack},
	{"a dimmer does what it says", dims},
	{"a colour is what was asked for", tints},
	{"a white is what was asked for", warms},
	{"what opens also closes", opens},
	{"a part of the way is what was asked for", opensPartly},
	{"what turns stays within its limits", turnsToAngles},
	{"a temperature is what was asked for", keepsTargets},
	{"what locks also unlocks", locks},
	{"orders are obeyed", ordersAreObeyed},
	{"a motion is a lease", motionIsALease},
	{"a photo is new and whole", photoIsNew},
	{"a map is new and whole", mapIsNew},
	{"readings are whole", readingsAreWhole},
	{"an observation says something", observationSays},
	{"areas have names of their own", areasAreNamed},
	{"a cleaner does what it says", cleanerTells},
	{"a cleaner refuses an unknown place", cleanerRefuses},
	{"a cleaner stops midway", cleanerStops},
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

// refusesAll checks that every verb gives an error and does nothing.
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

func obeysContext(ctx context.Context, b *bench) error {
	return b.with(func(d drivers.Device) error {
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		late, cancel := context.WithDeadline(ctx, time.Unix(0, 0))
		defer cancel()
		return errors.Join(b.ended(cancelled, d), b.ended(late, d))
	})
}

// ended checks every verb with a context that has ended already.
func (b *bench) ended(ctx context.Context, d drivers.Device) error {
	for _, v := range verbs(d) {
		before := b.countActs()
		err, fault := b.mustFail(d, v.name, func() error { return v.call(ctx) })
		switch {
		case fault != nil:
			return fmt.Errorf("with %w: %w", ctx.Err(), fault)
		case !errors.Is(err, ctx.Err()):
			return fmt.Errorf("with %w: %s gives another error: %w", ctx.Err(), v.name, err)
		case b.countActs() != before:
			return fmt.Errorf("with %w: %s made the device act", ctx.Err(), v.name)
		}
	}
	return nil
}
