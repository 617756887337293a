package mqtt

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/intake"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// presence is the status of an executor, from its own message or its will.
type presence struct {
	epoch     uint64
	present   bool
	left      bool      // it has cleared its status
	lostSince time.Time // time of the status lost
}

// executors knows which executors are present over MQTT, and publishes their messages to
// them. It is safe for concurrent use.
type executors struct {
	x          *exchange.Exchange
	root       topic.Root
	log        *slog.Logger
	now        func() time.Time
	connection *connection
	counters   *counters
	clearsOwn  bool   // remove a status that the exchange has published for another channel
	changed    func() // reports that an executor has come or left; it must not block

	mu        sync.Mutex
	presences map[string]presence      // by id, as the executors report it
	strangers int                      // presences of unregistered executors
	feeds     map[string]*executorFeed // by id, of the session
}

// leftDocument and the id of an executor name the document of one that has left.
const leftDocument = "gone."

// restore reads which executors have left before.
func (e *executors) restore(docs map[string][]byte) {
	for name := range docs {
		if id, ok := strings.CutPrefix(name, leftDocument); ok {
			e.presences[id] = presence{left: true}
		}
	}
}

// resume calls begin, which begins a session, and follows the executors that are present.
func (e *executors) resume(begin func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	begin()
	clear(e.feeds)
	for id, s := range e.presences {
		if s.present {
			e.follow(id, s.epoch)
		}
	}
}

// maxStrangers bounds the presences of unregistered executors, because every client can write a
// status. Registered executors have no bound here.
const maxStrangers = 10_000

// countStrangers counts the presences of unregistered executors. It removes those that left or
// got lost long ago.
func (e *executors) countStrangers() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.strangers = 0
	for id, s := range e.presences {
		switch {
		case e.x.IsRegistered(id):
		case !s.present && e.now().Sub(s.lostSince) > quietTime:
			if delete(e.presences, id); s.left {
				e.storeLeft(id, false)
			}
		default:
			e.strangers++
		}
	}
}

