package agent

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/poll"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

const (
	statesAgain = time.Minute            // interval for repeating unchanged states: the exchange may have lost them
	statesGap   = 500 * time.Millisecond // shortest interval of two reports
	statesOld   = 2 * time.Minute        // age from which a state is unknown, if longer than three heartbeats
	readers     = 16                     // simultaneous readings
	hostReads   = 2                      // simultaneous readings per host
)

// board holds the last reported state of each device.
type board struct {
	polls *poll.Scheduler

	mu   sync.Mutex
	seen map[string]*stateSeen // by device; the keys never change
	left int                   // number of devices without a reading
}

// stateSeen is the state of one device.
type stateSeen struct {
	task  *poll.Task
	state string
	at    time.Time // zero: never
}

// watchStates reports the states of the devices until ctx ends, if the exchange wants them. It
// reads each device once per heartbeat and after each task.
func (a *Agent) watchStates(ctx context.Context) error {
	for !a.reports() {
		select {
		case <-ctx.Done():
			return nil
		case <-a.glance:
		}
	}
	b := a.newBoard()
	a.mu.Lock()
	a.board = b
	a.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.polls.Run(ctx) })
	g.Go(func() error { a.tellStates(ctx, b); return nil })
	return g.Wait()
}

func (a *Agent) newBoard() *board {
	b := &board{polls: poll.New(readers), seen: map[string]*stateSeen{}}
	for name, d := range a.devices {
		if hasState(d.Driver) {
			b.seen[name] = &stateSeen{state: mess.StateUnknown}
		}
	}
	b.left = len(b.seen)
	for name, s := range b.seen {
		d := a.devices[name]
		host, atOnce := hostOf(d)
		s.task = b.polls.Add(poll.Job{Host: host, AtOnce: atOnce, Every: a.cfg.Heartbeat, Do: func(ctx context.Context) {
			state := cmp.Or(a.doing(ctx, d), a.stateOf(ctx, d), mess.StateUnknown)
			if ctx.Err() == nil && b.set(name, state, a.now()) {
				wait.Notify(a.glance)
			}
		}})
	}
	return b
}

// hostOf returns the host of a device, and the limit of simultaneous readings on it.
func hostOf(d *device) (host string, atOnce int) {
	c := d.Driver.Connection()
	if c == nil || c.Name() == "" {
		return d.Name, 1
	}
	if h, ok := c.(interface{ Hub() bool }); ok && h.Hub() {
		return c.Name(), readers / 2
	}
	return c.Name(), hostReads
}

// set stores the state of a device and reports whether there is a change to report.
func (b *board) set(name, state string, at time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.seen[name]
	fresh := s.at.IsZero()
	if fresh {
		b.left--
	}
	changed := s.state != state
	s.state, s.at = state, at
	return changed || fresh && b.left == 0
}

// soon reads a device at once, because its state may have changed.
func (b *board) soon(name string) {
	if b == nil {
		return
	}
	if s := b.seen[name]; s != nil {
		b.polls.Soon(s.task)
	}
}

// lookAgain reads all devices as soon as possible.
func (a *Agent) lookAgain() {
	a.mu.Lock()
	b := a.board
	a.mu.Unlock()
	if b == nil {
		return
	}
	for name := range b.seen {
		b.soon(name)
	}
}

// tellStates sends the states after changes, and at intervals.
func (a *Agent) tellStates(ctx context.Context, b *board) {
	var told []mess.DeviceState
	var at time.Time
	began := a.now()
	for pauses(ctx, a.cfg.Heartbeat, a.glance) {
		states, whole := b.states(a.now(), max(statesOld, 3*a.cfg.Heartbeat))
		now := a.now()
		if !whole && now.Sub(began) < a.cfg.Heartbeat || slices.EqualFunc(states, told, sameState) && now.Sub(at) < statesAgain {
			continue
		}
		_, err := a.send(ctx, mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: a.cfg.ID, States: states}}}})
		if err != nil {
			a.log.Debug("how the devices are is not told", "err", err)
			continue
		}
		told, at = states, now
		if !pauses(ctx, statesGap, nil) {
			return
		}
	}
}

