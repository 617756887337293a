package policy

import (
	"context"
	"errors"
	"slices"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// LastState is one reported state of a device. Its quantity is that of a sensor, or on, opening (%),
// lock, docked, level (%), angle (°) or target (°C); a truth value is 0 or 1.
type LastState struct {
	drivers.Reading
	Commanded bool // this is the commanded value, with no reading since; without a quantity: no reading since the last act
}

// LastStates returns the known states of a device without reading it; none if nothing has read it.
func (g *Policy) LastStates(name string) []LastState {
	g.mu.Lock()
	defer g.mu.Unlock()
	if d := g.devices[name]; d != nil {
		return slices.Clone(d.lastStates)
	}
	return nil
}

// ActCount returns how often this program has begun or ended an act of a device.
func (g *Policy) ActCount(name string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.device(name).actCount
}

// storeStates stores readings of a device in place of older ones of the same quantities. acts is the
// value of ActCount when the reading began; readings from before an act are outdated, and storeStates drops
// them. The caller holds Policy.mu.
func (g *Policy) storeStates(d *device, acts uint64, commanded bool, list ...drivers.Reading) {
	if acts != d.actCount {
		return
	}
	for _, r := range list {
		if r.At.IsZero() {
			r.At = g.now()
		}
		if r.Quantity == "on" && !commanded {
			d.noteReport(r.Value != 0, g.now())
		}
		at := slices.IndexFunc(d.lastStates, func(old LastState) bool { return old.Quantity == r.Quantity || old.Quantity == "" })
		if at < 0 {
			d.lastStates = append(d.lastStates, LastState{r, commanded})
		} else {
			d.lastStates[at] = LastState{r, commanded}
		}
	}
}

// dropLastStates drops the stored readings when a call that does more than read begins or ends. The
// caller holds Policy.mu.
func (g *Policy) dropLastStates(c *call) {
	d := c.dev
	switch c.lock {
	case d.readLock:
		return
	case d.actLock, d.steerLock:
		d.lastStates = []LastState{{drivers.Reading{At: g.now()}, true}}
	default:
		d.lastStates = nil // it started, or went to its safe state
	}
	d.actCount++
}

func (g *Policy) callBegins(c *call) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropLastStates(c)
}

// storeCommanded stores the commanded state after a successful act.
func (p *Pass) storeCommanded(verb string) {
	r := drivers.Reading{Unit: "%"}
	is := func(quantity string, yes bool) {
		if r.Quantity, r.Unit = quantity, ""; yes {
			r.Value = 1
		}
	}
	part := func(quantity, arg string) {
		planned, _ := p.order.Args.Get(arg)
		value, known := settings.Number(planned)
		if r.Value = value; known {
			r.Quantity = quantity
		}
	}
	switch p.order.Command {
	case capabilities.SetSwitch, capabilities.Toggle:
		is("on", verb == "switch on")
	case capabilities.Lock, capabilities.Unlock:
		is("lock", p.order.Command == capabilities.Lock)
	case capabilities.Dock:
		is("docked", true)
	case capabilities.Open:
		r.Quantity, r.Value = "opening", 100
	case capabilities.Close:
		r.Quantity = "opening"
	case capabilities.OpenTo:
		part("opening", "opening")
	case capabilities.Dim:
		part("level", "level")
	case capabilities.SetTemperature:
		r.Unit = "°C"
		part("target", "temperature")
	}
	if r.Quantity == "" {
		return
	}
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.storeStates(p.dev, p.dev.actCount, true, r)
}

// readState calls a reading method and stores its result as a quantity.
func readState[T any](ctx context.Context, p *Pass, quantity, unit, name string, f func(context.Context) (T, error)) (T, error) {
	p.g.mu.Lock()
	acts := p.dev.actCount
	p.g.mu.Unlock()
	v, err := readDevice(ctx, p, name, f)
	if err == nil {
		p.storeReading(acts, drivers.Reading{Quantity: quantity, Unit: unit}, v)
	}
	return v, err
}

// storeReading stores v; it stores a list of readings unchanged.
func (p *Pass) storeReading(acts uint64, r drivers.Reading, v any) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	switch v := v.(type) {
	case bool:
		if v {
			r.Value = 1
		}
	case float64:
		r.Value = v
	case []drivers.Reading:
		p.g.storeStates(p.dev, acts, false, v...)
		return
	}
	p.g.storeStates(p.dev, acts, false, r)
}

// MayBeActive reports whether this program may have left a device active: the device has acted, or may
// have, and no later fact shows that it is inactive.
func (g *Policy) MayBeActive(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.device(name).mayBeActive
}

// trackEffect runs an act and records whether it leaves the device active.
func trackEffect[T any](ctx context.Context, p *Pass, f func(context.Context) (T, error)) (T, error) {
	p.g.mu.Lock()
	before := p.dev.mayBeActive
	p.dev.mayBeActive = true // during the act, and if it does not return
	if p.dev.pending != nil && p.dev.pending.isStop {
		p.dev.pending = nil // a new command replaces the repeated stop
		p.g.notifyTimers()
	}
	p.g.mu.Unlock()
	v, err := f(ctx)
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	_, refused := errors.AsType[*Rejection](err)
	switch {
	case err == nil && leavesInactive(p.order.Plan):
		p.dev.markInactive()
	case refused && isMotion(p.order.Plan): // it moved until then
	case refused, didNothing(err):
		p.dev.mayBeActive = p.dev.mayBeActive && before
	case errors.Is(err, drivers.ErrMayAct):
		p.unanswered = true
		if c := p.order.Command; c != capabilities.Pause && c != capabilities.Resume { // a stop would end the paused or resumed activity
			p.g.repeatStop(p.dev)
		}
	}
	return v, err
}

// Unanswered reports whether the device has not answered a command of this pass and may still
// carry it out.
func (p *Pass) Unanswered() bool {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	return p.unanswered
}

// repeatStop schedules repeated stop commands for a device that may still be moving, until it
// acknowledges one or gets another command. The caller holds Policy.mu.
func (g *Policy) repeatStop(d *device) {
	s, ok := d.driver.(drivers.Stopper)
	if !ok || d.pending != nil && !d.pending.isStop {
		return
	}
	d.pending = &pendingOff{at: g.now().Add(firstRetry), onSince: g.now(), output: stopOutput{s}, isStop: true}
	g.notifyTimers()
}

// stopOutput adapts a Stopper to a Switch: switching it off stops it.
type stopOutput struct{ drivers.Stopper }

func (s stopOutput) Switch(ctx context.Context, _ bool) error {
	_, err := s.Stop(ctx)
	return err
}

// didNothing reports whether a driver's error says that it did nothing.
func didNothing(err error) bool {
	return errors.Is(err, drivers.ErrNothingDone) || errors.Is(err, drivers.ErrBusy) || errors.Is(err, drivers.ErrNotStarted) && !errors.Is(err, drivers.ErrHalted)
}

// leavesInactive reports whether a completed plan leaves the device inactive.
func leavesInactive(p capabilities.Plan) bool {
	switch p.Command {
	case capabilities.Clean, capabilities.CleanSpot, capabilities.Move:
		return true
	case capabilities.Pause:
		return false // the paused activity remains, and a person may resume it
	}
	return turnsOff(p)
}

// markInactive records that a device is inactive, unless its safe level is on. The caller holds
// Policy.mu.
func (d *device) markInactive() {
	if safeLevel(d.driver) != "on" {
		d.mayBeActive = false
	}
}
