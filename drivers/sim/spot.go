package sim

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
)

var _ drivers.SpotCleaner = (*Vacuum)(nil)

// around is half the width of a spot in meters.
const around = 0.5

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
	from := v.world.scene().robot.at
	floor := rooms[roomAt(from)].free.about(from)
	v.world.setOut(v.Name(), "cleaning the spot")
	defer v.world.standStill(v.Name())
	err = v.drive(ctx, cut(from, lanes(from, floor), legsPerPace), func(part float64) {
		if progress != nil {
			progress(drivers.Progress{Percent: 100 * part, Activity: "cleaning the spot", TimeLeft: time.Duration((1 - part) * float64(v.cfg.Pace))})
		}
	})
	if err == nil {
		v.world.swept(v.Name(), floor)
	}
	return err
}

// about returns the part of r near p; for a p outside of r, the part near the closest edge.
func (r rect) about(p point) rect {
	side := min(2*around, r.w, r.h)
	x := math.Max(r.x, math.Min(p.x-side/2, r.x+r.w-side))
	y := math.Max(r.y, math.Min(p.y-side/2, r.y+r.h-side))
	return rect{x, y, side, side}
}

func (r rect) has(p point) bool { return p.x >= r.x && p.x <= r.x+r.w && p.y >= r.y && p.y <= r.y+r.h }

// swept removes the dirt on a part of the floor.
func (w *World) swept(device string, floor rect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spills = slices.DeleteFunc(w.spills, func(s spill) bool { return floor.has(s.at) })
	w.note(device, "cleaned the spot")
}
