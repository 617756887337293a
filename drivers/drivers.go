// Package drivers holds the verbs that a device may have, with their units,
// and the registry of driver kinds. A driver knows its device, its verbs and
// its safe state; it never learns of requests.
//
// Gobot is the hardware layer: a Device is a gobot.Device, so that a Gobot
// user can bring his own.
package drivers

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"gobot.io/x/gobot/v2"
)

// Device is one thing that is driven. Start opens it and sets its initial
// state; Halt takes it to its safe, inert state and may be called at any time
// and more than once. Its verbs are found by type assertion.
type Device interface {
	gobot.Device
}

// Photographer takes pictures.
type Photographer interface {
	// Photo takes a new picture; it never returns one taken before the call.
	Photo(ctx context.Context) (Photo, error)
}

// Photo is a picture as the device gave it.
type Photo struct {
	Data       []byte    // encoded
	MIME       string    // image/jpeg, image/png, ...
	CapturedAt time.Time // when the shutter was open, by this machine's clock
}

// Switch turns something on and off.
type Switch interface {
	Switch(ctx context.Context, on bool) error
}

// SwitchReader reads back from the device whether it is on. A driver that only
// remembers what it last sent must not have this verb.
type SwitchReader interface {
	On(ctx context.Context) (bool, error)
}

// Dimmer sets how bright a light is, in percent of its most: 0 is off, and more
// than 0 is on.
type Dimmer interface {
	Dim(ctx context.Context, percent float64) error
}

// LevelReader reads back from the device how bright it is now, in percent; what
// is off is 0.
type LevelReader interface {
	Level(ctx context.Context) (float64, error)
}

// Tinter gives a light a colour, and switches it on.
type Tinter interface {
	Tint(ctx context.Context, c Colour) error
}

// ColourReader reads the colour back from the device.
type ColourReader interface {
	Colour(ctx context.Context) (Colour, error)
}

// Warmer sets the colour temperature of a light's white, and switches it on.
type Warmer interface {
	// Warm takes kelvin: 2000 is a candle, 2700 a bulb, 6500 daylight. What is outside
	// of Whites is ErrNothingDone.
	Warm(ctx context.Context, kelvin float64) error
	// Whites are the warmest and the coldest white, in kelvin; the same always.
	Whites() (warmest, coldest float64)
}

// WarmthReader reads back from the device which colour temperature its light has,
// in kelvin. One that shines in a colour has none, which is an error.
type WarmthReader interface {
	Warmth(ctx context.Context) (float64, error)
}

// Colour is one of sRGB.
type Colour struct{ R, G, B uint8 }

// String is the colour as web pages write it: "#ff8800".
func (c Colour) String() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// ParseColour reads what String writes.
func ParseColour(s string) (Colour, error) {
	hex, sharp := strings.CutPrefix(s, "#")
	n, err := strconv.ParseUint(hex, 16, 32)
	if !sharp || len(hex) != 6 || err != nil {
		return Colour{}, fmt.Errorf("%q is no colour; write it like #ff8800", s)
	}
	return Colour{uint8(n >> 16), uint8(n >> 8), uint8(n)}, nil
}

// SafeReader reads back from the device whether it is in its safe state. It
// works while the device is halted, which of the other verbs AtRest alone does.
type SafeReader interface {
	Safe(ctx context.Context) (bool, error)
}

// Sensor reads measurements.
type Sensor interface {
	Read(ctx context.Context) ([]Reading, error)
}

// Reading is one measurement in the unit that its name says.
type Reading struct {
	Quantity string // temperature, humidity, battery, contact, motion, power, ...
	Value    float64
	Unit     string // °C, %, W, ... ; "" for a truth value of 0 or 1
	At       time.Time
	// Estimated is so for what nothing has measured: the place of a blind by the time
	// that its motor ran.
	Estimated bool
}

// Observer says what the device itself knows to be there, in words and as
// facts: the shelf list of a fridge that keeps one, the state of a printer.
type Observer interface {
	Observe(ctx context.Context) (Observation, error)
}

// Observation is what a device knows about its surroundings.
type Observation struct {
	Text  string // one or more plain sentences
	Facts []Fact // the same, for machines
	At    time.Time
}

// Fact is one named thing of an Observation.
type Fact struct {
	Name  string // "milk"
	Value any    // string, bool, float64 or []Fact
	Unit  string
}

// Cleaner cleans floors.
type Cleaner interface {
	// Clean cleans the named areas in order (none: everything) and returns when
	// it is done. When ctx ends it stops moving, and the outcome says what was
	// done until then.
	Clean(ctx context.Context, areas []string, progress func(Progress)) (Outcome, error)
	// Dock sends the cleaner to its dock and returns when it is there.
	Dock(ctx context.Context) error
}

// RestReader reads back from what moves by itself whether it stands still, in its
// dock or elsewhere. Like SafeReader it works while the device is halted.
type RestReader interface {
	AtRest(ctx context.Context) (bool, error)
}

// Opener opens and closes something: a blind, a door, a valve.
type Opener interface {
	// Open returns when it is open. When ctx ends before that it stops where it is.
	Open(ctx context.Context) error
	// Shut is the same the other way.
	Shut(ctx context.Context) error
}

