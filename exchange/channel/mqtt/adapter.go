// Package mqtt is the MQTT door of an exchange, over a broker that it carries
// itself or over one elsewhere. It translates between topics and the exchange's
// one entrance, and does nothing else.
package mqtt

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// Config of a door.
type Config struct {
	Version       string        // of the program, for those who connect
	MaxAttachment int64         // bytes that the exchange takes as one attachment
	HomeAssistant bool          // what there is is shown to Home Assistant
	Keep          time.Duration // how long the state of a thread that has ended stays at the broker; 0: defaultKeep
}

// channel is the name of this door in threads.
const channel = "mqtt"

// defaultKeep is long enough for whoever has lost the connection to see how it
// ended.
const defaultKeep = 10 * time.Minute

// Adapter serves an exchange over MQTT. Give it to a broker: Embedded or Outside.
type Adapter struct {
	x    *exchange.Exchange
	root topic.Root
	cfg  Config
	log  *slog.Logger
	now  func() time.Time

	instance string // of this process: no other exchange publishes the same status

	inbox    *inbox.Inbox // of the requesters that have spoken here
	observer observer

	counters counters

	mu        sync.Mutex
	session   *session                  // the session with the broker; nil: there is none
	presences map[string]presence       // executors by their own word
	strangers int                       // of them that are not registered
	feeds     map[string]*executorFeed  // executors that are followed in this session
	states    map[string]*retainedState // threads whose state is at the broker
	epoch     uint64                    // of the session
	lastLatch string                    // the latch that was obeyed last, as it was written
}

// session is a session with the broker.
type session struct {
	ctx    context.Context // ends with it
	group  *errgroup.Group
	broker publisher
}

// publisher is a broker, as the door sees it.
type publisher interface {
	// publish returns when the broker has the message, or will not have it.
	publish(ctx context.Context, m outgoing) error
}

// outgoing is a message on its way to the broker.
type outgoing struct {
	topic      string
	payload    []byte
	retain     bool
	dropIfSlow bool // it does not wait for its reader; who misses it asks again
}

// New makes a door. It reads what an earlier run has kept.
func New(ctx context.Context, x *exchange.Exchange, cfg Config, now func() time.Time, log *slog.Logger) (*Adapter, error) {
	if err := topic.CheckID(x.ID()); err != nil {
		return nil, fmt.Errorf("exchange: id: %w", err)
	}
	if cfg.Keep == 0 {
		cfg.Keep = defaultKeep
	}
	d := &Adapter{
		x: x, root: topic.Of(x.ID()), cfg: cfg, log: log, now: now,
		presences: map[string]presence{}, feeds: map[string]*executorFeed{}, states: map[string]*retainedState{},
		instance: rand.Text()[:12],
	}
	if err := d.restore(ctx); err != nil {
		return nil, err
	}
	var err error
	if d.observer, err = d.newObserver(ctx); err != nil {
		return nil, err
	}
	d.inbox, err = inbox.Open(ctx, x, channel, now, log)
	return d, err
}

// observer follows what happens to executors and threads, and publishes it for one kind of
// client. It is Home Assistant's publisher, or what takes away an earlier one's messages.
type observer interface {
	// Run publishes in one session with the broker, until ctx ends.
	Run(ctx context.Context, to homeassistant.Broker)
	// Birth takes what the client says of itself.
	Birth(payload []byte)
	// Thread takes how a thread stands that was not followed before.
	Thread(ctx context.Context, e exchange.Envelope)
	// Message takes what was said in a thread: now, or before the session.
	Message(e exchange.Envelope, m mess.Message, now bool)
	// PresenceChanged says that an executor has come or gone.
	PresenceChanged()
}

func (d *Adapter) newObserver(ctx context.Context) (observer, error) {
	if !d.cfg.HomeAssistant {
		return homeassistant.NewWithdrawal(ctx, d.x, channel, d.log)
	}
	return homeassistant.New(ctx, homeassistant.Config{
		Exchange: d.x, Channel: channel, Root: d.root, Version: d.cfg.Version, Presence: d, Now: d.now, Log: d.log,
		Start: func(f func(context.Context, homeassistant.Broker)) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.start(func(ctx context.Context, to publisher) { f(ctx, observed{to}) })
		},
	})
}

