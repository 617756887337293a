package scene

import (
	"math"
	"slices"
	"time"
)

// Vacuum is the state of the vacuum in the world.
type Vacuum struct {
	at      Point
	heading float64 // radians, 0 is east, π/2 is south
	battery float64 // %, when it last left or reached its dock
	docked  time.Time
	Moving  bool
	path    []Point // path since its last start
}

// Capacity of the battery: about fifty spots. A charge takes three minutes.
const (
	drainPerLeg     = 0.05 // %
	chargePerSecond = 0.5  // %
	emptyBattery    = 5.0  // %; the lower limit, so that the vacuum can always return to its dock
)

// Charge returns the battery level in %.
func (r Vacuum) Charge(now time.Time) float64 {
	if r.docked.IsZero() {
		return r.battery
	}
	return min(100, r.battery+now.Sub(r.docked).Seconds()*chargePerSecond)
}

// SetOut begins a path.
func (r *Vacuum) SetOut(now time.Time) {
	r.battery, r.docked = r.Charge(now), time.Time{}
	r.Moving, r.path = true, []Point{r.at}
}

// StandStill ends a path.
func (r *Vacuum) StandStill(now time.Time) {
	r.Moving = false
	if r.InDock() {
		r.docked = now
	}
}

// Move moves the vacuum along one leg of its path.
func (r *Vacuum) Move(leg []Point) {
	for _, p := range leg {
		if p != r.at {
			r.heading = math.Atan2(p.y-r.at.y, p.x-r.at.x)
			r.at, r.path = p, append(r.path, p)
		}
	}
	r.battery = max(emptyBattery, r.battery-drainPerLeg)
}

// InDock reports whether the vacuum is in its dock.
func (r Vacuum) InDock() bool { return r.at == dock }

// ToDock returns the path to the dock, in legs of equal length.
func (r Vacuum) ToDock(legs int) [][]Point { return cut(r.at, between(r.at, dock), legs) }

// Sweep returns the path over a part of the floor with the way to it, in legs of equal length.
func (r Vacuum) Sweep(floor Rect, legs int) [][]Point { return cut(r.at, lanes(r.at, floor), legs) }

// Spot returns the part of the room around the vacuum where it can drive.
func (r Vacuum) Spot() Rect { return rooms[roomAt(r.at)].free.about(r.at) }

// Clone returns a copy with a path of its own.
func (r Vacuum) Clone() Vacuum {
	r.path = slices.Clone(r.path)
	return r
}

// doing returns what the vacuum does, as words.
func (r Vacuum) doing() string {
	switch {
	case r.Moving:
		return "driving"
	case !r.docked.IsZero():
		return "in its dock"
	default:
		return "standing still"
	}
}
