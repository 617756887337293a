// Package mqtt is the MQTT binding of an exchange, over its own broker or an external one.
// It translates between topics and messages to the exchange.
//
// A message comes in at Adapter.receive. The inbox, executors and threadStates publish what
// changes, each for its own readers.
package mqtt

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// Config is the settings of an adapter.
type Config struct {
	Version       string        // of the program, for clients
	MaxAttachment int64         // limit of an attachment at the exchange, in bytes
	HomeAssistant bool          // publish the executors for Home Assistant
	Keep          time.Duration // how long the broker retains the state of an ended thread; 0: defaultKeep
}

// channel is the name of the MQTT binding in threads.
const channel = "mqtt"

// defaultKeep is long enough for a client that has lost its connection to see the end of a
// thread.
const defaultKeep = 10 * time.Minute

// Adapter serves an exchange over MQTT. Give it to one broker: NewEmbedded or NewExternal.
type Adapter struct {
	x    *exchange.Exchange
	root topic.Root
	cfg  Config
	log  *slog.Logger
	now  func() time.Time

	instance string // of this process, in the status of the exchange

	connection *connection
	inbox      *inbox.Inbox // of requesters that use MQTT
	executors  *executors
	states     *threadStates
	observer   observer

	counters counters

	mu        sync.Mutex
	epoch     uint64 // of the session
	lastLatch string // the payload of the last stop latch
}

// New makes an adapter. It reads the documents of an earlier run.
func New(x *exchange.Exchange, cfg Config, now func() time.Time, log *slog.Logger) (*Adapter, error) {
	if err := topic.CheckID(x.ID()); err != nil {
		return nil, fmt.Errorf("exchange: id: %w", err)
	}
	cfg.Keep = cmp.Or(cfg.Keep, defaultKeep)
	d := &Adapter{
		x: x, root: topic.Of(x.ID()), cfg: cfg, log: log, now: now, instance: rand.Text()[:12],
		connection: &connection{log: log},
	}
	d.executors = &executors{
		x: x, root: d.root, log: log, now: now, connection: d.connection, counters: &d.counters, clearsOwn: !cfg.HomeAssistant,
		presences: map[string]presence{}, feeds: map[string]*executorFeed{},
	}
	docs := x.ChannelState(channel)
	d.restore(docs)
	d.executors.restore(docs)
	d.observer = newObserver(d)
	d.executors.changed = d.observer.PresenceChanged
	d.states = &threadStates{
		x: x, root: d.root, keep: cfg.Keep, log: log, now: now, connection: d.connection, observer: d.observer,
		byRef: map[string]*retainedState{},
	}
	d.inbox = inbox.Open(x, channel, now, log)
	return d, nil
}

// Names of the adapter's documents.
const (
	epochDocument = "epoch"
	latchDocument = "latch"
)

// restore reads the documents of an earlier run.
func (d *Adapter) restore(docs map[string][]byte) {
	for name, value := range map[string]any{epochDocument: &d.epoch, latchDocument: &d.lastLatch} {
		if docs[name] == nil {
			continue
		}
		if err := json.Unmarshal(docs[name], value); err != nil {
			d.log.Warn("MQTT: a stored document is unreadable; the adapter starts without it", "name", name, "err", err)
		}
	}
}

// statusMessages are the birth message and the will of the exchange in one session.
type statusMessages struct {
	ready, lost outgoing
}

// newEpoch begins a new epoch and stores it.
func (d *Adapter) newEpoch(ctx context.Context) statusMessages {
	d.mu.Lock()
	d.epoch++
	epoch := d.epoch
	d.mu.Unlock()
	doc, err := json.Marshal(epoch)
	if err == nil {
		err = d.x.SaveChannelState(ctx, channel, epochDocument, doc)
	}
	if err != nil {
		d.log.Warn("MQTT: storing the epoch failed; clients may take an old will for a new one", "err", err)
	}
	status := func(state string) outgoing {
		o := mess.Object{
			{Key: "state", Value: state},
			{Key: "epoch", Value: epoch},
			{Key: "instance", Value: d.instance},
			{Key: "v", Value: d.cfg.Version},
			{Key: "max_attachment", Value: d.cfg.MaxAttachment},
		}
		text, _ := o.MarshalJSON() // cannot fail: plain values
		return outgoing{topic: d.root.Exchange(), payload: text, retain: true}
	}
	return statusMessages{ready: status("ready"), lost: status("lost")}
}

// runSession serves one session with the broker, until ctx ends. It calls begun when the
// adapter can receive and reply.
func (d *Adapter) runSession(ctx context.Context, to publisher, begun func()) error {
	g, ctx := errgroup.WithContext(ctx)
	d.executors.resume(func() { d.connection.begin(ctx, g, to) })
	begun()
	g.Go(func() error {
		d.inbox.Run(ctx, func(ctx context.Context, id string, m mess.Message) error {
			return deliver(ctx, d.log, to, d.root.Agent(id, topic.In), m)
		})
		return nil
	})
	g.Go(func() error {
		d.states.run(ctx, to)
		return nil
	})
	g.Go(func() error { return d.removeExpired(ctx, to) })
	g.Go(func() error {
		d.observer.Run(ctx, observed{to})
		return nil
	})
	return g.Wait()
}

// expiryInterval is the time between two calls of tidy's parts.
const expiryInterval = 5 * time.Second

// removeExpired clears expired states at the broker, and unfollows silent executors.
func (d *Adapter) removeExpired(ctx context.Context, to publisher) error {
	t := time.NewTicker(expiryInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		d.states.clearExpired(ctx, to)
		d.executors.unfollowSilent()
		d.executors.countStrangers()
	}
}
