// Package drivers declares the verbs of devices, with their units, and the registry of
// driver kinds. A driver knows its device, its verbs and its safe state. It does not know
// requests.
//
// A device of Gobot implements Device without a change. Package drivers/gobotdevice gives it
// verbs and a safe state.
package drivers

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// Device is one physical or simulated device. Start opens the device and sets its initial
// state. Halt takes it to its safe, inert state; a caller may call Halt at any time and
// more than once. Callers find the verbs of a device by type assertion.
//
// The methods must be safe for concurrent use. The safety policy calls one verb that acts at a
// time, but a stop or a pause may come during it, and verbs that read may come at any time.
type Device interface {
	// Name returns the name of the device, which is unique in a program.
	Name() string
	Start() error
	Halt() error
}

// Connected is a device that may share its connection with others, such as a host in the
// network. A caller that reads many devices reads few of one connection at a time.
type Connected interface {
	Connection() *Connection
}

// Photographer takes images.
type Photographer interface {
	// Photo takes a new image. It never returns an image taken before the call.
	Photo(ctx context.Context) (Photo, error)
}

// Photo is an image in the encoding that the device delivered.
type Photo struct {
	Data       []byte    // encoded image
	MIME       string    // image/jpeg, image/png, ...
	CapturedAt time.Time // when the shutter was open, by the clock of this host
}

// Switch turns something on and off.
type Switch interface {
	Switch(ctx context.Context, on bool) error
}

// SwitchReader reads back from the device whether it is on. A driver that only remembers
// the last command must not implement this interface.
type SwitchReader interface {
	On(ctx context.Context) (bool, error)
}

// Dimmer sets the brightness of a light in percent of its maximum. 0 turns the light off;
// any larger value turns it on.
type Dimmer interface {
	Dim(ctx context.Context, percent float64) error
}

// LevelReader reads back from the device its present brightness in percent. The level of a
// light that is off is 0.
type LevelReader interface {
	Level(ctx context.Context) (float64, error)
}

// ColorSetter sets the color of a light and switches the light on.
type ColorSetter interface {
	SetColor(ctx context.Context, c Color) error
}

// ColorReader reads the color back from the device.
type ColorReader interface {
	Color(ctx context.Context) (Color, error)
}

// ColorTemperatureSetter sets the color temperature of a light and switches the light on.
type ColorTemperatureSetter interface {
	// SetColorTemperature sets the color temperature in kelvin: 2000 is a candle, 2700 a
	// bulb, 6500 daylight. It returns ErrNothingDone for a value outside of
	// ColorTemperatureRange.
	SetColorTemperature(ctx context.Context, kelvin float64) error
	// ColorTemperatureRange returns the warmest and the coldest white in kelvin. The values
	// never change.
	ColorTemperatureRange() (warmest, coldest float64)
}

// ColorTemperatureReader reads back from the device its color temperature in kelvin. It
// returns an error for a light that shows a color.
type ColorTemperatureReader interface {
	ColorTemperature(ctx context.Context) (float64, error)
}

// Color is an sRGB color.
type Color struct{ R, G, B uint8 }

// String returns the color in the notation of web pages: "#ff8800".
func (c Color) String() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// ParseColor parses the notation of String.
func ParseColor(s string) (Color, error) {
	hex, sharp := strings.CutPrefix(s, "#")
	n, err := strconv.ParseUint(hex, 16, 32)
	if !sharp || len(hex) != 6 || err != nil {
		return Color{}, fmt.Errorf("%q is no color; write it like #ff8800", s)
	}
	return Color{uint8(n >> 16), uint8(n >> 8), uint8(n)}, nil
}

// SafeReader reads back from the device whether it is in its safe state. SafeReader and
// RestReader are the only verbs that work while the device is halted.
type SafeReader interface {
	Safe(ctx context.Context) (bool, error)
}

// Sensor reads measurements.
type Sensor interface {
	Read(ctx context.Context) ([]Reading, error)
}

// Reading is one measurement in the unit that Unit names.
type Reading struct {
	Quantity string // temperature, humidity, battery, contact, motion, power, ...
	Value    float64
	Unit     string // °C, %, W, ... ; "" for a truth value of 0 or 1
	At       time.Time
	// Estimated reports that no sensor measured the value, such as the position of a blind
	// that the driver computes from the run time of its motor.
	Estimated bool
}

// Observer reports the contents or the state that the device itself knows, as text and as
// facts: the shelf list of a fridge, the state of a printer.
type Observer interface {
	Observe(ctx context.Context) (Observation, error)
}

