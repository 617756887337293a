package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

// plain is a device without verbs.
type plain struct{ name string }

func (p *plain) Name() string                 { return p.name }
func (p *plain) SetName(name string)          { p.name = name }
func (p *plain) Start() error                 { return nil }
func (p *plain) Halt() error                  { return nil }
func (p *plain) Connection() gobot.Connection { return nil }

// device has every verb, is its own simulator, and has at most one fault.
type device struct {
	plain
	fault fault
	end   chan struct{} // ends the work that the fault left behind

	mu              sync.Mutex
	started, halted bool
	on, sent        bool // the line, and the last command
	moving          bool
	done            int
	asked           int
	timer           *time.Timer // ends a movement
	percent         float64
	color           drivers.Color
	ajar, locked    bool
	opening         float64 // position of a partly open device; 0: fully
	kelvin, angle   float64
	target          float64
}

func (d *device) reset() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.name = "device"
	if d.fault == noName {
		d.name = ""
	}
	d.started, d.halted, d.on, d.sent, d.moving, d.done = false, false, false, false, false, 0
}

func (d *device) safe() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.on || d.moving {
		return fmt.Errorf("on=%t, moving=%t", d.on, d.moving)
	}
	return nil
}

func (d *device) acts() int   { d.mu.Lock(); defer d.mu.Unlock(); return d.done }
func (d *device) level() bool { d.mu.Lock(); defer d.mu.Unlock(); return d.on }
func (d *device) force(on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.on = on
}

func (d *device) Start() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault == startsOnce && d.halted {
		return errors.New("device: used up")
	}
	if d.fault == leaksGoroutine {
		go func() { <-d.end }()
	}
	d.started = true
	return nil
}

func (d *device) Halt() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.halted && d.fault == secondHaltFails:
		return errors.New("device: halted already")
	case d.halted && d.fault == secondHaltPanics:
		panic("close of closed channel")
	}
	d.started, d.halted, d.moving = false, true, false
	if d.fault != haltLeavesOn {
		d.on = false
	}
	return nil
}

// may checks the preconditions of every verb.
func (d *device) may(ctx context.Context) error {
	switch {
	case d.fault == ignoresContext || ctx.Err() == nil:
	case d.fault == hidesContext:
		return errors.New("device: no")
	default:
		return fmt.Errorf("device: %w", ctx.Err())
	}
	switch {
	case d.started, d.fault == worksUnstarted && !d.halted, d.fault == worksAfterHalt && d.halted:
		return nil
	case d.fault == namelessErrors:
		return drivers.ErrNotStarted
	}
	return fmt.Errorf("device: %w", drivers.ErrNotStarted)
}

func (d *device) ask(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.may(ctx)
}

func (d *device) Switch(ctx context.Context, on bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil || d.fault == switchesNothing {
		return err
	}
	d.on, d.sent, d.done = on || d.fault == cannotSwitchOff, on, d.done+1
	return nil
}

func (d *device) Open(ctx context.Context) error { return d.set(ctx, &d.ajar, true, opensNot) }

func (d *device) Close(ctx context.Context) error { return d.set(ctx, &d.ajar, false, neverShuts) }

func (d *device) Lock(ctx context.Context) error { return d.set(ctx, &d.locked, true, locksNot) }

func (d *device) Unlock(ctx context.Context) error {
	return d.set(ctx, &d.locked, false, neverUnlocks)
}

// set changes a state, unless the fault prevents it.
func (d *device) set(ctx context.Context, what *bool, is bool, unless fault) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil {
		return err
	}
	if d.fault != unless {
		*what, d.opening = is, 0
	}
	d.done++
	return nil
}

func (d *device) Opening(ctx context.Context) (float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ajar && d.opening > 0 {
		return d.opening, d.may(ctx)
	}
	return map[bool]float64{true: 100}[d.ajar], d.may(ctx)
}

func (d *device) Locked(ctx context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.locked, d.may(ctx)
}

func (d *device) Dim(ctx context.Context, percent float64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil || d.fault == dimsNothing {
		return err
	}
	if !(percent >= 0 && percent <= 100) && d.fault != dimsAnyhow {
		return errors.New("device: use 0 to 100")
	}
	d.percent, d.on, d.sent, d.done = percent, percent > 0 || d.fault == zeroIsOn, percent > 0, d.done+1
	return nil
}

func (d *device) Level(ctx context.Context) (float64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.on {
		return 0, d.may(ctx)
	}
	return d.percent, d.may(ctx)
}

func (d *device) SetColor(ctx context.Context, c drivers.Color) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil {
		return err
	}
	if d.fault == wrongColor {
		c = drivers.Color{G: 1}
	}
	d.color, d.on, d.done = c, d.fault != darkColor, d.done+1
	return nil
}

func (d *device) Color(ctx context.Context) (drivers.Color, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.color, d.may(ctx)
}

func (d *device) WatchdogCommands() drivers.WatchdogCommands {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked++; d.fault == otherOrders {
		return drivers.WatchdogCommands{Off: fmt.Appendf(nil, "%d", d.asked)}
	}
	return drivers.WatchdogCommands{Off: []byte(`"off"`), Safe: []byte(`"safe"`)}
}

func (d *device) runCommand([]byte) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.on
	if d.fault != obeysNothing && (d.started || d.fault != obeysStarted) {
		d.on = false
	}
	return was || d.fault == obeysTwice, nil
}

func (d *device) On(ctx context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fault == remembers {
		return d.sent, d.may(ctx)
	}
	return d.on, d.may(ctx)
}

func (d *device) Safe(context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.fault == compareSafe:
		return true, nil
	case d.fault == deniesSafe:
		return false, nil
	case d.fault == safeStarted && !d.started:
		return false, errors.New("device: not started")
	}
	return !d.on && !d.moving, nil
}

func (d *device) AtRest(context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.fault == neverRests:
		return false, nil
	case d.fault == alwaysRests:
		return true, nil
	case d.fault == restsStarted && !d.started:
		return false, errors.New("device: not started")
	}
	return !d.moving, nil
}

func (d *device) Photo(ctx context.Context) (drivers.Photo, error) {
	p := drivers.Photo{Data: []byte("\xff\xd8\xff"), MIME: "image/jpeg", CapturedAt: time.Now()}
	switch d.fault {
	case oldPhoto:
		p.CapturedAt = p.CapturedAt.Add(-time.Minute)
	case wrongMIME:
		p.MIME = "image/png"
	case noBytes:
		p.Data = nil
	}
	return p, d.ask(ctx)
}

func (d *device) Map(ctx context.Context) (drivers.Photo, error) {
	p := drivers.Photo{Data: []byte("\xff\xd8\xff"), MIME: "image/jpeg", CapturedAt: time.Now()}
	if d.fault == wrongMap {
		p.Data = nil
	}
	return p, d.ask(ctx)
}

func (d *device) Read(ctx context.Context) ([]drivers.Reading, error) {
	r := drivers.Reading{Quantity: "battery", Value: 80, Unit: "%", At: time.Now()}
	switch d.fault {
	case noReadings:
		return nil, d.ask(ctx)
	case notANumber:
		r.Value = math.NaN()
	}
	return []drivers.Reading{r}, d.ask(ctx)
}

func (d *device) Observe(ctx context.Context) (drivers.Observation, error) {
	o := drivers.Observation{Text: "There is milk.", Facts: []drivers.Fact{{Name: "milk", Value: true}}, At: time.Now()}
	switch d.fault {
	case saysNothing:
		o.Text = " "
	case strangeFact:
		o.Facts[0].Value = 1
	}
	return o, d.ask(ctx)
}
