// Package template implements the common part of the template drivers. A template is a data
// file for one family of devices, with {names} that a configuration fills. A device has the
// verbs that its template describes.
//
// The package knows neither HTTP nor MQTT, and no device.
package template

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Settings contains the configuration keys of every template driver.
type Settings struct {
	Family   string            `yaml:"family"`   // name of the template
	Families string            `yaml:"families"` // folder with additional templates; "" for none
	With     map[string]string `yaml:"with"`     // values for the {names} in the template
	drivers.SwitchLevels
}

// DefaultSettings returns settings without a template that keep the state at Start and turn
// the device off at Halt.
func DefaultSettings() Settings {
	return Settings{SwitchLevels: drivers.SwitchLevels{Initial: "keep", Safe: "off"}}
}

// Verbs contains the functions of a device. A nil function means that the device cannot do
// it. Switch requires On.
type Verbs struct {
	Open  func(context.Context) error // called before any other function, and again after Close
	Close func()

	Switch        func(ctx context.Context, on bool) error
	SwitchFor     func(ctx context.Context, limit time.Duration) error // turns the device on with its own timer
	TimerMayBeSet func()                                               // reports that an earlier process has set the timer; requires SwitchFor
	RoundTimer    func(limit time.Duration) time.Duration              // see drivers.TimerRounder; requires SwitchFor
	On            func(context.Context) (bool, error)
	Read          func(context.Context) ([]drivers.Reading, error)

	// Changes implements drivers.Notifier. It is nil if the device does not notice changes.
	Changes func() <-chan struct{}

	// RunLast runs f so that its effect remains, even if the device executes an earlier
	// command late. It is nil if the device executes commands in order.
	RunLast func(ctx context.Context, f func(context.Context) error) error

	// Area returns the area of the device, or "" if unknown. It is nil if the device never
	// knows its area.
	Area func() string

	// Resources returns the resources that no other device may use. It is nil if there are
	// none.
	Resources func() []drivers.Resource

	// Cover and Lock exclude Switch and Light. Each requires Read.
	Cover *Cover
	Lock  *Lock

	// Press is nil for a device without an action. It excludes all other verbs.
	Press *Press

	// Thermostat is nil for a device without a target temperature. It requires Switch and Read.
	Thermostat *Thermostat

	// Light is nil for a device without a brightness. It requires Switch.
	Light *Light
}

// Thermostat contains the functions of a thermostat, in °C.
type Thermostat struct {
	Set         func(ctx context.Context, celsius float64) error // celsius is within TargetRange
	Target      func(context.Context) (float64, error)
	TargetRange drivers.TargetRange
}

// Lock contains the functions of a lock.
type Lock struct {
	Lock, Unlock func(context.Context) error
	Locked       func(context.Context) (bool, error)
}

// Light contains the functions of a lamp beyond on and off. Dim requires Level, and SetColor
// requires Color.
type Light struct {
	Dim              func(ctx context.Context, percent float64) error // percent is above 0
	Level            func(context.Context) (float64, error)
	SetColor         func(ctx context.Context, c drivers.Color) error // nil if the lamp has no colors
	Color            func(context.Context) (drivers.Color, error)
	ColorTemperature *ColorTemperature // nil if the lamp has a fixed color temperature
}

// ColorTemperature contains the functions of a lamp with a variable color temperature.
type ColorTemperature struct {
	Set              func(ctx context.Context, kelvin float64) error // kelvin is between Warmest and Coldest
	Read             func(context.Context) (float64, error)
	Warmest, Coldest float64 // limits in kelvin
}

// Device implements every device of a template.
type Device struct {
	drivers.Base
	class     string
	levels    drivers.SwitchLevels
	verbs     Verbs
	link      *drivers.Connection
	haltTime  time.Duration
	startHalt sync.Mutex // serializes Start and Halt
	started   bool       // set since Start; guarded by startHalt
	users     chan int   // semaphore that contains the number of users of the open device
	movement  drivers.ExclusiveTask
	mayMove   atomic.Bool // a cover that may move, because a stop failed
}

