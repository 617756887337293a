// Package watchdog implements the watchdog: a separate process that switches outputs off if the
// agent dies, freezes or hangs. The agent reports in advance which output it will switch on,
// for how long, and how to switch it off.
//
// Watchdog is the watchdog process, Client the agent's side of it. Neither knows threads, plans or
// the network. A watchdog carries out two orders only: off, when a device's time is over, and
// safe, when its agent is gone.
package watchdog

import (
	"io"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/suspend"
)

const (
	// frozenAfter is how long an agent may send nothing before it counts as frozen: twenty beats. A
	// machine that swaps may miss some of them.
	frozenAfter = 5 * time.Second
	// grace is how much later than the agent a watchdog switches off, so that the agent acts
	// first. It leaves 75 ms until the device must be off, 100 ms after its time (I10).
	grace = 25 * time.Millisecond
	// repeatInterval is the interval at which the watchdog repeats an order while the agent has not
	// reported the device off: a late act of the agent may follow.
	repeatInterval = 100 * time.Millisecond
	// maxRetry is the longest delay between two tries of a failing order.
	maxRetry = 5 * time.Second
	// suspendCheckInterval is the interval at which the watchdog checks for a suspend while a device is on.
	suspendCheckInterval = 500 * time.Millisecond
	// unreachableTimeout limits the tries for an unreachable device after the agent is gone, unless the
	// agent had announced it as on: such a device may not exist.
	unreachableTimeout = time.Minute
)

// Execute carries out an order for a kind of device (drivers.Kind) and reports whether this
// changed anything.
type Execute func(kind string, order []byte) (changed bool, err error)

// Watchdog is the watchdog of one agent.
type Watchdog struct {
	execute Execute
	log     *slog.Logger

	devices         map[string]*deviceState
	lastMessage     time.Time // time of the last message of the agent
	gone            time.Time // time at which the messages ended; zero: they have not
	yielded         bool      // another watchdog takes over
	expectsHandover bool      // Adopt has not run yet
	done            chan orderResult
	suspendWatch    *suspend.Watch
	yield           chan struct{}          // signals that another watchdog runs
	adopted         chan []RemainingDevice // the devices of an earlier watchdog
}

// deviceState is the state of one device.
type deviceState struct {
	Device
	epoch uint64
	known bool          // the agent has switched it, or reported it off
	on    bool          // it may be on: announced, and not reported off
	due   time.Time     // when it must be off; zero: never
	safe  bool          // in its safe state since the agent is gone
	busy  bool          // an order is running
	next  time.Time     // earliest time of the next order
	wait  time.Duration // delay after the last failed order
}

// orderResult is the result of an order.
type orderResult struct {
	*deviceState
	safe    bool // the order was Safe, not Off
	gone    bool // the agent was gone when the order began
	changed bool
	err     error
}

// New returns a watchdog without devices.
func New(execute Execute, log *slog.Logger) *Watchdog {
	return &Watchdog{suspendWatch: suspend.NewWatch(nil), execute: execute, log: log, devices: map[string]*deviceState{}, done: make(chan orderResult), yield: make(chan struct{}, 1), adopted: make(chan []RemainingDevice)}
}

// Run reads the agent's messages from in and writes answers to out. It returns when the agent
// is gone and all devices are safe, or when another watchdog takes over. The error reports a
// malformed message, which counts as the end of the agent.
func (g *Watchdog) Run(in io.Reader, out io.Writer) error {
	messages, answers := make(chan Message), make(chan Answer, 64)
	var group errgroup.Group
	group.Go(func() error {
		defer close(messages)
		return lines(in, func(line []byte) error {
			w, err := parseMessage(line)
			if err == nil {
				messages <- w
			}
			return err
		})
	})
	group.Go(func() error { write(out, answers); return nil })
	for !g.finished() {
		g.applySuspend()
		g.startOrders(&group)
		t := time.NewTimer(g.untilNextEvent())
		select {
		case w, ok := <-messages:
			if !ok {
				messages = nil
				g.agentGone()
				break
			}
			select {
			case answers <- Answer{Seq: w.Seq, Reason: g.apply(w)}:
			default: // the agent reads no answers, and the watchdog must not wait
			}
		case o := <-g.done:
			g.recordResult(o)
		case list := <-g.adopted:
			g.adopt(list)
		case <-g.yield:
			g.yielded = g.isGone()
		case <-t.C:
		}
		t.Stop()
	}
	close(answers)
	return group.Wait()
}

// apply applies a message of the agent. It returns a reason if it rejects the message, else "".
func (g *Watchdog) apply(w Message) (no string) {
	if g.isFrozen(time.Now()) {
		g.log.Warn("the agent sends messages again")
		g.markUnsafe()
	}
	g.lastMessage = time.Now()
	for _, d := range w.Devices {
		if g.devices[d.Name] == nil {
			g.devices[d.Name] = &deviceState{}
		}
		g.devices[d.Name].Device = d
	}
	for _, o := range w.On {
		if reason := g.applyOn(o); reason != "" {
			no = reason
		}
	}
	for _, o := range w.Off {
		if t := g.devices[o.Device]; t != nil && o.Epoch >= t.epoch {
			t.on, t.due, t.known = false, time.Time{}, true
		}
	}
	return no
}

