package mqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/broker/port"
	"github.com/messkit/messkit/internal/resources"
	"github.com/messkit/messkit/mess/topic"
)

// EmbeddedConfig of a broker of our own.
type EmbeddedConfig struct {
	TLS      *tls.Config // nil: in plain text
	Reserved []string    // actors that speak in this process, and over no broker
	Clients  int         // limit of connected clients; 0: derived from memory and open files
}

// Embedded is a broker in this process, with the rules of who may read and write
// what. It keeps nothing on the disk: what must not be lost is with the exchange,
// and is told again.
type Embedded struct {
	adapter *Adapter
	keys    *keys.Keys
	cfg     EmbeddedConfig
	log     *slog.Logger
	rules   accessRules
	server  *broker.Server

	mu       sync.Mutex
	ctx      context.Context // of Run
	clients  map[string]*client
	pending  map[packetKey]chan bool  // sent; true when it is acknowledged, false when its connection is gone
	waiting  map[string]chan struct{} // by topic: closed when somebody may read it now
	delivery *delivery

	publishing sync.Mutex // one message of the door at a time

	queues *senderQueues // that requesters send once

	port atomic.Pointer[port.Port] // nil: Run has not begun
}

// Limits of the broker.
const (
	sessionTime = time.Hour        // a session outlives its connection so long
	maxWrites   = 1024             // messages that wait for one client
	ackTime     = 30 * time.Second // for a PUBACK; a client that gives none is no longer believed to be there
	lookTime    = time.Second      // until it is looked again for a reader who has just gone
	packetMore  = 64 << 10         // bytes of a packet beside the largest attachment
	sysEvery    = 24 * 60 * 60     // seconds between the broker's words about itself, which nobody reads
)

// Bytes of memory that NewEmbedded counts for one client, and the part of the open
// files that clients may take.
const (
	clientCost = 32 << 10
	clientPart = 4
)

// Use returns how many clients are connected, and their limit.
func (e *Embedded) Use() resources.Use {
	u := resources.Use{What: "MQTT clients", Limit: e.cfg.Clients}
	if p := e.port.Load(); p != nil {
		u = p.Use()
	}
	u.Setting = "exchange: mqtt: clients"
	return u
}

// NewEmbedded makes a broker for a door.
func NewEmbedded(d *Adapter, k *keys.Keys, cfg EmbeddedConfig, log *slog.Logger) *Embedded {
	if cfg.Clients == 0 {
		cfg.Clients = resources.Of().Share(clientCost, clientPart, 64, 131072)
	}
	e := &Embedded{
		adapter: d, keys: k, cfg: cfg, log: log, clients: map[string]*client{},
		pending: map[packetKey]chan bool{}, waiting: map[string]chan struct{}{}, queues: &senderQueues{},
	}
	e.rules = accessRules{root: d.root, hasKey: e.hasKey, requestorOf: d.states.requestorOf, homeAssistant: d.cfg.HomeAssistant}
	c := broker.NewDefaultServerCapabilities()
	c.MaximumClientWritesPending = maxWrites
	c.MaximumMessageExpiryInterval = 0 // a status holds until the next one
	c.MaximumSessionExpiryInterval = uint32(sessionTime.Seconds())
	c.MaximumPacketSize = uint32(max(d.cfg.MaxAttachment, maxMessage) + packetMore)
	c.SharedSubAvailable = 0 // the exchange alone decides who gets what (rule 8)
	e.server = broker.New(&broker.Options{
		Capabilities: c, InlineClient: true, SysTopicResendInterval: sysEvery,
		Logger: slog.New(slog.DiscardHandler), // it would log what is in packets
	})
	return e
}

// hasKey reports whether an actor is one that nobody may be without its key.
func (e *Embedded) hasKey(id string) bool {
	return id == keys.OperatorID || slices.Contains(e.cfg.Reserved, id) || e.keys.Has(id)
}

