package capabilities

import (
	"time"
)

// Home is the devices and site capabilities of one home.
type Home struct {
	Devices []Device
	// Now is the time of the request, in the zone of the home. It is zero if the time is
	// unknown: a plan cannot have a clock time then.
	Now time.Time
	// Unset is why the clock may be wrong, or "" if it is right. With a wrong clock a plan
	// can have a duration, and no clock time.
	Unset string
	// Where is the position of the home, for daylight; nil if it is unknown.
	Where *Position
	// Facts are the site capabilities, like home-kitchen-access. They need no device.
	Facts []string
	// MaxSteps is the largest number of steps of a plan without a question; 0 is 12.
	MaxSteps int
	// WatchFor is the duration of a watch if the request names none, and WatchLongest the longest
	// one; for 0 the constants of the same names hold.
	WatchFor, WatchLongest time.Duration
}

// Device is a configured device as the interpreter sees it.
type Device struct {
	Name    string   // unique: "porch-lamp"
	Label   string   // the name that people use: "porch light"
	Aliases []string // other names: "front door light"
	Class   string   // light, plug, camera, vacuum, lock, garage-door, fan, heater, ...
	Area    string   // "porch"
	Sees    []string // objects in the view of a camera: "fridge", "front door"
	SeenBy  string   // the camera that takes an image of it after an act; "" for none
	Maps    bool     // it draws a map of the cleaned area
	Places  bool     // it reports its own Spots, but perhaps not now
	// Commands are the commands that the driver supports.
	Commands []Command
	// Quantities are the quantities that it measures; nil if only the device knows them.
	Quantities []string
	// Within are the device's own limits for parameters of plans: "angle" in degrees,
	// "kelvin", "temperature" in °C.
	Within map[string]Range
	// Positions are the angles with a name.
	Positions []Pose
	// Spots are the places that the device can reach and that have a name of their own:
	// rooms and spills for a vacuum.
	Spots []Spot
	// Risk replaces the risk class of the catalog for this device; "" for none.
	Risk Risk
	// Effect replaces the effect of the catalog for this device; "" for none.
	Effect Effect
}

// Range is the range of a parameter, both ends included.
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

// The duration of a watch without a duration of its own, and the longest one, unless the
// home sets others.
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