// pauses waits for a time, or for a signal; it returns false after ctx has ended.
func pauses(ctx context.Context, d time.Duration, rung <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-rung:
	case <-t.C:
	}
	return ctx.Err() == nil
}

// states lists the states of the devices. A state that the device does not report is unknown,
// even after a known command. whole reports whether every device has a reading.
func (b *board) states(now time.Time, old time.Duration) (list []mess.DeviceState, whole bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list = make([]mess.DeviceState, 0, len(b.seen))
	for _, name := range slices.Sorted(maps.Keys(b.seen)) {
		s := b.seen[name]
		state := s.state
		if now.Sub(s.at) > old {
			state = mess.StateUnknown
		}
		list = append(list, mess.DeviceState{Device: name, State: state})
	}
	return list, b.left == 0
}

func sameState(a, b mess.DeviceState) bool { return a.Device == b.Device && a.State == b.State }

// wants records whether the exchange wants the states of the devices.
func (a *Agent) wants(ack mess.Ack) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if is := ack.States != nil && *ack.States; is && !a.watched {
		a.watched = true
		wait.Notify(a.glance)
	}
}

func (a *Agent) reports() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watched
}

// hasState reports whether a device has a state that a command changes.
func hasState(d drivers.Device) bool {
	switch d.(type) {
	case drivers.Switch, drivers.Cleaner, drivers.Opener, drivers.Locker:
		return true
	}
	return false
}

// doings names the states of moving devices by their command.
var doings = map[capabilities.Command]string{
	capabilities.Clean: "cleaning", capabilities.CleanSpot: "cleaning", capabilities.Dock: "returning",
	capabilities.Open: "opening", capabilities.Shut: "closing", capabilities.OpenTo: "opening", capabilities.Lock: "locking", capabilities.Unlock: "unlocking",
}

// doing returns the current activity of a device, "" if that is no state. A paused device that
// can report it determines whether it stands still.
func (a *Agent) doing(ctx context.Context, d *device) string {
	a.mu.Lock()
	is, paused := doings[a.acting[d.Name]], a.paused[d.Name]
	a.mu.Unlock()
	if is == "" || !paused {
		return is
	}
	if rest, reads := d.Driver.(drivers.RestReader); reads {
		still, known := glanced(ctx, a, d, func(ctx context.Context, p *policy.Pass) (bool, error) { return p.AtRest(ctx, rest) })
		if known && !still {
			return is
		}
	}
	return "paused"
}

// acts records the command of a device until the caller calls done with the result. A pause
// keeps the paused activity.
func (a *Agent) acts(p capabilities.Plan) (done func(error)) {
	_, lasts := doings[p.Command]
	set := func(change func()) {
		a.mu.Lock()
		defer a.mu.Unlock()
		change()
		if p.Actuates() {
			a.board.soon(p.Device)
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

// glanceTime limits the reading of one state.
const glanceTime = 5 * time.Second

// stateOf reads the state of a device; "" if it does not report one.
func (a *Agent) stateOf(ctx context.Context, d *device) string {
	type pass = *policy.Pass
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

// wordFor adapts the words for a state to an unknown state, for which it returns "".
func wordFor[T any](word func(T) string) func(T, bool) string {
	return func(v T, known bool) string {
		if !known {
			return ""
		}
		return word(v)
	}
}

// glanced reads one state of a device; known is false if the device does not report it.
func glanced[T any](ctx context.Context, a *Agent, d *device, look func(context.Context, *policy.Pass) (T, error)) (v T, known bool) {
	if !d.running(a.gate) {
		return v, false
	}
	ctx, cancel := context.WithTimeout(ctx, glanceTime)
	defer cancel()
	pass, err := a.gate.Admit(ctx, policy.Order{Plan: capabilities.Plan{
		Device: d.Name, Command: capabilities.ReadState, Risk: capabilities.RiskObserve, Effect: capabilities.Query, Summary: "see how it is",
	}}, nil)
	if err != nil {
		return v, false
	}
	defer pass.End()
	v, err = look(ctx, pass)
	return v, err == nil
}
