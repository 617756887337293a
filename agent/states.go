package agent

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// statesAgain is how often the exchange is told how the devices are though
// nothing has changed: it may have forgotten.
const statesAgain = time.Minute

// watchStates tells the exchange how the devices are until ctx ends, where it has
// asked for that: after each task, and as often as there is a heartbeat.
func (a *Agent) watchStates(ctx context.Context) error {
	var told []mess.DeviceState
	var at time.Time
	for a.untilGlance(ctx) {
		if !a.reports() {
			continue
		}
		states := a.states(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if slices.EqualFunc(states, told, sameState) && a.now().Sub(at) < statesAgain {
			continue
		}
		_, err := a.send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: a.cfg.ID, States: states}}}})
		if err != nil {
			a.log.Debug("how the devices are is not told", "err", err)
			continue
		}
		told, at = states, a.now()
	}
	return nil
}

func sameState(a, b mess.DeviceState) bool { return a.Device == b.Device && a.State == b.State }

// untilGlance waits until the devices are to be looked at; false when ctx has
// ended. Nobody looks before the exchange has asked for it.
func (a *Agent) untilGlance(ctx context.Context) bool {
	var tick <-chan time.Time
	if a.reports() {
		t := time.NewTimer(a.cfg.Heartbeat)
		defer t.Stop()
		tick = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-a.glance:
	case <-tick:
	}
	return ctx.Err() == nil
}

// wants notes that the exchange wants to know how the devices are.
func (a *Agent) wants(ack mess.Ack) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is := ack.States != nil && *ack.States; is && !a.watched {
		a.watched = true
		ring(a.glance)
	}
}

func (a *Agent) reports() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watched
}

// states reads how the devices are. What a device does not tell is unknown, also
// where it is known what it was told last.
func (a *Agent) states(ctx context.Context) []mess.DeviceState {
	list := []mess.DeviceState{}
	for _, name := range slices.Sorted(maps.Keys(a.devices)) {
		d := a.devices[name]
		if hasState(d.Driver) {
			list = append(list, mess.DeviceState{Device: name, State: cmp.Or(a.doing(ctx, d), a.stateOf(ctx, d), mess.StateUnknown)})
		}
	}
	return list
}

// hasState reports whether a device is one way or another, which somebody changes.
func hasState(d drivers.Device) bool {
	switch d.(type) {
	case drivers.Switch, drivers.Cleaner, drivers.Opener, drivers.Locker:
		return true
	}
	return false
}

// doings are the states of what moves, by what it is told to do.
var doings = map[capabilities.Command]string{
	capabilities.Clean: "cleaning", capabilities.CleanSpot: "cleaning", capabilities.Dock: "returning",
	capabilities.Open: "opening", capabilities.Shut: "closing", capabilities.OpenTo: "opening", capabilities.Lock: "locking", capabilities.Unlock: "unlocking",
}

// doing is what a device does just now, "" if that is no state. One that is
// paused, and can tell, says itself whether it stands.
func (a *Agent) doing(ctx context.Context, d *device) string {
	a.mu.Lock()
	is, paused := doings[a.acting[d.Name]], a.paused[d.Name]
	a.mu.Unlock()
	if is == "" || !paused {
		return is
	}
	if rest, reads := d.Driver.(drivers.RestReader); reads {
		still, known := glanced(ctx, a, d, func(ctx context.Context, p *gate.Pass) (bool, error) { return p.AtRest(ctx, rest) })
		if known && !still {
			return is
		}
	}
	return "paused"
}

// acts notes what a device does until the function that it returns is called,
// with how that has ended. A pause is of what it was at, and that goes on.
func (a *Agent) acts(p capabilities.Plan) (done func(error)) {
	_, lasts := doings[p.Command]
	set := func(change func()) {
		a.mu.Lock()
		defer a.mu.Unlock()
		change()
		if a.watched && p.Actuates() {
			ring(a.glance)
		}
	}
	set(func() {
		if lasts {
			a.acting[p.Device] = p.Command
			delete(a.paused, p.Device)
		}
	})
	return func(err error) {
		set(func() {
			switch {
			case lasts && a.acting[p.Device] == p.Command:
				delete(a.acting, p.Device)
				delete(a.paused, p.Device)
			case p.Command == capabilities.Pause && err == nil && a.acting[p.Device] != "":
				a.paused[p.Device] = true
			case p.Command == capabilities.Resume && err == nil:
				delete(a.paused, p.Device)
			}
		})
	}
}

// glanceTime is how long a device may take to say how it is.
const glanceTime = 5 * time.Second

// stateOf reads how a device is; "" if it does not tell.
func (a *Agent) stateOf(ctx context.Context, d *device) string {
	type pass = *gate.Pass
	switch r := d.Driver.(type) {
	case drivers.SwitchReader:
		return wordFor(onOff)(glanced(ctx, a, d, func(ctx context.Context, p pass) (bool, error) { return p.On(ctx, r) }))
	case drivers.OpeningReader:
		open := func(percent float64) string { return map[bool]string{true: "open", false: "closed"}[percent > 0] }
		return wordFor(open)(glanced(ctx, a, d, func(ctx context.Context, p pass) (float64, error) { return p.Opening(ctx, r) }))
	case drivers.LockReader:
		locked := func(is bool) string { return map[bool]string{true: "locked", false: "unlocked"}[is] }
		return wordFor(locked)(glanced(ctx, a, d, func(ctx context.Context, p pass) (bool, error) { return p.Locked(ctx, r) }))
	case drivers.DockReader:
		if in, known := glanced(ctx, a, d, func(ctx context.Context, p pass) (bool, error) { return p.Docked(ctx, r) }); in || !known {
			return map[bool]string{true: "docked"}[in]
		}
		if rest, reads := r.(drivers.RestReader); reads {
			idle := func(still bool) string { return map[bool]string{true: "idle"}[still] }
			return wordFor(idle)(glanced(ctx, a, d, func(ctx context.Context, p pass) (bool, error) { return p.AtRest(ctx, rest) }))
		}
	}
	return ""
}

// wordFor is a state in words, "" where it is not known.
func wordFor[T any](word func(T) string) func(T, bool) string {
	return func(v T, known bool) string {
		if !known {
			return ""
		}
		return word(v)
	}
}

// glanced looks at a device for a moment; known is false if it does not tell.
func glanced[T any](ctx context.Context, a *Agent, d *device, look func(context.Context, *gate.Pass) (T, error)) (v T, known bool) {
	if !d.running(a.gate) {
		return v, false
	}
	ctx, cancel := context.WithTimeout(ctx, glanceTime)
	defer cancel()
	pass, err := a.gate.Enter(ctx, capabilities.Plan{
		Device: d.Name, Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "see how it is",
	}, nil)
	if err != nil {
		return v, false
	}
	defer pass.Leave()
	v, err = look(ctx, pass)
	return v, err == nil
}
