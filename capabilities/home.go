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
	// ClockDoubt is why the clock may be wrong, or "" if it is right. With a wrong clock a plan
	// can have a duration, and no clock time.
	ClockDoubt string
	// Location is the position of the home, for daylight; nil if it is unknown.
	Location *LatLng
	// SiteCapabilities are the site capabilities, like home-kitchen-access. They need no device.
	SiteCapabilities []string
	// MaxSteps is the largest number of steps of a plan without a question; 0 is 12.
	MaxSteps int
	// DefaultWatch is the duration of a watch if the request names none, and MaxWatch the longest
	// one; 0 means DefaultWatchDuration and DefaultMaxWatchDuration.
	DefaultWatch, MaxWatch time.Duration
}

// Device is a configured device as the interpreter sees it.
type Device struct {
	Name               string   // unique: "porch-lamp"
	Label              string   // the name that people use: "porch light"
	Aliases            []string // other names: "front door light"
	Class              string   // light, plug, camera, vacuum, lock, garage-door, fan, heater, ...
	Area               string   // "porch"
	FieldOfView        []string // objects in the view of a camera: "fridge", "front door"
	VerificationCamera string   // the camera that takes an image of it after an act; "" for none
	DrawsMap           bool     // it draws a map of the cleaned area
	ReportsAreas       bool     // it reports its own work areas, but perhaps not now
	// Commands are the commands that the driver supports.
	Commands []Command
	// Quantities are the quantities that it measures; nil if only the device knows them.
	Quantities []string
	// Limits are the device's own limits for parameters of plans: "angle" in degrees,
	// "kelvin", "temperature" in °C.
	Limits map[string]Range
	// NamedAngles are the angles with a name.
	NamedAngles []NamedAngle
	// WorkAreas are the places that the device can reach and that have a name of their own:
	// rooms and spills for a vacuum.
	WorkAreas []WorkArea
	// Risk replaces the risk class of the catalog for this device; "" for none.
	Risk Risk
	// Effect replaces the effect of the catalog for this device; "" for none.
	Effect Effect
}

// Range is the range of a parameter, both ends included.
type Range struct{ Min, Max float64 }

// NamedAngle is an angle with a name.
type NamedAngle struct {
	Name  string  // "left"
	Angle float64 // degrees
}

// WorkArea is a place that a device can work on.
type WorkArea struct {
	Name string // "near sink"
	Room string // "kitchen"; Name == Room for the room as a whole
	Note string // "rice spill"
}

// The duration of a watch without a duration of its own, and the longest one, unless the
// home sets others.
const (
	DefaultWatchDuration    = time.Hour
	DefaultMaxWatchDuration = 24 * time.Hour
)

// WatchDuration returns how long a wait for a condition lasts if the request does not say
// it.
func (h Home) WatchDuration() time.Duration {
	if h.DefaultWatch > 0 {
		return h.DefaultWatch
	}
	return min(DefaultWatchDuration, h.MaxWatchDuration())
}

// MaxWatchDuration returns how long a wait for a condition may last.
func (h Home) MaxWatchDuration() time.Duration {
	if h.MaxWatch > 0 {
		return h.MaxWatch
	}
	return DefaultMaxWatchDuration
}
