package template

import (
	"context"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Opener        = cover{}
	_ drivers.Positioner    = positioner{}
	_ drivers.Stopper       = stopper{}
	_ drivers.OpeningReader = cover{}
	_ drivers.SafeReader    = cover{}
	_ drivers.RestReader    = cover{}
	_ drivers.Detacher      = cover{}
)

// cover implements drivers.Opener. It executes one movement at a time.
type cover struct{ d *Device }

// Open opens the cover.
func (c cover) Open(ctx context.Context) error { return c.moves(ctx, c.d.verbs.Cover.Open) }

// Close closes the cover.
func (c cover) Close(ctx context.Context) error { return c.moves(ctx, c.d.verbs.Cover.Close) }

func (c cover) moves(ctx context.Context, f func(context.Context) error) error {
	return c.d.Do(ctx, func(ctx context.Context) error {
		ctx, release, err := c.d.movement.Begin(ctx, "moving")
		if err != nil {
			return err
		}
		defer release()
		err = f(ctx)
		if !errors.Is(err, drivers.ErrNothingDone) {
			c.d.mayMove.Store(errors.Is(err, drivers.ErrMayAct))
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
	if c.d.mayMove.Load() {
		return c.d.Halt()
	}
	c.d.startHalt.Lock()
	defer c.d.startHalt.Unlock()
	c.d.end()
	return nil
}

// Safe reads back whether the cover stands still.
func (c cover) Safe(ctx context.Context) (bool, error) {
	moves, err := c.looks(ctx, c.d.verbs.Cover.IsMoving)
	return err == nil && !moves && !c.d.mayMove.Load(), err
}

// AtRest reads back whether the cover stands still. It returns an error if the cover may
// still execute an earlier command.
func (c cover) AtRest(ctx context.Context) (bool, error) {
	stands, err := c.looks(ctx, c.d.verbs.Cover.IsAtRest)
	if err == nil && c.d.mayMove.Load() {
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
		err := errors.Join(s.d.movement.End(ctx), s.d.verbs.Cover.Stop(ctx))
		if err == nil {
			s.d.mayMove.Store(false)
		}
		return "", err
	})
}

// shapeCover is shape for a cover.
func shapeCover(d *Device) drivers.Device {
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