// Run serves until ctx ends.
func (e *Embedded) Run(ctx context.Context, l net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	e.ctx = ctx
	e.queues.open()
	defer e.queues.Runner.Wait()
	p := port.New(e.server, l, e.cfg.TLS)
	p.Limit(e.cfg.Clients)
	e.port.Store(p)
	if err := errors.Join(
		e.server.AddListener(p),
		e.server.AddHook(&brokerHook{e: e}, nil), e.server.AddHook(port.NewRetained(e.server), nil),
	); err != nil {
		return err
	}
	says, err := e.adapter.newEpoch(ctx)
	if err != nil {
		return err
	}
	begun := make(chan struct{})
	g.Go(func() error { return e.adapter.runSession(ctx, e, func() { close(begun) }) })
	<-begun
	if err := e.server.Serve(); err != nil {
		return err
	}
	if err := e.send(says.ready); err != nil {
		return err
	}
	g.Go(func() error {
		<-ctx.Done()
		err := e.send(says.lost)
		return errors.Join(err, e.server.Close())
	})
	return g.Wait()
}

// send hands a message to the broker, and does not wait for whoever reads it.
func (e *Embedded) send(m outgoing) error {
	_, err := e.sendAwaited(m)
	return err
}

// delivery is the message that is being handed to the broker, and to whom it went.
type delivery struct {
	topic string
	to    map[packetKey]chan bool
}

// packetKey names a message that a client is to acknowledge.
type packetKey struct {
	client string
	packet uint16
}

// sendAwaited does so, and returns by whom it is to be acknowledged.
func (e *Embedded) sendAwaited(m outgoing) (map[packetKey]chan bool, error) {
	e.publishing.Lock()
	defer e.publishing.Unlock()
	s := &delivery{topic: m.topic, to: map[packetKey]chan bool{}}
	e.mu.Lock()
	e.delivery = s
	e.mu.Unlock()
	err := e.server.Publish(m.topic, m.payload, m.retain, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.delivery = nil
	return s.to, err
}

// publish hands a message to the broker. What is for one actor is delivered when
// that has acknowledged it, and waits while nobody reads it: so it arrives later,
// in order, and once.
func (e *Embedded) publish(ctx context.Context, m outgoing) error {
	t, ok := e.adapter.root.Parse(m.topic)
	if m.dropIfSlow || !ok || t.Kind != topic.ExecutorIn && t.Kind != topic.ExecutorNow && t.Kind != topic.AgentIn {
		return e.send(m)
	}
	for ctx.Err() == nil {
		come, look := e.waitForReader(m.topic), (<-chan time.Time)(nil)
		if e.hasReader(m.topic, false) {
			acks, err := e.sendAwaited(m)
			switch {
			case err != nil:
				return err
			case e.acknowledged(ctx, acks), len(acks) == 0 && e.hasReader(m.topic, true):
				return nil
			case len(acks) > 0:
				continue
			}
			look = time.After(lookTime) // who reads it has gone just then, and got nothing
		}
		select {
		case <-come:
		case <-look:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// waitForReader is closed when somebody may have begun to read a topic.
func (e *Embedded) waitForReader(topic string) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.waiting[topic]
	if c == nil {
		c = make(chan struct{})
		e.waiting[topic] = c
	}
	return c
}

// notifyReaders wakes those who wait for readers of topics.
func (e *Embedded) notifyReaders(topics ...string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range topics {
		if c := e.waiting[t]; c != nil {
			close(c)
			delete(e.waiting, t)
		}
	}
}

// hasReader reports whether somebody who is connected reads a topic, or does so without
// acknowledging what he gets.
func (e *Embedded) hasReader(topic string, silently bool) bool {
	for id, s := range e.server.Topics.Subscribers(topic).Subscriptions {
		if cl, ok := e.server.Clients.Get(id); ok && !cl.Closed() && !(silently && s.Qos > 0) {
			return true
		}
	}
	return false
}

// acknowledged waits until one of the receivers has acknowledged a message, and
// reports false if none has: they have gone.
func (e *Embedded) acknowledged(ctx context.Context, acks map[packetKey]chan bool) bool {
	t := time.NewTimer(ackTime)
	defer t.Stop()
	defer e.forget(acks)
	for r, done := range acks {
		select {
		case acked := <-done:
			if acked {
				return true
			}
		case <-ctx.Done():
			return false
		case <-t.C:
			e.log.Warn("a client does not acknowledge what it gets; its connection is closed", "client", r.client)
			if cl, ok := e.server.Clients.Get(r.client); ok {
				port.Cut(cl)
			}
			return false
		}
	}
	return false
}

func (e *Embedded) forget(acks map[packetKey]chan bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r := range acks {
		delete(e.pending, r)
	}
}
