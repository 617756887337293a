// Package guard keeps outputs from staying on when the agent is killed, frozen
// or hangs: a process of its own that is told what is going to be switched on,
// for how long, and how it is switched off.
//
// Guard is that process, Client the agent's side of it. Neither knows of
// threads, plans or the network, and a guard carries out two orders only: off,
// when a device's time is over, and safe, when its agent is gone.
package guard

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
	// silence is how long an agent may say nothing before it counts as gone: twenty
	// beats, which a board that swaps may miss, and nobody waits longer for.
	silence = 5 * time.Second
	// grace is how much later than the agent a guard switches off: the agent's own
	// way comes first. It leaves three times as much until the device must be off,
	// 100 ms after its time (I10).
	grace = 25 * time.Millisecond
	// again is how often it is made sure that a device stays off whose agent has
	// not said so: what the agent was about to do may come yet.
	again = 100 * time.Millisecond
	// maxRetry is the longest wait between two tries of an order that fails.
	maxRetry = 5 * time.Second
	// glance is how long the guard waits at most until it looks whether the machine was
	// suspended, while something is on.
	glance = 500 * time.Millisecond
	// patience is how long a device that cannot be reached, and was not announced to be
	// on, is tried once its agent is gone: it may not be there at all.
	patience = time.Minute
)

// Obey carries out an order for a kind of device, and tells whether that has
// changed anything (drivers.Kind).
type Obey func(kind string, order []byte) (changed bool, err error)

// Guard watches over the devices of one agent.
type Guard struct {
	obey Obey
	log  *slog.Logger

	things  map[string]*thing
	heard   time.Time // when the agent last said something
	gone    time.Time // since when it will not say anything more; zero: it may
	left    bool      // and another guard goes on
	heir    bool      // Adopt is still to be called
	done    chan outcome
	slept   *suspend.Watch
	yield   chan struct{} // another guard is there
	adopted chan []Left   // what it gets from one before
}

// thing is a device that is watched.
type thing struct {
	Device
	epoch uint64
	known bool          // the agent has switched it, or said that it is off
	on    bool          // it may be: announced, and not said to be off
	due   time.Time     // when it has to be off; zero: never
	safe  bool          // it was taken there since the agent is gone
	busy  bool          // an order is being carried out
	next  time.Time     // when the next order may be tried
	wait  time.Duration // after the last one that failed
}

// outcome is what has come of an order.
type outcome struct {
	*thing
	safe    bool // it was that order, not off
	gone    bool // the agent was, when it began
	changed bool
	err     error
}

// New makes a guard that has heard nothing yet.
func New(obey Obey, log *slog.Logger) *Guard {
	return &Guard{slept: suspend.NewWatch(nil), obey: obey, log: log, things: map[string]*thing{}, done: make(chan outcome), yield: make(chan struct{}, 1), adopted: make(chan []Left)}
}

// Run listens to the agent on in and answers on out. It returns when the agent
// is gone and everything is safe, or left to another guard; an error says that it could not be
// understood, which counts as gone.
func (g *Guard) Run(in io.Reader, out io.Writer) error {
	words, answers := make(chan Word), make(chan Answer, 64)
	var group errgroup.Group
	group.Go(func() error {
		defer close(words)
		return lines(in, func(line []byte) error {
			w, err := parseWord(line)
			if err == nil {
				words <- w
			}
			return err
		})
	})
	group.Go(func() error { write(out, answers); return nil })
	for !g.finished() {
		g.wake()
		g.act(&group)
		t := time.NewTimer(g.sleep())
		select {
		case w, ok := <-words:
			if !ok {
				words = nil
				g.leave()
				break
			}
			select {
			case answers <- Answer{Seq: w.Seq, No: g.hear(w)}:
			default: // nobody reads them, and waiting is not what a guard is for
			}
		case o := <-g.done:
			g.settle(o)
		case list := <-g.adopted:
			g.adopt(list)
		case <-g.yield:
			g.left = g.isGone()
		case <-t.C:
		}
		t.Stop()
	}
	close(answers)
	return group.Wait()
}

// hear takes what the agent says, and answers why not; "" is yes.
func (g *Guard) hear(w Word) (no string) {
	if g.silent(time.Now()) {
		g.log.Warn("the agent is back")
		g.unsafe()
	}
	g.heard = time.Now()
	for _, d := range w.Devices {
		if g.things[d.Name] == nil {
			g.things[d.Name] = &thing{}
		}
		g.things[d.Name].Device = d
	}
	for _, o := range w.On {
		if why := g.announced(o); why != "" {
			no = why
		}
	}
	for _, o := range w.Off {
		if t := g.things[o.Device]; t != nil && o.Epoch >= t.epoch {
			t.on, t.due, t.known = false, time.Time{}, true
		}
	}
	return no
}