// observed is a broker for an observer.
type observed struct{ publisher }

// Publish returns when the broker has the message, or will not have it.
func (o observed) Publish(ctx context.Context, topic string, payload []byte, retain bool) error {
	return o.publish(ctx, outgoing{topic: topic, payload: payload, retain: retain})
}

// Names under which the door keeps documents.
const (
	epochDocument = "epoch"
	latchDocument = "latch"
	leftDocument  = "gone." // and the executor
)

// restore reads what an earlier run has kept.
func (d *Adapter) restore(ctx context.Context) error {
	docs, err := d.x.ChannelState(ctx, channel)
	if err != nil {
		return err
	}
	for name, doc := range docs {
		var err error
		switch {
		case name == epochDocument:
			err = json.Unmarshal(doc, &d.epoch)
		case name == latchDocument:
			err = json.Unmarshal(doc, &d.lastLatch)
		case strings.HasPrefix(name, leftDocument):
			d.presences[strings.TrimPrefix(name, leftDocument)] = presence{left: true}
		}
		if err != nil {
			d.log.Warn("what the MQTT door has kept cannot be read; it begins anew", "name", name, "err", err)
		}
	}
	return nil
}

// statusMessages is what the exchange says of itself in one session.
type statusMessages struct {
	ready, lost outgoing
}

// newEpoch begins a new epoch.
func (d *Adapter) newEpoch(ctx context.Context) (statusMessages, error) {
	d.mu.Lock()
	d.epoch++
	epoch := d.epoch
	d.mu.Unlock()
	doc, err := json.Marshal(epoch)
	if err == nil {
		err = d.x.SaveChannelState(ctx, channel, epochDocument, doc)
	}
	if err != nil {
		d.log.Warn("the epoch of the MQTT door cannot be kept; a will of an earlier run may count as new", "err", err)
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
	return statusMessages{ready: status("ready"), lost: status("lost")}, nil
}

// runSession works as long as ctx, which is as long as there is a broker. It calls
// begun when messages can be taken and answered.
func (d *Adapter) runSession(ctx context.Context, to publisher, begun func()) error {
	g, ctx := errgroup.WithContext(ctx)
	d.mu.Lock()
	d.session = &session{ctx: ctx, group: g, broker: to}
	clear(d.feeds)
	g.Go(func() error { // the first to start: nothing is started when it has ended
		<-ctx.Done()
		d.mu.Lock()
		defer d.mu.Unlock()
		d.session = nil
		return nil
	})
	for id, s := range d.presences {
		if s.present {
			d.follow(id, s.epoch)
		}
	}
	d.mu.Unlock()
	begun()
	g.Go(func() error {
		d.inbox.Run(ctx, func(ctx context.Context, id string, m mess.Message) error {
			return d.deliver(ctx, to, d.root.Agent(id, topic.In), m)
		})
		return nil
	})
	g.Go(func() error { return d.publishStates(ctx, to) })
	g.Go(func() error { return d.tidy(ctx, to) })
	g.Go(func() error {
		d.observer.Run(ctx, observed{to})
		return nil
	})
	return g.Wait()
}

// start runs f in the session, if there is one. d.mu is held.
func (d *Adapter) start(f func(ctx context.Context, to publisher)) {
	if l := d.session; l != nil {
		l.group.Go(func() error { f(l.ctx, l.broker); return nil })
	}
}

// tidyEvery is how often is looked for what has had its time.
const tidyEvery = 5 * time.Second

// tidy clears states that have had their time, and lets go of executors that have been
// silent.
func (d *Adapter) tidy(ctx context.Context, to publisher) error {
	t := time.NewTicker(tidyEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		d.clearStates(ctx, to)
		d.unfollowSilent()
		d.countStrangers()
	}
}
