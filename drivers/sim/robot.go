package sim

import (
	"math"
	"slices"
	"time"
)

// robot is the state of the vacuum in the world.
type robot struct {
	at      point
	heading float64 // radians, 0 is east, π/2 is south
	battery float64 // %, when it last left or reached its dock
	docked  time.Time
	moving  bool
	path    []point // path since its last start
}

// Capacity of the battery: about fifty spots. A charge takes three minutes.
const (
	drainPerLeg     = 0.05 // %
	chargePerSecond = 0.5  // %
	emptyBattery    = 5.0  // %; the lower limit, so that the vacuum can always return to its dock
)

// charge returns the battery level in %.
func (r robot) charge(now time.Time) float64 {
	if r.docked.IsZero() {
		return r.battery
	}
	return min(100, r.battery+now.Sub(r.docked).Seconds()*chargePerSecond)
}

// setOut records that the vacuum begins to move.
func (w *World) setOut(device, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.robot
	r.battery, r.docked = r.charge(w.now()), time.Time{}
	r.moving, r.path = true, []point{r.at}
	w.note(device, "%s", what)
}

// standStill records that the vacuum has stopped.
func (w *World) standStill(device string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robot.moving = false
	if w.robot.at == dock {
		w.robot.docked = w.now()
	}
	w.note(device, standsStill)
}

const standsStill = "stands still"

// move moves the vacuum along one leg.
func (w *World) move(leg []point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.robot
	for _, p := range leg {
		if p != r.at {
			r.heading = math.Atan2(p.y-r.at.y, p.x-r.at.x)
			r.at, r.path = p, append(r.path, p)
		}
	}
	r.battery = max(emptyBattery, r.battery-drainPerLeg)
}

// cleaned removes the dirt in an area.
func (w *World) cleaned(device, area string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spills = slices.DeleteFunc(w.spills, func(s spill) bool { return s.name == area || s.room == area })
	w.note(device, "cleaned %s", area)
}

// Moving reports whether the vacuum moves.
func (w *World) Moving() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.robot.moving
}
