// Package scene is the simulated home at one moment: its floor, the vacuum and the dirt on it, and
// its images and words. It knows no devices.
package scene

import "time"

// Lines that appear in the images.
const (
	PorchLamp      = "porch-lamp"
	CoffeeMachine  = "coffee-machine"
	LivingRoomLamp = "living-room-lamp"
)

// Scene is the state of the world at one moment, for an image.
type Scene struct {
	Now    time.Time
	Lines  map[string]bool
	Fridge []string
	Spills []Spill
	Vacuum Vacuum
}

// Evening returns the scene of a new world: food in the fridge, all lamps off, dirt in the kitchen.
func Evening(now time.Time) Scene {
	return Scene{
		Now: now, Lines: map[string]bool{},
		Fridge: []string{"milk", "6 eggs", "butter", "cheddar", "yoghurt", "half a lemon", "carrots", "broccoli", "leftover soup"},
		Spills: []Spill{
			{"near sink", "kitchen", "rice", Point{1.0, 1.2}},
			{"by stove", "kitchen", "crumbs", Point{3.05, 1.2}},
		},
		Vacuum: Vacuum{at: dock, heading: southward, battery: 100, docked: now},
	}
}

const southward = 1.5708 // radians

// Spill is dirt on the floor.
type Spill struct {
	Name string // "near sink"
	Room string
	What string // "rice"
	at   Point
}

// area returns the floor that the vacuum cleans for it.
func (s Spill) area() Rect { return Rect{s.at.x - 0.4, s.at.y - 0.2, 0.8, 0.4} }

// On reports whether it is on a part of the floor.
func (s Spill) On(floor Rect) bool { return floor.has(s.at) }

// OnOff returns the state of a line as a word.
func OnOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
