package sim

import (
	"slices"

	"github.com/messkit/messkit/drivers/sim/scene"
)

// setOut records that the vacuum begins to move.
func (w *World) setOut(device, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robot.SetOut(w.now())
	w.note(device, "%s", what)
}

// standStill records that the vacuum has stopped.
func (w *World) standStill(device string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robot.StandStill(w.now())
	w.note(device, standsStill)
}

const standsStill = "stands still"

// move moves the vacuum along one leg.
func (w *World) move(leg []scene.Point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robot.Move(leg)
}

// cleaned removes the dirt in an area.
func (w *World) cleaned(device, area string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spills = slices.DeleteFunc(w.spills, func(s scene.Spill) bool { return s.Name == area || s.Room == area })
	w.note(device, "cleaned %s", area)
}

// Moving reports whether the vacuum moves.
func (w *World) Moving() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.robot.Moving
}

// swept removes the dirt on a part of the floor.
func (w *World) swept(device string, floor scene.Rect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spills = slices.DeleteFunc(w.spills, func(s scene.Spill) bool { return s.On(floor) })
	w.note(device, "cleaned the spot")
}