// announced notes that a device is going to be on.
func (g *Guard) announced(o On) (no string) {
	t := g.things[o.Device]
	switch {
	case t == nil:
		return o.Device + ": is not watched"
	case o.Epoch < t.epoch:
		return o.Device + ": its epoch has passed"
	case t.busy:
		return o.Device + ": is being switched off just now"
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

// leave notes that the agent is gone.
func (g *Guard) leave() {
	g.gone = time.Now()
	g.unsafe()
}

func (g *Guard) isGone() bool { return !g.gone.IsZero() }

// unsafe forgets what was safe: the agent may have changed it since.
func (g *Guard) unsafe() {
	for _, t := range g.things {
		t.safe, t.next, t.wait = false, time.Time{}, 0
	}
}

// silent reports whether the agent is frozen.
func (g *Guard) silent(now time.Time) bool {
	return !g.heard.IsZero() && now.Sub(g.heard) > silence
}

// finished reports whether there is nothing left to watch over.
func (g *Guard) finished() bool {
	for _, t := range g.things {
		if t.busy || !g.left && (t.Safe != nil && !t.safe || t.on && !t.due.IsZero()) {
			return false
		}
	}
	return g.isGone() && !g.heir
}

// wanted is the order that a device needs now, nil for none.
func (g *Guard) wanted(t *thing, now time.Time) (order []byte, safe bool) {
	switch {
	case (g.isGone() || g.silent(now)) && t.Safe != nil && !t.safe:
		return t.Safe, true
	case t.on && !t.due.IsZero() && !now.Before(g.dueAt(t)):
		return t.Off, false
	}
	return nil, false
}

// dueAt is when a device is switched off: a little after its time, where there
// is an agent that may do it.
func (g *Guard) dueAt(t *thing) time.Time {
	if g.isGone() || t.due.Sub(g.heard) > 2*Beat {
		return t.due
	}
	return t.due.Add(grace)
}

// act has every order carried out that is wanted, each by itself: one that
// hangs keeps no other waiting.
func (g *Guard) act(group *errgroup.Group) {
	now := time.Now()
	for _, name := range slices.Sorted(maps.Keys(g.things)) {
		t := g.things[name]
		order, safe := g.wanted(t, now)
		if order == nil || t.busy || now.Before(t.next) {
			continue
		}
		t.busy = true
		o := outcome{thing: t, safe: safe, gone: g.isGone()}
		group.Go(func() error {
			o.changed, o.err = g.obey(t.Kind, order)
			g.done <- o
			return nil
		})
	}
}

// settle notes what has come of an order.
func (g *Guard) settle(o outcome) {
	t, now := o.thing, time.Now()
	t.busy = false
	why := "its time is over"
	if o.safe {
		why = "its agent is gone or frozen"
	}
	switch {
	case o.err != nil:
		t.wait = min(maxRetry, max(again, 2*t.wait))
		t.next = now.Add(t.wait)
		g.log.Error("cannot make it safe, though "+why, "device", t.Name, "err", o.err)
		if t.safe = o.gone && !t.on && now.Sub(g.gone) > patience; t.safe {
			g.log.Error("left as it is: nobody has said that it was on", "device", t.Name)
		}
		return
	case o.changed:
		g.log.Warn("made safe, "+why, "device", t.Name)
	}
	t.wait = 0
	switch {
	case o.gone: // for good: nobody undoes it
		t.safe = o.safe
		t.on = t.on && !o.safe && t.Safe != nil
	case !g.isGone():
		t.safe, t.next = o.safe && g.silent(now), now.Add(again)
	}
}

// sleep is how long there is nothing to do.
func (g *Guard) sleep() time.Duration {
	now := time.Now()
	at := now.Add(time.Hour)
	if !g.isGone() && !g.heard.IsZero() && !g.silent(now) {
		at = g.heard.Add(silence + time.Nanosecond)
	}
	for _, t := range g.things {
		order, _ := g.wanted(t, now)
		switch {
		case t.busy:
		case order != nil && t.next.Before(at):
			at = t.next
		case order == nil && t.on && !t.due.IsZero() && g.dueAt(t).Before(at):
			at = g.dueAt(t)
		}
		if t.on && !t.due.IsZero() && at.Sub(now) > glance { // a timer stands still while the machine sleeps
			at = now.Add(glance)
		}
	}
	return max(0, at.Sub(now))
}
