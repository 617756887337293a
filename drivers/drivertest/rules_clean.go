package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
)

func areasAreNamed(ctx context.Context, b *bench) error {
	return ifHas(b, func(_ drivers.Device, a drivers.AreaLister) error {
		names, err := b.names(ctx, a)
		if err != nil {
			return err
		}
		slices.Sort(names)
		if len(names) == 0 || names[0] == "" || len(slices.Compact(slices.Clone(names))) != len(names) {
			return fmt.Errorf("areas %q: each needs a different name", names)
		}
		return nil
	})
}

func (b *bench) names(ctx context.Context, a drivers.AreaLister) ([]string, error) {
	var areas []drivers.Area
	err := b.must("Areas", func() (err error) { areas, err = a.Areas(ctx); return err })
	var names []string
	for _, area := range areas {
		names = append(names, area.Name)
	}
	return names, err
}

// ifCleans is ifHas for a Cleaner; places are its areas, or nil if it does not list them.
func ifCleans(ctx context.Context, b *bench, check func(d drivers.Device, c drivers.Cleaner, places []string) error) error {
	return ifHas(b, func(d drivers.Device, c drivers.Cleaner) error {
		var places []string
		if a, ok := d.(drivers.AreaLister); ok {
			var err error
			if places, err = b.names(ctx, a); err != nil {
				return err
			}
		}
		return check(d, c, places)
	})
}

func cleanerReports(ctx context.Context, b *bench) error {
	return ifCleans(ctx, b, func(_ drivers.Device, c drivers.Cleaner, places []string) error {
		var done drivers.Outcome
		var steps []drivers.Progress
		before := b.countActs()
		err := b.must("Clean", func() (err error) {
			done, err = c.Clean(ctx, places, func(p drivers.Progress) { steps = append(steps, p) })
			return err
		})
		if err != nil {
			return err
		}
		if b.countActs() == before {
			return errors.New("the verb Clean did nothing to the simulator")
		}
		return errors.Join(checkAll(done, places), checkProgress(steps))
	})
}

// checkAll returns an error if the outcome of a finished task does not contain all places.
func checkAll(o drivers.Outcome, places []string) error {
	if len(o.Remaining) != 0 {
		return fmt.Errorf("the verb Clean returns no error and leaves %q", o.Remaining)
	}
	if places == nil {
		return nil
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(places)), slices.Sorted(slices.Values(o.Done))); diff != "" {
		return fmt.Errorf("the finished places differ from the requested ones (-requested +finished):\n%s", diff)
	}
	return nil
}

func checkProgress(steps []drivers.Progress) error {
	last := 0.0
	for _, p := range steps {
		if !(p.Percent >= last && p.Percent <= 100) || p.TimeLeft < 0 || p.Activity == "" {
			return fmt.Errorf("progress %+v after %v %%", p, last)
		}
		last = p.Percent
	}
	return nil
}

func cleanerRefuses(ctx context.Context, b *bench) error {
	return ifCleans(ctx, b, func(d drivers.Device, c drivers.Cleaner, places []string) error {
		asked := append([]string{"no such place"}, places...)
		before := b.countActs()
		_, fault := b.mustFail(d, "Clean", func() error {
			_, err := c.Clean(ctx, asked, nil)
			return err
		})
		if fault == nil && b.countActs() != before {
			fault = errors.New("the verb Clean of an unknown place made the device act")
		}
		return fault
	})
}

// cleanerStops ends the context at the first progress report.
func cleanerStops(ctx context.Context, b *bench) error {
	return ifCleans(ctx, b, func(d drivers.Device, c drivers.Cleaner, places []string) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var done drivers.Outcome
		err, fault := b.mustFail(d, "a cancelled Clean", func() (err error) {
			done, err = c.Clean(ctx, places, func(drivers.Progress) { cancel() })
			return err
		})
		switch {
		case fault != nil:
			return fault
		case !errors.Is(err, context.Canceled):
			return fmt.Errorf("a cancelled Clean returns another error: %w", err)
		case len(done.Remaining) == 0:
			return fmt.Errorf("a cancelled Clean leaves nothing, and has finished %q", done.Done)
		}
		return errors.Join(checkHalf(done, places), b.safeAfter("a cancelled Clean"))
	})
}

// checkHalf returns an error if a place is in neither or both of done and remaining. The
// outcome may contain other places, such as a spot in a room.
func checkHalf(o drivers.Outcome, places []string) error {
	for _, p := range places {
		if slices.Contains(o.Done, p) == slices.Contains(o.Remaining, p) {
			return fmt.Errorf("%q must be either done or remaining: %+v", p, o)
		}
	}
	return nil
}
