package mqtt

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
	"github.com/messkit/messkit/mess/topic"
)

// asker is a requester that has spoken here, and how far it has been told what
// became of its requests.
type asker struct {
	at    time.Time // of the last message that the broker has for it
	spoke time.Time // it was last heard of
	stale bool      // at is not kept yet
	runs  bool      // in this session
	after string    // the event to go on after
	told  []told    // of the threads in which it was told something last, the last at the end
}

// forgetAfter is how long a requester is told nothing, and says nothing, until it
// is forgotten.
const forgetAfter = 7 * 24 * time.Hour

// maxAskers bounds how many are remembered.
const maxAskers = 10_000

func (d *Door) rememberAsker(name string, doc []byte) error {
	id, ok := strings.CutPrefix(name, keptAsker)
	if !ok || !topic.ValidID(id) {
		return nil
	}
	a, err := parseAsker(doc)
	if err == nil {
		d.askers[id] = a
	}
	return err
}

// asked notes that a requester has spoken about threads; from then on it is told
// what becomes of them, also of the one that it has just made.
func (d *Door) asked(id string, begun time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.askers[id]; a != nil {
		a.spoke = begun
		return
	}
	if len(d.askers) >= maxAskers {
		d.counts.dropped.Add(1)
		return
	}
	d.askers[id] = &asker{at: begun, spoke: begun, stale: true}
	d.attend(id)
}

// attend begins to tell a requester. d.mu is held.
func (d *Door) attend(id string) {
	a := d.askers[id]
	if a.runs || d.live == nil {
		return
	}
	a.runs = true
	d.start(func(ctx context.Context, to publisher) {
		d.tellAsker(ctx, to, id, a)
		d.mu.Lock()
		defer d.mu.Unlock()
		a.runs = false
	})
}

// nowhere is an event that never was: who follows after it is told first that
// what came before is not known, and so looks.
const nowhere = "now"

// tellAsker tells a requester what others say in its threads until ctx ends.
func (d *Door) tellAsker(ctx context.Context, to publisher, id string, a *asker) {
	who := exchange.Actor{ID: id, Roles: exchange.Requester}
	for ctx.Err() == nil {
		if a.after == "" {
			a.after = nowhere
		}
		err := d.x.Follow(ctx, who, a.after, func(e exchange.Event) error {
			var err error
			switch {
			case e.Kind == exchange.EventReset:
				err = d.catchUp(ctx, to, who, a)
			case e.Kind == exchange.EventMessage && e.Thread.Requestor == id:
				err = d.tellOne(ctx, to, who, a, e.Thread, e.Message)
			}
			if err == nil && e.ID != "" {
				a.after = e.ID
			}
			return err
		})
		if err == nil || errors.Is(err, exchange.ErrSlow) {
			continue
		}
		if ctx.Err() == nil {
			d.log.Debug("events wait", "requester", id, "err", err)
		}
		wait.For(ctx, againAfter)
	}
}

// tellOne tells a requester one message of somebody else in its thread, unless it
// has been told. What is told carries how the thread stands.
func (d *Door) tellOne(ctx context.Context, to publisher, who exchange.Actor, a *asker, e exchange.Envelope, m mess.Message) error {
	serial := messeaf.Serial(m.Ref)
	if m.From == who.ID || serial > 0 && serial <= a.toldOf(e.Ref) {
		return nil
	}
	m.Re = mess.Refs{e.Ref}
	if err := d.deliver(ctx, to, d.root.Agent(who.ID, topic.In), m); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, err := m.Received.Time(); err == nil && at.After(a.at) {
		a.at, a.stale = at, true
	}
	if serial > 0 {
		a.remember(e.Ref, serial)
		a.stale = true
	}
	return nil
}

// keepAskers keeps how far requesters have been told, and forgets those of whom
// nothing has been heard for long.
func (d *Door) keepAskers(ctx context.Context) {
	docs := map[string][]byte{}
	d.mu.Lock()
	for id, a := range d.askers {
		switch {
		case a.stale:
			a.stale = false
			docs[id] = a.document()
		case !a.runs && d.now().Sub(a.spoke) > forgetAfter && d.now().Sub(a.at) > forgetAfter:
			docs[id] = nil
			delete(d.askers, id)
		}
	}
	d.mu.Unlock()
	for id, doc := range docs {
		if err := d.x.Keep(ctx, channel, keptAsker+id, doc); err != nil {
			d.log.Debug("how far a requester has been told is not kept", "requester", id, "err", err)
		}
	}
}
