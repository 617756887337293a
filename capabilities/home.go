package capabilities

import (
	"time"
)

// Home is what a resolver may choose from.
type Home struct {
	Devices []Device
	// Now is when the request is read, in the zone of the home; zero where nobody
	// knows: times of the clock cannot be kept then.
	Now time.Time
	// Unset is why the clock is not known to be set, "" if it is: a length of time
	// can be kept then, and no time of the clock.
	Unset string
	// Where the home is, for daylight; nil where nobody knows.
	Where *Position
	// Facts are capabilities that are so of the place, like home-kitchen-access:
	// nobody does anything for them.
	Facts []string
	// MaxSteps is how many things one request may do without a question; 0 is 12.
	MaxSteps int
	// WatchFor is how long a watch lasts where the request does not say it, and
	// WatchLongest how long it may at most; 0 is WatchFor and WatchLongest.
	WatchFor, WatchLongest time.Duration
}

// Device is a configured device as the resolver sees it.
type Device struct {
	Name    string   // unique: "porch-lamp"
	Label   string   // what people call it: "porch light"
	Aliases []string // other names: "front door light"
	Class   string   // light, plug, camera, vacuum, lock, garage-door, fan, heater, ...
	Area    string   // "porch"
	Sees    []string // what a camera looks at: "fridge", "front door"
	SeenBy  string   // the camera that takes a picture of it after an act; "" for none
	Maps    bool     // it draws a map of what it has cleaned
	Places  bool     // it can tell Spots of its own, though maybe not now
	// Commands that the device's verbs allow.
	Commands []Command
	// Quantities are what it can tell; nil where that is not known before it is asked.
	Quantities []string
	// Within are the device's own limits for parameters of plans: "angle" in degrees,
	// "kelvin", "temperature" in °C.
	Within map[string]Range
	// Positions are the angles that have a name here.
	Positions []Pose
	// Spots are places within reach of the device that have a name of their
	// own: rooms and spills for a vacuum.
	Spots []Spot
	// Risk, where configured, replaces the catalogue's class for this device.
	Risk Risk
	// Effect, where configured, is what doing a thing twice means for this device.
	Effect Effect
}

// Range is what a parameter may be, both ends included.
type Range struct{ Min, Max float64 }

// Pose is an angle with a name.
type Pose struct {
	Name  string  // "left"
	Angle float64 // degrees
}

// Spot is a place that a device can work on.
type Spot struct {
	Name string // "near sink"
	Room string // "kitchen"; Name == Room for the room as a whole
	Note string // "rice spill"
}

// How long a watch lasts where it is not said, and at most, unless the home says
// otherwise.
const (
	WatchFor     = time.Hour
	WatchLongest = 24 * time.Hour
)

// WatchDuration returns how long a wait for a condition lasts if the request does not say
// it.
func (h Home) WatchDuration() time.Duration {
	if h.WatchFor > 0 {
		return h.WatchFor
	}
	return min(WatchFor, h.MaxWatchDuration())
}

// MaxWatchDuration returns how long a wait for a condition may last.
func (h Home) MaxWatchDuration() time.Duration {
	if h.WatchLongest > 0 {
		return h.WatchLongest
	}
	return WatchLongest
}
