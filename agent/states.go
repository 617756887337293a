package agent

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

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
		_, switches := d.Driver.(drivers.Switch)
		_, cleans := d.Driver.(drivers.Cleaner)
		if switches || cleans {
			list = append(list, mess.DeviceState{Device: name, State: cmp.Or(a.doing(name), a.stateOf(ctx, d), mess.StateUnknown)})
		}
	}
	return list
}

// doings are the states of what moves, by what it is told to do.
var doings = map[capabilities.Command]string{capabilities.Clean: "cleaning", capabilities.Dock: "returning"}

// doing is what a device does just now, "" if that is no state.
func (a *Agent) doing(device string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return doings[a.acting[device]]
}

// acts notes what a device does until the function that it returns is called.
func (a *Agent) acts(p capabilities.Plan) (done func()) {
	set := func(c capabilities.Command) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if c == "" {
			delete(a.acting, p.Device)
		} else {
			a.acting[p.Device] = c
		}
		if a.watched && p.Actuates() {
			ring(a.glance)
		}
	}
	set(p.Command)
	return func() { set("") }
}

// glanceTime is how long a device may take to say how it is.
const glanceTime = 5 * time.Second

// stateOf reads how a device is; "" if it does not tell.
func (a *Agent) stateOf(ctx context.Context, d *device) string {
	on, reads := d.Driver.(drivers.SwitchReader)
	dock, docks := d.Driver.(drivers.DockReader)
	if !reads && !docks || !d.running(a.gate) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, glanceTime)
	defer cancel()
	pass, err := a.gate.Enter(ctx, capabilities.Plan{
		Device: d.Name, Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "see how it is",
	}, nil)
	if err != nil {
		return ""
	}
	defer pass.Leave()
	if reads {
		if is, err := pass.On(ctx, on); err == nil {
			return onOff(is)
		}
		return ""
	}
	if is, err := pass.Docked(ctx, dock); err == nil && is {
		return "docked"
	}
	return ""
}
