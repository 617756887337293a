package mqtt

import (
	"context"
	"errors"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// presence is an executor by its own word, or by its will.
type presence struct {
	epoch     uint64
	present   bool
	left      bool      // it has taken back its status
	lostSince time.Time // it is lost
}

// maxStrangers bounds how many ids count as executors that are not registered: whoever can
// write a status is not yet somebody. Registered executors have no bound here.
const maxStrangers = 10_000

// countStrangers counts the executors that have a status and are not registered. It forgets
// those that are gone, or have been lost for long.
func (d *Adapter) countStrangers() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.strangers = 0
	for id, s := range d.presences {
		switch {
		case d.x.IsRegistered(id):
		case !s.present && d.now().Sub(s.lostSince) > quietTime:
			if delete(d.presences, id); s.left {
				d.storeLeft(id, false)
			}
		default:
			d.strangers++
		}
	}
}

// applyStatus takes an executor's status.
func (d *Adapter) applyStatus(id string, payload []byte) {
	state, epoch, err := readStatus(payload)
	if errors.Is(err, errOwnStatus) {
		d.clearOwnStatus(context.Background(), id)
		return
	}
	if err != nil {
		if n := d.counters.unreadable.Add(1); isLogged(n) {
			d.log.Warn("a status cannot be read", "executor", id, "err", err, "count", n)
		}
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	was, known := d.presences[id]
	stranger := !known && !d.x.IsRegistered(id)
	if stranger && state != "" {
		if d.strangers >= maxStrangers {
			if n := d.counters.dropped.Add(1); isLogged(n) {
				d.log.Warn("too many executors that are not registered have a status; an executor gets tasks once it registers", "executor", id, "count", n)
			}
			return
		}
		d.strangers++
	}
	switch {
	case state == "": // it has been cleared: it is gone for good
		if known {
			d.presences[id] = presence{left: true}
			d.storeLeft(id, true)
		}
		d.unfollow(id)
	case state == "lost" || state == "disconnected":
		if epoch < was.epoch {
			d.counters.stale.Add(1)
			d.log.Info("the will of an earlier session is ignored", "executor", id, "epoch", epoch, "now", was.epoch)
			return
		}
		d.presences[id] = presence{epoch: epoch, lostSince: d.now()}
		d.unfollow(id)
	default:
		if was.left {
			d.storeLeft(id, false)
		}
		d.presences[id] = presence{epoch: epoch, present: true}
		if f := d.feeds[id]; f == nil || f.epoch != epoch {
			d.follow(id, epoch)
		}
	}
}

// storeLeft keeps that an executor has gone for good, or has come back. d.mu is
// held.
func (d *Adapter) storeLeft(id string, is bool) {
	var doc []byte
	if is {
		doc = []byte("true")
	}
	d.start(func(ctx context.Context, _ publisher) {
		if err := d.x.SaveChannelState(context.WithoutCancel(ctx), channel, leftDocument+id, doc); err != nil {
			d.log.Debug("that an executor has gone is not kept", "executor", id, "err", err)
		}
	})
	d.observer.PresenceChanged()
}

// errOwnStatus is a status that the exchange itself has published for an executor that
// speaks over another channel.
var errOwnStatus = errors.New("the exchange's own word")

// readStatus reads a status: its state, "" for an empty payload, and the epoch of
// the session that it belongs to.
func readStatus(payload []byte) (state string, epoch uint64, err error) {
	if len(payload) == 0 {
		return "", 0, nil
	}
	o, err := mess.ParseObject(payload)
	if err != nil {
		return "", 0, err
	}
	v, _ := o.Get("state")
	state, ok := v.(string)
	if !ok || state == "" {
		return "", 0, errors.New("state: is missing; write ready, busy or lost")
	}
	if v, _ := o.Get(homeassistant.StatusBy); v == exchange.Self {
		return "", 0, errOwnStatus
	}
	if v, is := o.Get("epoch"); is {
		n, ok := v.(mess.Number)
		i, err := n.Int64()
		if !ok || err != nil || i < 0 {
			return "", 0, errors.New("epoch: is not a number; it grows with every session")
		}
		epoch = uint64(i)
	}
	return state, epoch, nil
}

// executorFeed is the events that go to one executor.
type executorFeed struct {
	epoch         uint64
	cancel        context.CancelFunc
	withoutStatus bool      // it says nothing of itself, so that it counts as there for a while
	lastMessage   time.Time // it has said something
}

// quietTime is how long an executor without a status counts as there after it has
// spoken: a person with a terminal, or a simple board.
const quietTime = time.Hour

// markActive notes that an executor has spoken. d.mu is not held.
func (d *Adapter) markActive(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.feeds[id]
	switch {
	case f != nil:
		f.lastMessage = d.now()
	case d.presences[id].left || d.presences[id] == presence{} && d.x.IsRegistered(id):
		if d.presences[id].left {
			delete(d.presences, id)
			d.storeLeft(id, false)
		}
		d.follow(id, 0)
		if f := d.feeds[id]; f != nil {
			f.withoutStatus = true
		}
	}
}

// unfollowSilent lets go of the quiet who have been silent for long.
func (d *Adapter) unfollowSilent() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, f := range d.feeds {
		if f.withoutStatus && d.now().Sub(f.lastMessage) > quietTime {
			d.unfollow(id)
		}
	}
}

