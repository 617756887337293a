package drivertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

// fault is one kind of defect of a device.
type fault string

const (
	noName             fault = "has no name"
	worksUnstarted     fault = "works before Start"
	namelessErrors     fault = "errors do not name it"
	worksAfterHalt     fault = "works after Halt"
	ignoresContext     fault = "ignores the context"
	hidesContext       fault = "hides why it ended"
	haltLeavesOn       fault = "Halt leaves it on"
	saysSafe           fault = "always says that it is safe"
	deniesSafe         fault = "never says that it is safe"
	safeStarted        fault = "tells whether it is safe only while it is started"
	alwaysRests        fault = "always says that it stands still"
	neverRests         fault = "never says that it stands still"
	restsStarted       fault = "tells whether it stands still only while it is started"
	secondHaltFails    fault = "the second Halt fails"
	secondHaltPanics   fault = "the second Halt panics"
	haltLeavesCleaning fault = "Halt leaves it cleaning"
	startsOnce         fault = "starts once"
	leaksGoroutine     fault = "leaks a goroutine"
	cannotSwitchOff    fault = "cannot switch off"
	switchesNothing    fault = "switches nothing"
	remembers          fault = "remembers instead of reading"
	otherOrders        fault = "other orders every time"
	obeysNothing       fault = "obeys nothing"
	obeysTwice         fault = "says that it has changed what it has not"
	obeysStarted       fault = "obeys only while it is started"
	movesOn            fault = "moves on when its lease is over"
	movesLong          fault = "takes any lease"
	movesNot           fault = "does not move"
	oldPhoto           fault = "an old photo"
	wrongMIME          fault = "a wrong MIME type"
	noBytes            fault = "a photo without bytes"
	wrongMap           fault = "a map without bytes"
	noReadings         fault = "no readings"
	notANumber         fault = "a reading is not a number"
	saysNothing        fault = "says nothing"
	strangeFact        fault = "a fact of a strange type"
	sameNames          fault = "two areas of one name"
	cleansNothing      fault = "cleans nothing"
	forgetsDone        fault = "forgets what was done"
	progressFallsBack  fault = "progress falls back"
	cleansAnywhere     fault = "cleans unknown places"
	forgetsRemaining   fault = "forgets what remains"
	drivesOn           fault = "drives on"
	dimsNothing        fault = "dims nothing"
	dimsAnyhow         fault = "dims to what cannot be"
	zeroIsOn           fault = "is on at level 0"
	wrongColour        fault = "has another colour"
	darkColour         fault = "a colour leaves it off"
	neverShuts         fault = "never closes"
	opensNot           fault = "does not open"
	neverUnlocks       fault = "never unlocks"
	locksNot           fault = "does not lock"
	opensWholly        fault = "opens all the way"
	opensAnyhow        fault = "opens as far as cannot be"
	wrongWhite         fault = "has another white"
	darkWhite          fault = "a white leaves it off"
	anyWhite           fault = "takes any white"
	turnsNot           fault = "does not turn"
	turnsElsewhere     fault = "turns elsewhere"
	turnsAnywhere      fault = "turns past its limits"
	turnsSilently      fault = "does not say that nothing was done"
	targetsNot         fault = "sets no temperature"
	targetsAnother     fault = "keeps another temperature"
	targetsAny         fault = "takes any temperature"
	targetsSilently    fault = "does not say that no temperature was set"
	targetsOn          fault = "a temperature switches it on"
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
	colour          drivers.Color
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
	if d.fault == wrongColour {
		c = drivers.Color{G: 1}
	}
	d.colour, d.on, d.done = c, d.fault != darkColour, d.done+1
	return nil
}

func (d *device) Color(ctx context.Context) (drivers.Color, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.colour, d.may(ctx)
}

func (d *device) Move(ctx context.Context, _ drivers.Motion, lease time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.may(ctx)
	switch {
	case err != nil || d.fault == movesNot:
		return err
	case lease > drivers.MaxLease && d.fault != movesLong:
		return errors.New("device: too long a lease")
	case d.fault == movesOn:
	case d.timer == nil:
		d.timer = time.AfterFunc(lease, func() { d.force(false) })
	default:
		d.timer.Reset(lease)
	}
	d.on, d.done = true, d.done+1
	return nil
}

func (d *device) StopMoving(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.may(ctx); err != nil {
		return err
	}
	d.on = false
	return nil
}

func (d *device) WatchdogCommands() drivers.WatchdogCommands {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.asked++; d.fault == otherOrders {
		return drivers.WatchdogCommands{Off: fmt.Appendf(nil, "%d", d.asked)}
	}
	return drivers.WatchdogCommands{Off: []byte(`"off"`), Safe: []byte(`"safe"`)}
}

func (d *device) obey([]byte) (bool, error) {
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
	case d.fault == saysSafe:
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

func (d *device) Areas(ctx context.Context) ([]drivers.Area, error) {
	areas := []drivers.Area{{Name: "hall"}, {Name: "stairs"}}
	if d.fault == sameNames {
		areas[1].Name = "hall"
	}
	return areas, d.ask(ctx)
}

func (d *device) Dock(ctx context.Context) error { return d.ask(ctx) }

func (d *device) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	for _, a := range areas {
		if !slices.Contains([]string{"hall", "stairs"}, a) && d.fault != cleansAnywhere {
			return drivers.Outcome{Remaining: areas}, errors.New("device: no such place; there are: hall, stairs")
		}
	}
	var out drivers.Outcome
	for i, a := range areas {
		if err := d.step(ctx, 100*float64(i)/2, a, progress); err != nil {
			if d.fault != forgetsRemaining {
				out.Remaining = areas[i:]
			}
			return out, err
		}
		if d.fault != forgetsDone {
			out.Done = append(out.Done, a)
		}
	}
	return out, d.rest(ctx)
}

// step cleans one area, unless the progress callback has ended the task.
func (d *device) step(ctx context.Context, percent float64, area string, progress func(drivers.Progress)) error {
	if err := d.ask(ctx); err != nil {
		return err
	}
	if d.fault == progressFallsBack {
		percent = 90 - percent
	}
	d.setMoving(true)
	if progress != nil {
		progress(drivers.Progress{Percent: percent, Activity: "cleaning " + area})
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.moving = d.fault == drivesOn
	if err := d.may(ctx); err != nil {
		return err
	}
	if d.fault != cleansNothing {
		d.done++
	}
	return nil
}

func (d *device) setMoving(so bool) { d.mu.Lock(); defer d.mu.Unlock(); d.moving = so }

// rest ends a task without areas. With the fault of Halt it cleans until the end of the
// test.
func (d *device) rest(ctx context.Context) error {
	if d.fault == haltLeavesCleaning && d.ask(ctx) == nil {
		<-d.end
	}
	return d.ask(ctx)
}