// New returns a device with these verbs. haltTime limits the commands for the initial and
// the safe state.
func New(name, class string, l drivers.SwitchLevels, haltTime time.Duration, link *drivers.Connection, v Verbs) drivers.Device {
	d := &Device{
		Base: drivers.NewBase(name), class: class, levels: l, verbs: v, link: link, haltTime: haltTime,
		users: make(chan int, 1),
	}
	d.users <- 0
	return shape(d)
}

// Changes implements drivers.Notifier.
func (d *Device) Changes() <-chan struct{} {
	if d.verbs.Changes == nil {
		return nil
	}
	return d.verbs.Changes()
}

// Connection returns the host of the device.
func (d *Device) Connection() *drivers.Connection { return d.link }

// Resources returns the resources that no other device may use.
func (d *Device) Resources() []drivers.Resource {
	if d.verbs.Resources == nil {
		return nil
	}
	return d.verbs.Resources()
}

// Class returns the class of the device.
func (d *Device) Class() string { return d.class }

// Area returns the area that the device reports, or "" if unknown.
func (d *Device) Area() string {
	if d.verbs.Area == nil {
		return ""
	}
	return d.verbs.Area()
}

// Start opens the device and sets its initial level.
func (d *Device) Start() error {
	d.startHalt.Lock()
	defer d.startHalt.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), d.haltTime)
	defer cancel()
	if !d.started {
		if err := d.connect(ctx); err != nil {
			return d.WithName(err)
		}
		d.started = true
	}
	if d.verbs.Switch != nil && d.levels.Initial != "keep" {
		if err := d.verbs.Switch(ctx, d.levels.Initial == "on"); err != nil {
			d.end()
			return d.WithName(err)
		}
	}
	d.MarkStarted()
	return nil
}

// Halt sets the safe level and closes the device.
func (d *Device) Halt() error {
	d.StopVerbs()
	d.startHalt.Lock()
	defer d.startHalt.Unlock()
	defer d.end()
	ctx, cancel := context.WithTimeout(context.Background(), d.haltTime)
	defer cancel()
	if c := d.verbs.Cover; c != nil && c.Stop != nil {
		return d.WithName(d.haltCover(ctx))
	}
	switch {
	case d.verbs.Switch == nil: // the device has no safe level, and may still execute an earlier command
		return d.WithName(d.last(ctx, func(context.Context) error { return nil }))
	case d.levels.Safe == "keep":
		return nil
	}
	if err := d.connect(ctx); err != nil {
		return d.WithName(err)
	}
	defer d.disconnect()
	return d.WithName(d.last(ctx, func(ctx context.Context) error { return d.verbs.Switch(ctx, d.levels.Safe == "on") }))
}

// haltCover stops a moving cover, and leaves a standing cover as it is. If the device does
// not answer, haltCover returns an error, because another client may have moved the cover.
func (d *Device) haltCover(ctx context.Context) error {
	if err := d.connect(ctx); err != nil {
		return fmt.Errorf("the cover may move, and did not receive the stop command: %v", err) // no %w, because the cover may have received a command to move
	}
	defer d.disconnect()
	if !d.mayMove.Load() {
		moves, err := d.verbs.Cover.IsMoving(ctx)
		if err != nil {
			return fmt.Errorf("the device does not report whether it moves: %v", err)
		}
		if !moves {
			return nil
		}
	}
	if err := d.last(ctx, d.verbs.Cover.Stop); err != nil {
		d.mayMove.Store(true)
		return fmt.Errorf("the cover may move, and the stop command failed: %v", err)
	}
	d.mayMove.Store(false)
	return nil
}

// last runs f as the last command of the device.
func (d *Device) last(ctx context.Context, f func(context.Context) error) error {
	if d.verbs.RunLast == nil {
		return f(ctx)
	}
	return d.verbs.RunLast(ctx, f)
}

// end releases the resources of Start. The caller holds turn.
func (d *Device) end() {
	if d.started {
		d.started = false
		d.disconnect()
	}
}

// connect opens the device for one more user.
func (d *Device) connect(ctx context.Context) error {
	n := <-d.users
	if n == 0 && d.verbs.Open != nil {
		if err := d.verbs.Open(ctx); err != nil {
			d.users <- 0
			return err
		}
	}
	d.users <- n + 1
	return nil
}

func (d *Device) disconnect() {
	n := <-d.users - 1
	if n == 0 && d.verbs.Close != nil {
		d.verbs.Close()
	}
	d.users <- n
}