// Observation contains the facts that a device knows about its surroundings.
type Observation struct {
	Text  string // one or more plain sentences
	Facts []Fact // the same content for programs
	At    time.Time
}

// Fact is one named value of an Observation.
type Fact struct {
	Name  string // "milk"
	Value any    // string, bool, float64 or []Fact
	Unit  string
}

// Cleaner cleans floors.
type Cleaner interface {
	// Clean cleans the named areas in order, or everything if there are none. It returns
	// when the cleaner has finished. When ctx ends, the cleaner stops moving, and the
	// outcome lists the areas that it has finished.
	Clean(ctx context.Context, areas []string, progress func(Progress)) (Outcome, error)
	// Dock sends the cleaner to its dock and returns when it has arrived.
	Dock(ctx context.Context) error
}

// RestReader reads back from a device that moves autonomously whether it stands still, in
// its dock or elsewhere. Like SafeReader it works while the device is halted.
type RestReader interface {
	AtRest(ctx context.Context) (bool, error)
}

// Opener opens and closes something: a blind, a door, a valve.
type Opener interface {
	// Open returns when the device is fully open. When ctx ends before that, the device
	// stops where it is.
	Open(ctx context.Context) error
	// Close returns when the device is closed. When ctx ends before that, the device stops
	// where it is.
	Close(ctx context.Context) error
}

// Positioner moves a device to a position between closed and open.
type Positioner interface {
	Opener
	// OpenTo returns when the device is open by this percentage: 0 is closed, 100 is open.
	// When ctx ends before that, the device stops where it is.
	OpenTo(ctx context.Context, percent float64) error
}

// OpeningTolerance is the largest difference between the requested and the actual position
// that counts as reached, in percent. Motors and encoders are not more exact.
const OpeningTolerance = 3

// OpeningReader reads back from the device how far it is open, in percent; 0 is closed. It
// returns an error while the device moves.
type OpeningReader interface {
	Opening(ctx context.Context) (float64, error)
}

// OpeningEstimator estimates how far the device is open, in percent, for example from the
// run time of its motor. An estimate is no evidence, because the driver does not notice a
// manual movement or a wall switch. It returns an error while the device moves, and until
// the device has reached one of its ends.
type OpeningEstimator interface {
	EstimatedOpening(ctx context.Context) (float64, error)
}

