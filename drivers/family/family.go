// Package family has what drivers by template have in common: templates are data
// files, one for each family of devices, with {names} that a configuration
// fills; and a device has the verbs that its family's template describes.
//
// It knows neither HTTP nor MQTT, and no device.
package family

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

// Levels are what a device that switches is set to by itself.
type Levels struct {
	Initial string `yaml:"initial"` // on, off or keep, when it starts
	Safe    string `yaml:"safe"`    // on, off or keep, when it ends
}

// DefaultLevels leave a device as it is at the start, and off at the end.
func DefaultLevels() Levels { return Levels{Initial: "keep", Safe: "off"} }

// Validate tells what cannot be.
func (l Levels) Validate() error {
	var errs []error
	for _, level := range [][2]string{{"initial", l.Initial}, {"safe", l.Safe}} {
		if key, word := level[0], level[1]; word != "on" && word != "off" && word != "keep" {
			errs = append(errs, fmt.Errorf("%s: %q is unknown; write on, off or keep", key, word))
		}
	}
	return errors.Join(errs...)
}

// Settings are what a configuration says of every device by template.
type Settings struct {
	Family   string            `yaml:"family"`   // the template
	Families string            `yaml:"families"` // folder with more templates; "" for none
	With     map[string]string `yaml:"with"`     // for the {names} in the template
	Levels
}

// DefaultSettings have the default levels, and no family.
func DefaultSettings() Settings { return Settings{Levels: DefaultLevels()} }

// Verbs are what a device can do, and how. What is nil, it cannot; Switch comes
// with On.
type Verbs struct {
	Open  func(context.Context) error // before anything else, and again after Close
	Close func()

	Switch    func(ctx context.Context, on bool) error
	SwitchFor func(ctx context.Context, limit time.Duration) error // on, with the device's own timer
	TimerLeft func()                                               // an earlier run has set that; there with SwitchFor
	TimerFor  func(limit time.Duration) time.Duration              // as drivers.TimerLength has it; there with SwitchFor
	On        func(context.Context) (bool, error)
	Read      func(context.Context) ([]drivers.Reading, error)

	// Changes is drivers.Notifier's; nil: nothing is noticed.
	Changes func() <-chan struct{}

	// Last does f so that it holds, whatever the device was told before and does late;
	// nil: it does things in the order in which it is told.
	Last func(ctx context.Context, f func(context.Context) error) error

	// Area is where the device is, "" where it does not know; nil: it never does.
	Area func() string

	// Holds is what no other device can have: how it is told to do something. nil: nothing.
	Holds func() []drivers.Hold

	// Cover and Lock are for what neither switches nor shines; each comes with Read.
	Cover *Cover
	Lock  *Lock

	// Press is nil for what is not set off; it comes alone.
	Press *Press

	// Heat is nil for what keeps no temperature; it comes with Switch and Read.
	Heat *Heat

	// Light is nil for what can only be on and off; it comes with Switch.
	Light *Light
}

// Heat is what keeps a temperature, in °C.
type Heat struct {
	Set     func(ctx context.Context, celsius float64) error // within Targets
	Target  func(context.Context) (float64, error)
	Targets drivers.Targets
}

// Lock is what locks and unlocks.
type Lock struct {
	Lock, Unlock func(context.Context) error
	Locked       func(context.Context) (bool, error)
}

// Light is what a lamp can do beyond on and off. Dim comes with Level, and Tint
// with Colour.
type Light struct {
	Dim    func(ctx context.Context, percent float64) error // above 0
	Level  func(context.Context) (float64, error)
	Tint   func(ctx context.Context, c drivers.Colour) error // nil: it has no colours
	Colour func(context.Context) (drivers.Colour, error)
	White  *White // nil: it has no whites
}

// White is what a lamp can do whose white may be warm or cold.
type White struct {
	Warm             func(ctx context.Context, kelvin float64) error // within Warmest and Coldest
	Warmth           func(context.Context) (float64, error)
	Warmest, Coldest float64 // kelvin
}

// Only is what of a light one lamp has: nil for one that does not dim.
func (l Light) Only(dims, colours bool) *Light {
	if !dims {
		return nil
	}
	if !colours {
		l.Tint, l.Colour = nil, nil
	}
	return &l
}