// Positioner opens something part of the way.
type Positioner interface {
	Opener
	// OpenTo returns when it is so far open, in percent: 0 is closed, and 100 open.
	// When ctx ends before that it stops where it is.
	OpenTo(ctx context.Context, percent float64) error
}

// OpeningWithin is how far from what it was told a thing may stand, in percent of its
// way: motors and their encoders are not more exact.
const OpeningWithin = 3

// OpeningReader reads back from the device how far open it is, in percent; 0 is
// closed. What moves just now is an error.
type OpeningReader interface {
	Opening(ctx context.Context) (float64, error)
}

// OpeningEstimator reckons how far open it is, in percent, by the time that its motor
// ran or the like. That is no evidence: a hand or a wall switch goes unnoticed. What
// moves, or has not been at an end, is an error.
type OpeningEstimator interface {
	EstimatedOpening(ctx context.Context) (float64, error)
}

// Locker locks and unlocks something, and returns when it is so.
type Locker interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// LockReader reads back from the device whether it is locked.
type LockReader interface {
	Locked(ctx context.Context) (bool, error)
}

// Pauser holds what a device is at, so that it can go on with it later. The task
// goes on meanwhile, and waits.
type Pauser interface {
	// Pause has it stand, and returns when the device says that it does.
	Pause(ctx context.Context) error
	// Resume lets it go on, and returns when the device says that it does.
	Resume(ctx context.Context) error
}

// Stopper ends what a device is at, whoever has begun it. A task of its own driver
// ends with ErrStopped then.
type Stopper interface {
	// Stop returns when the device says that it has stopped. left is what remains
	// for a person to see to, "" for nothing: "a half print lies on the bed".
	Stop(ctx context.Context) (left string, err error)
}

// Spotter cleans the spot where it stands.
type Spotter interface {
	// Spot returns when it is done, or when ctx has ended and it stands still.
	Spot(ctx context.Context, progress func(Progress)) error
}

// DockReader reads back from a Cleaner whether it is in its dock.
type DockReader interface {
	Docked(ctx context.Context) (bool, error)
}

// Areas lists what a Cleaner can be sent to, and what lies on a Printer.
type Areas interface {
	Areas(ctx context.Context) ([]Area, error)
}

// Mapped is a Cleaner that can be sent to these rooms and to no others, as its
// configuration has them; none where only the device knows.
type Mapped interface {
	Rooms() []string
}

// Area is a place that a device can work on, or a file that it can print.
type Area struct {
	Name string // "near sink": what a person calls it, unique within the device
	Room string // "kitchen"; "" for a file
	Note string // why it is listed: "rice spill"; "" for a room as such
}

// Mapper draws a picture of where the device is and has been.
type Mapper interface {
	Map(ctx context.Context) (Photo, error)
}

// Progress of a long task.
type Progress struct {
	Percent float64 // 0..100
	Doing   string  // "cleaning near sink"
	Left    time.Duration
	// Help is what a person does before it goes on, by the Resume of its Pauser; nil
	// for nothing. It goes on with the Help gone.
	Help *HelpError
}

// Outcome of a task that can end half done.
type Outcome struct {
	Done      []string
	Remaining []string
}

// Env is what a driver gets from the program that opens it.
type Env struct {
	Name   string           // the device's name in the configuration
	Log    *slog.Logger     // carries the device's name
	Now    func() time.Time // the clock
	Shared *Shared          // things that several devices have in common: a bus, the simulated home
}

// Factory opens one device of a kind. decode fills the driver's Config from
// the configuration file over its defaults, and tells unknown keys and bad
// values with their lines.
type Factory func(env Env, decode func(any) error) (Device, error)

// Kind is a kind of driver as it stands in drivers/all.
type Kind struct {
	Name  string // "sim-lamp": what a configuration's "driver:" says
	Class string // light, camera, vacuum, ...: what the device is to a person, unless configured
	About string // one line
	Open  Factory
	// Places: its devices may be Placed, which shows when they run.
	Places bool
	// Find, where a driver has it, looks for its devices on this machine, without
	// changing anything, until ctx ends. Who has no configuration gets what it finds,
	// so that each has a Config.
	Find func(ctx context.Context) []Found
	// Discover, where a driver has it, looks for what a person may want to configure:
	// what devices in the network announce of themselves until ctx ends, and what is
	// plugged in here. It opens none of them, and changes nothing.
	Discover func(ctx context.Context) []Found
	// Obey, where devices of this kind are Guarded, carries out one of their
	// Orders in another process, and tells whether that has changed anything. It
	// opens what it needs, asks no network, and may be called again and again.
	Obey func(order []byte) (changed bool, err error)
}

// Found is a device that was found. One without Config needs to be told more
// than could be found out.
type Found struct {
	Name   string            // for the configuration: "ustreamer-camera"
	Where  string            // for a person: "ustreamer at 127.0.0.1:8080"
	Label  string            // what its owner calls it, "" where it does not say: "Porch Heater"
	About  string            // what its maker says that it is, "" where it does not: "Garage door opener"
	Config map[string]string // what the driver needs to be told; "with.channel" is channel under with, and class is what it says that it is
}