// applyOn records that a device will be on. It returns a reason if it rejects that, else "".
func (g *Watchdog) applyOn(o OnMessage) (no string) {
	t := g.devices[o.Device]
	switch {
	case t == nil:
		return o.Device + ": the watchdog does not cover it"
	case o.Epoch < t.epoch:
		return o.Device + ": a newer message has replaced this one"
	case t.busy:
		return o.Device + ": the watchdog is switching it off now"
	}
	before := t.due
	t.epoch, t.on, t.due, t.next, t.wait = o.Epoch, true, time.Time{}, time.Time{}, 0
	if o.Left > 0 {
		t.due = time.Now().Add(o.Left)
	}
	if o.Maybe && !t.known && !before.IsZero() && (t.due.IsZero() || before.Before(t.due)) {
		t.due = before
	}
	t.known = t.known || !o.Maybe
	return ""
}

// agentGone records that the agent is gone.
func (g *Watchdog) agentGone() {
	g.gone = time.Now()
	g.markUnsafe()
}

func (g *Watchdog) isGone() bool { return !g.gone.IsZero() }

// markUnsafe marks all devices as not safe, because the agent may have changed them.
func (g *Watchdog) markUnsafe() {
	for _, t := range g.devices {
		t.safe, t.next, t.wait = false, time.Time{}, 0
	}
}

// isFrozen reports whether the agent is frozen.
func (g *Watchdog) isFrozen(now time.Time) bool {
	return !g.lastMessage.IsZero() && now.Sub(g.lastMessage) > frozenAfter
}

// finished reports whether the watchdog has nothing left to do.
func (g *Watchdog) finished() bool {
	for _, t := range g.devices {
		if t.busy || !g.yielded && (t.Safe != nil && !t.safe || t.on && !t.due.IsZero()) {
			return false
		}
	}
	return g.isGone() && !g.expectsHandover
}

// dueOrder returns the order that a device needs now, nil for none.
func (g *Watchdog) dueOrder(t *deviceState, now time.Time) (order []byte, safe bool) {
	switch {
	case (g.isGone() || g.isFrozen(now)) && t.Safe != nil && !t.safe:
		return t.Safe, true
	case t.on && !t.due.IsZero() && !now.Before(g.dueAt(t)):
		return t.Off, false
	}
	return nil, false
}

// dueAt returns when the watchdog switches a device off: a little after its time if the agent
// may still do it.
func (g *Watchdog) dueAt(t *deviceState) time.Time {
	if g.isGone() || t.due.Sub(g.lastMessage) > 2*HeartbeatInterval {
		return t.due
	}
	return t.due.Add(grace)
}

// startOrders starts all due orders, each in its own goroutine, so that a hanging one delays no other.
func (g *Watchdog) startOrders(group *errgroup.Group) {
	now := time.Now()
	for _, name := range slices.Sorted(maps.Keys(g.devices)) {
		t := g.devices[name]
		order, safe := g.dueOrder(t, now)
		if order == nil || t.busy || now.Before(t.next) {
			continue
		}
		t.busy = true
		o := orderResult{deviceState: t, safe: safe, gone: g.isGone()}
		group.Go(func() error {
			o.changed, o.err = g.execute(t.Kind, order)
			g.done <- o
			return nil
		})
	}
}

// recordResult records the result of an order.
func (g *Watchdog) recordResult(o orderResult) {
	t, now := o.deviceState, time.Now()
	t.busy = false
	reason := "its time is over"
	if o.safe {
		reason = "the agent has ended or is frozen"
	}
	switch {
	case o.err != nil:
		t.wait = min(maxRetry, max(repeatInterval, 2*t.wait))
		t.next = now.Add(t.wait)
		g.log.Error("cannot make the device safe; "+reason, "device", t.Name, "err", o.err)
		if t.safe = o.gone && !t.on && now.Sub(g.gone) > unreachableTimeout; t.safe {
			g.log.Error("left the device unchanged: the agent never reported it as on", "device", t.Name)
		}
		return
	case o.changed:
		g.log.Warn("made the device safe; "+reason, "device", t.Name)
	}
	t.wait = 0
	switch {
	case o.gone: // final: the agent cannot undo it
		t.safe = o.safe
		t.on = t.on && !o.safe && t.Safe != nil
	case !g.isGone():
		t.safe, t.next = o.safe && g.isFrozen(now), now.Add(repeatInterval)
	}
}

// untilNextEvent returns the time until the next event.
func (g *Watchdog) untilNextEvent() time.Duration {
	now := time.Now()
	at := now.Add(time.Hour)
	if !g.isGone() && !g.lastMessage.IsZero() && !g.isFrozen(now) {
		at = g.lastMessage.Add(frozenAfter + time.Nanosecond)
	}
	for _, t := range g.devices {
		order, _ := g.dueOrder(t, now)
		switch {
		case t.busy:
		case order != nil && t.next.Before(at):
			at = t.next
		case order == nil && t.on && !t.due.IsZero() && g.dueAt(t).Before(at):
			at = g.dueAt(t)
		}
		if t.on && !t.due.IsZero() && at.Sub(now) > suspendCheckInterval { // a timer stands still while the machine sleeps
			at = now.Add(suspendCheckInterval)
		}
	}
	return max(0, at.Sub(now))
}
