package sim

import (
	"context"
	"time"

	"github.com/messkit/messkit/drivers"
)

var _ drivers.SpotCleaner = (*Vacuum)(nil)

// CleanSpot cleans around the position of the vacuum; in its dock, the floor in front of it.
func (v *Vacuum) CleanSpot(ctx context.Context, progress func(drivers.Progress)) error {
	ctx, done, err := v.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx, release, err := v.hold(ctx, "cleaning the spot")
	if err != nil {
		return err
	}
	defer release()
	robot := v.world.scene().Vacuum
	floor := robot.Spot()
	v.world.setOut(v.Name(), "cleaning the spot")
	defer v.world.standStill(v.Name())
	err = v.drive(ctx, robot.Sweep(floor, legsPerPace), func(part float64) {
		if progress != nil {
			progress(drivers.Progress{Percent: 100 * part, Activity: "cleaning the spot", TimeLeft: time.Duration((1 - part) * float64(v.cfg.Pace))})
		}
	})
	if err == nil {
		v.world.swept(v.Name(), floor)
	}
	return err
}