// Locker locks and unlocks a device. Each method returns when the device has reached the
// state.
type Locker interface {
	Lock(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// LockReader reads back from the device whether it is locked.
type LockReader interface {
	Locked(ctx context.Context) (bool, error)
}

// Pauser interrupts the task of a device and lets it continue later. Meanwhile the task
// remains open.
type Pauser interface {
	// Pause stops the device and returns when the device reports that it has stopped.
	Pause(ctx context.Context) error
	// Resume continues the task and returns when the device reports that it has continued.
	Resume(ctx context.Context) error
}

// Stopper terminates the current task of a device, no matter which client started it. If
// this driver runs the task, the task returns ErrStopped.
type Stopper interface {
	// Stop returns when the device reports that it has stopped. left describes the work
	// that remains for a person, such as "a half print lies on the bed"; it is "" if there
	// is none.
	Stop(ctx context.Context) (left string, err error)
}

// SpotCleaner cleans the spot on which the device stands.
type SpotCleaner interface {
	// CleanSpot returns when the device has finished, or when ctx has ended and the device
	// stands still.
	CleanSpot(ctx context.Context, progress func(Progress)) error
}

// DockReader reads back from a Cleaner whether it is in its dock.
type DockReader interface {
	Docked(ctx context.Context) (bool, error)
}

// AreaLister lists the places that a Cleaner can clean, or the files that a Printer stores.
type AreaLister interface {
	Areas(ctx context.Context) ([]Area, error)
}

// RoomLister lists the rooms that the configuration of a Cleaner names. The Cleaner accepts
// these rooms only. The list is empty if only the device knows its rooms.
type RoomLister interface {
	Rooms() []string
}

// Area is a place that a device can work on, or a file that it can print.
type Area struct {
	Name string // "near sink": the name that people use, unique within the device
	Room string // "kitchen"; "" for a file
	Note string // the reason for the entry: "rice spill"; "" for a room
}

// Mapper draws an image of the present and past positions of the device.
type Mapper interface {
	Map(ctx context.Context) (Photo, error)
}

// FloorMap is a map with positions. All positions and sizes are in pixels of the picture, from its left
// top corner.
type FloorMap struct {
	Photo
	Width, Height  int     // of the picture, in pixels
	MetersPerPixel float64 // 0 if unknown
	Rooms          []MapRoom
	Robot, Dock    *MapPoint // nil if unknown
}

// MapRoom is a room on a map. Name is the name of its Area.
type MapRoom struct {
	Name                string
	X, Y, Width, Height float64 // the box around it
}

// MapPoint is a position on a map.
type MapPoint struct{ X, Y float64 }

// FloorMapper is a Mapper that reports where rooms, the robot and its dock are on the map.
type FloorMapper interface {
	Mapper
	FloorMap(ctx context.Context) (FloorMap, error)
}

// Progress describes the state of a long task.
type Progress struct {
	Percent  float64 // 0..100
	Activity string  // "cleaning near sink"
	TimeLeft time.Duration
	// Help describes the action of a person that the task waits for, or is nil. The Resume
	// method of the Pauser continues the task; Help is nil after that.
	Help *HelpError
}

// Outcome lists the finished and the remaining parts of a task.
type Outcome struct {
	Done      []string
	Remaining []string
}

// Env contains the values that the program passes to a driver when it opens a device.
type Env struct {
	Name   string           // name of the device in the configuration
	Log    *slog.Logger     // contains the name of the device
	Now    func() time.Time // the clock
	Shared *Shared          // resources that several devices use: a bus, the simulated home
}

// Factory opens one device of a kind. decode decodes the configuration of the device over the
// defaults of the driver's Config. It reports unknown keys and invalid values with their
// lines.
type Factory func(env Env, decode func(any) error) (Device, error)

// NewFactory returns the Factory of a driver whose configuration has these defaults.
func NewFactory[C any, D Device](defaults func() C, open func(env Env, cfg C) (D, error)) Factory {
	return func(env Env, decode func(any) error) (Device, error) {
		cfg := defaults()
		if err := decode(&cfg); err != nil {
			return nil, err
		}
		d, err := open(env, cfg)
		if err != nil {
			return nil, err
		}
		return d, nil
	}
}

// Kind describes a kind of driver for the registry in drivers/all.
type Kind struct {
	Name  string // "sim-lamp": the value of "driver:" in the configuration
	Class string // default class of the device: light, camera, vacuum, ...
	About string // one line
	Open  Factory
	// ReportsArea reports that devices of this kind may implement AreaReporter. Only an open
	// device knows whether it does.
	ReportsArea bool
	// Find searches this host for devices of the kind until ctx ends, and changes nothing.
	// It is nil if the driver cannot search. An installation without a configuration uses
	// the devices that it finds, so each result has a Config.
	Find func(ctx context.Context) []FoundDevice
	// Discover searches for devices that a person may want to configure: network devices
	// that announce themselves until ctx ends, and devices connected to this host. It opens
	// no device and changes nothing. It is nil if the driver cannot search.
	Discover func(ctx context.Context) []FoundDevice
	// RunWatchdogCommand executes one of the WatchdogCommands of a WatchdogTarget in another
	// process, and reports whether that changed anything. It opens the resources that it
	// needs and uses no network. A caller may repeat the call. It is nil for kinds without a
	// WatchdogTarget.
	RunWatchdogCommand func(order []byte) (changed bool, err error)
}

// FoundDevice describes a device that a search found. A result without Config needs settings
// that the search could not determine.
type FoundDevice struct {
	Name   string            // for the configuration: "ustreamer-camera"
	Where  string            // for people: "ustreamer at 127.0.0.1:8080"
	Label  string            // name that the owner gave the device: "Porch Heater"; "" if unknown
	About  string            // description by the manufacturer: "Garage door opener"; "" if unknown
	Config map[string]string // configuration keys and values; "with.channel" is the key channel below with, and class is the class that the device reports
}

// ClassReporter reports the class of a device (light, plug, vacuum, ...) where the device knows
// it better than its Kind. A class in the configuration takes precedence.
type ClassReporter interface {
	Class() string
}

// AreaReporter reports the area of the home that a device is in, as people name it, or "" if the
// device does not know. An area in the configuration takes precedence.
type AreaReporter interface {
	Area() string
}

// Inspector checks whether a device exists and is free, while it is started or halted. It
// is for devices whose state cannot be read without a change: a GPIO line becomes an output
// as soon as a process requests it.
type Inspector interface {
	// Inspect occupies and changes nothing. what describes the device that it found.
	Inspect(ctx context.Context) (what string, err error)
}