// applyStatus takes the status of an executor.
func (e *executors) applyStatus(id string, payload []byte) {
	state, epoch, err := readStatus(payload)
	if errors.Is(err, errOwnStatus) {
		if e.clearsOwn {
			e.connection.send(context.Background(), outgoing{topic: e.root.Executor(id, topic.Status), retain: true})
		}
		return
	}
	if err != nil {
		if n := e.counters.unreadable.Add(1); intake.IsLogged(n) {
			e.log.Warn("the status of an executor is invalid", "executor", id, "err", err, "count", n)
		}
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	was, known := e.presences[id]
	stranger := !known && !e.x.IsRegistered(id)
	if stranger && state != "" {
		if e.strangers >= maxStrangers {
			if n := e.counters.dropped.Add(1); intake.IsLogged(n) {
				e.log.Warn("too many unregistered executors have a status; an executor gets tasks once it registers", "executor", id, "count", n)
			}
			return
		}
		e.strangers++
	}
	switch {
	case state == "": // the executor has cleared it and left for good
		if known {
			e.presences[id] = presence{left: true}
			e.storeLeft(id, true)
		}
		e.unfollow(id)
	case state == "lost" || state == "disconnected":
		if epoch < was.epoch {
			e.counters.stale.Add(1)
			e.log.Info("the exchange ignores the will of an earlier session", "executor", id, "epoch", epoch, "now", was.epoch)
			return
		}
		e.presences[id] = presence{epoch: epoch, lostSince: e.now()}
		e.unfollow(id)
	default:
		if was.left {
			e.storeLeft(id, false)
		}
		e.presences[id] = presence{epoch: epoch, present: true}
		if f := e.feeds[id]; f == nil || f.epoch != epoch {
			e.follow(id, epoch)
		}
	}
}

// storeLeft stores that an executor has left for good, or has come back. The caller holds e.mu.
func (e *executors) storeLeft(id string, is bool) {
	var doc []byte
	if is {
		doc = []byte("true")
	}
	e.connection.start(func(ctx context.Context, _ publisher) {
		if err := e.x.SaveChannelState(context.WithoutCancel(ctx), channel, leftDocument+id, doc); err != nil {
			e.log.Debug("storing that an executor has left failed", "executor", id, "err", err)
		}
	})
	e.changed()
}

// errOwnStatus is the error for a status that the exchange itself has published, for an
// executor on another channel.
var errOwnStatus = errors.New("the exchange's own word")

// readStatus reads a status: its state, which is "" for an empty payload, and the epoch of its
// session.
func readStatus(payload []byte) (state string, epoch uint64, err error) {
	if len(payload) == 0 {
		return "", 0, nil
	}
	o, err := mess.ParseObject(payload)
	if err != nil {
		return "", 0, err
	}
	if state = o.Text("state"); state == "" {
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

// executorFeed is the stream of events to one executor.
type executorFeed struct {
	epoch         uint64
	cancel        context.CancelFunc
	withoutStatus bool      // the executor publishes no status and counts as present for a while
	lastMessage   time.Time // time of its last message
}

// followed returns how many executors get their messages over MQTT now.
func (e *executors) followed() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.feeds)
}

// quietTime is how long an executor without a status counts as present after a message: a
// person with a terminal, or a simple board.
const quietTime = time.Hour

// markActive records a message of an executor. The caller does not hold e.mu.
func (e *executors) markActive(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f := e.feeds[id]
	switch {
	case f != nil:
		f.lastMessage = e.now()
	case e.presences[id].left || e.presences[id] == presence{} && e.x.IsRegistered(id):
		if e.presences[id].left {
			delete(e.presences, id)
			e.storeLeft(id, false)
		}
		e.follow(id, 0)
		if f := e.feeds[id]; f != nil {
			f.withoutStatus = true
		}
	}
}

// unfollowSilent ends the feeds of executors without a status that have been silent for long.
func (e *executors) unfollowSilent() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, f := range e.feeds {
		if f.withoutStatus && e.now().Sub(f.lastMessage) > quietTime {
			e.unfollow(id)
		}
	}
}

// follow starts the feed of an executor, which begins with the open threads. The caller holds
// e.mu.
func (e *executors) follow(id string, epoch uint64) {
	e.unfollow(id)
	cancel, ok := e.connection.start(func(ctx context.Context, to publisher) { e.runFeed(ctx, to, id) })
	if ok {
		e.feeds[id] = &executorFeed{epoch: epoch, cancel: cancel, lastMessage: e.now()}
	}
}

// unfollow ends the feed of an executor. The caller holds e.mu.
func (e *executors) unfollow(id string) {
	if f := e.feeds[id]; f != nil {
		f.cancel()
		delete(e.feeds, id)
	}
}

// runFeed publishes the events of an executor until ctx ends.
func (e *executors) runFeed(ctx context.Context, to publisher, id string) {
	inbox.Events(ctx, e.x, exchange.Actor{ID: id, Roles: exchange.ExecutorRole}, "", e.log, func(ev exchange.Event) error {
		if m, ok := ev.Delivery(id); ok {
			return deliver(ctx, e.log, to, e.topicOf(id, ev), m)
		}
		return nil
	})
}

// topicOf returns the topic of an event. A stop or a drain has its own, so no other message
// delays it.
func (e *executors) topicOf(id string, ev exchange.Event) string {
	if ev.Kind == exchange.EventStop || ev.Kind == exchange.EventDrain {
		return e.root.Executor(id, topic.Now)
	}
	return e.root.Executor(id, topic.In)
}

// ReportsStatus reports whether an executor publishes its own status. An executor that got lost
// here and has been live since then uses another channel.
func (e *executors) ReportsStatus(info exchange.ExecutorInfo) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, known := e.presences[info.ID]
	return known && (s.present || s.left || !info.Live || !info.LastSeen.After(s.lostSince.Add(time.Second)))
}

// HasLeft reports whether an executor has cleared its status and left for good.
func (e *executors) HasLeft(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.presences[id].left
}