// follow begins to pass events on to an executor: first what stands open for it,
// which is the difference to what it knows. d.mu is held.
func (d *Adapter) follow(id string, epoch uint64) {
	d.unfollow(id)
	if d.session == nil {
		return
	}
	ctx, cancel := context.WithCancel(d.session.ctx)
	d.feeds[id] = &executorFeed{epoch: epoch, cancel: cancel, lastMessage: d.now()}
	d.start(func(_ context.Context, to publisher) { d.runFeed(ctx, to, id) })
}

// unfollow ends that. d.mu is held.
func (d *Adapter) unfollow(id string) {
	if f := d.feeds[id]; f != nil {
		f.cancel()
		delete(d.feeds, id)
	}
}

// runFeed passes events on until ctx ends.
func (d *Adapter) runFeed(ctx context.Context, to publisher, id string) {
	inbox.Events(ctx, d.x, exchange.Actor{ID: id, Roles: exchange.ExecutorRole}, "", d.log, func(e exchange.Event) error {
		if m, ok := e.Delivery(id); ok {
			return d.deliver(ctx, to, d.leafOf(id, e), m)
		}
		return nil
	})
}

// leafOf is where an event goes: a stop is never behind anything, and neither is a
// hold.
func (d *Adapter) leafOf(id string, e exchange.Event) string {
	if e.Kind == exchange.EventStop || e.Kind == exchange.EventHold {
		return d.root.Executor(id, topic.Now)
	}
	return d.root.Executor(id, topic.In)
}

// deliver publishes a message, and returns when the broker has it.
func (d *Adapter) deliver(ctx context.Context, to publisher, where string, m mess.Message) error {
	defer mistake.Caught(d.log, "topic", where)
	text, err := m.JSON()
	if err != nil {
		d.log.Error("a message cannot be written", "topic", where, "err", err)
		return nil // nor next time
	}
	return to.publish(ctx, outgoing{topic: where, payload: text})
}

// ReportsStatus reports whether an executor says itself how it stands. One that was lost
// here and has been heard of since is elsewhere now.
func (d *Adapter) ReportsStatus(info exchange.ExecutorInfo) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s, known := d.presences[info.ID]
	return known && (s.present || s.left || !info.Live || !info.LastSeen.After(s.lostSince.Add(time.Second)))
}

// HasLeft reports whether an executor has taken back its status: it is gone for
// good.
func (d *Adapter) HasLeft(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.presences[id].left
}

// clearOwnStatus clears a status that the exchange has published for an executor, when it
// says it no more.
func (d *Adapter) clearOwnStatus(ctx context.Context, id string) {
	if !d.cfg.HomeAssistant {
		d.send(ctx, outgoing{topic: d.root.Executor(id, topic.Status), retain: true})
	}
}