// Device is what every device by template is.
type Device struct {
	drivers.Life
	class    string
	levels   Levels
	verbs    Verbs
	link     gobot.Connection
	haltTime time.Duration
	turn     sync.Mutex // held by Start and Halt
	live     bool       // since Start; guarded by turn
	users    chan int   // holds for how many the device is open
	errand   drivers.Errand
	loose    atomic.Bool // a cover that may be on its way, and could not be stopped
}

// New makes a device with the verbs that there are; haltTime is for taking it to
// its initial or safe state.
func New(name, class string, l Levels, haltTime time.Duration, link gobot.Connection, v Verbs) drivers.Device {
	d := &Device{
		Life: drivers.NewLife(name), class: class, levels: l, verbs: v, link: link, haltTime: haltTime,
		users: make(chan int, 1),
	}
	d.users <- 0
	return shape(d)
}

// Changes implements drivers.Notifier, where there is such a verb.
func (d *Device) Changes() <-chan struct{} {
	if d.verbs.Changes == nil {
		return nil
	}
	return d.verbs.Changes()
}

// Connection is the Gobot adaptor below.
func (d *Device) Connection() gobot.Connection { return d.link }

// Holds is what no other device can have.
func (d *Device) Holds() []drivers.Hold {
	if d.verbs.Holds == nil {
		return nil
	}
	return d.verbs.Holds()
}

// Class is what the device is to a person.
func (d *Device) Class() string { return d.class }

// Area is where the device says that it is, "" where it does not.
func (d *Device) Area() string {
	if d.verbs.Area == nil {
		return ""
	}
	return d.verbs.Area()
}

// Start opens it and sets its initial level.
func (d *Device) Start() error {
	d.turn.Lock()
	defer d.turn.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), d.haltTime)
	defer cancel()
	if !d.live {
		if err := d.connect(ctx); err != nil {
			return d.Named(err)
		}
		d.live = true
	}
	if d.verbs.Switch != nil && d.levels.Initial != "keep" {
		if err := d.verbs.Switch(ctx, d.levels.Initial == "on"); err != nil {
			d.end()
			return d.Named(err)
		}
	}
	d.Opened()
	return nil
}

// Halt sets the safe level and closes it.
func (d *Device) Halt() error {
	d.Closed()
	d.turn.Lock()
	defer d.turn.Unlock()
	defer d.end()
	ctx, cancel := context.WithTimeout(context.Background(), d.haltTime)
	defer cancel()
	if c := d.verbs.Cover; c != nil && c.Stop != nil {
		return d.Named(d.haltCover(ctx))
	}
	switch {
	case d.verbs.Switch == nil: // it has no safe level, and may do yet what it was told
		return d.Named(d.last(ctx, func(context.Context) error { return nil }))
	case d.levels.Safe == "keep":
		return nil
	}
	if err := d.connect(ctx); err != nil {
		return d.Named(err)
	}
	defer d.disconnect()
	return d.Named(d.last(ctx, func(ctx context.Context) error { return d.verbs.Switch(ctx, d.levels.Safe == "on") }))
}

// haltCover has what is on its way stand. What stands stays as it is; of what does not
// answer that is not known, whoever may have set it moving.
func (d *Device) haltCover(ctx context.Context) error {
	if err := d.connect(ctx); err != nil {
		return fmt.Errorf("it may move, and could not be told to stop: %v", err) // not wrapped: it may have been told to go
	}
	defer d.disconnect()
	if !d.loose.Load() {
		moves, err := d.verbs.Cover.Moves(ctx)
		if err != nil {
			return fmt.Errorf("it does not say whether it moves: %v", err)
		}
		if !moves {
			return nil
		}
	}
	if err := d.last(ctx, d.verbs.Cover.Stop); err != nil {
		d.loose.Store(true)
		return fmt.Errorf("it may move, and could not be stopped: %v", err)
	}
	d.loose.Store(false)
	return nil
}

// last has f be the last that the device does.
func (d *Device) last(ctx context.Context, f func(context.Context) error) error {
	if d.verbs.Last == nil {
		return f(ctx)
	}
	return d.verbs.Last(ctx, f)
}

// end gives back what Start took. turn is held.
func (d *Device) end() {
	if d.live {
		d.live = false
		d.disconnect()
	}
}

// connect opens the device for one more.
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

// does is drivers.During for what only acts.
func does(ctx context.Context, d *Device, f func(context.Context) error) error {
	_, err := drivers.During(ctx, &d.Life, func(ctx context.Context) (struct{}, error) { return struct{}{}, f(ctx) })
	return err
}
