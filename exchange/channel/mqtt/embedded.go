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

	"github.com/messkit/messkit/exchange/channel/intake"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/broker/port"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/resources"
	"github.com/messkit/messkit/mess/topic"
)

// EmbeddedConfig is the settings of the exchange's own broker.
type EmbeddedConfig struct {
	TLS      *tls.Config // nil: plain text
	Reserved []string    // actors of this process that use no broker
	Clients  int         // limit of connected clients; 0 derives it from memory and open files
}

// Embedded is a broker in this process that enforces the access rules. It stores nothing: the
// exchange has everything and publishes it again.
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
	pending  map[packetKey]chan bool  // true when the client has acknowledged, false when it has disconnected
	waiting  map[string]chan struct{} // by topic: closed when a reader may have come
	delivery *delivery

	publishing sync.Mutex // held while one message of the adapter goes to the broker

	queues *keyed.Calls // of requesters, for messages with QoS 0

	port atomic.Pointer[port.Port] // nil before Run
}

// Limits of the broker.
const (
	sessionTime = time.Hour        // how long a session outlives its connection
	maxWrites   = 1024             // waiting messages for one client
	ackTime     = 30 * time.Second // for a PUBACK; after it, the broker closes the connection
	lookTime    = time.Second      // until the broker looks again for a reader that has just gone
	packetMore  = 64 << 10         // bytes of a packet in addition to the largest attachment
	sysEvery    = 24 * 60 * 60     // seconds between the broker's own statistics, which have no reader
)

// clientCost is the memory that NewEmbedded counts for one client, in bytes. Clients may take
// one of clientPart parts of the open files.
const (
	clientCost = 32 << 10
	clientPart = 4
)

// Use returns the number of connected clients and their limit.
func (e *Embedded) Use() resources.Use {
	u := resources.Use{What: "MQTT clients", Limit: e.cfg.Clients}
	if p := e.port.Load(); p != nil {
		u = p.Use()
	}
	u.Setting = "exchange: mqtt: clients"
	return u
}

// NewEmbedded makes a broker for an adapter.
func NewEmbedded(d *Adapter, k *keys.Keys, cfg EmbeddedConfig, log *slog.Logger) *Embedded {
	if cfg.Clients == 0 {
		cfg.Clients = resources.Of().Share(clientCost, clientPart, 64, 131072)
	}
	e := &Embedded{
		adapter: d, keys: k, cfg: cfg, log: log, clients: map[string]*client{},
		pending: map[packetKey]chan bool{}, waiting: map[string]chan struct{}{}, queues: &keyed.Calls{},
	}
	e.rules = accessRules{root: d.root, hasKey: e.hasKey, requesterOf: d.states.requesterOf, homeAssistant: d.cfg.HomeAssistant}
	c := broker.NewDefaultServerCapabilities()
	c.MaximumClientWritesPending = maxWrites
	c.MaximumMessageExpiryInterval = 0 // a status never expires
	c.MaximumSessionExpiryInterval = uint32(sessionTime.Seconds())
	c.MaximumPacketSize = uint32(max(d.cfg.MaxAttachment, intake.Max) + packetMore)
	c.SharedSubAvailable = 0 // only the exchange decides which executor gets a message (rule 8)
	e.server = broker.New(&broker.Options{
		Capabilities: c, InlineClient: true, SysTopicResendInterval: sysEvery,
		Logger: slog.New(slog.DiscardHandler), // it would log the content of packets
	})
	return e
}

// hasKey reports whether an actor needs its key to connect.
func (e *Embedded) hasKey(id string) bool {
	return id == keys.OperatorID || slices.Contains(e.cfg.Reserved, id) || e.keys.Has(id)
}

// Run serves until ctx ends.
func (e *Embedded) Run(ctx context.Context, l net.Listener) error {
	g, ctx := errgroup.WithContext(ctx)
	e.ctx = ctx
	e.queues.Open()
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
	says := e.adapter.newEpoch(ctx)
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

// send passes a message to the broker. It does not wait for readers.
func (e *Embedded) send(m outgoing) error {
	_, err := e.sendAwaited(m)
	return err
}

// delivery is the message on its way to the broker, and its receivers.
type delivery struct {
	topic string
	to    map[packetKey]chan bool
}

// packetKey identifies a message that a client has to acknowledge.
type packetKey struct {
	client string
	packet uint16
}

// sendAwaited is send. It returns the acknowledgments to wait for.
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

// publish passes a message to the broker. A message to one actor waits until the actor reads
// its topic and acknowledges it. So it arrives in order and once.
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
			look = time.After(lookTime) // the reader has just gone and got nothing
		}
		select {
		case <-come:
		case <-look:
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// waitForReader returns a channel that closes when a client may have begun to read a topic.
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

// notifyReaders wakes publishers that wait for readers of topics.
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

// hasReader reports whether a connected client reads a topic, or with silently, does so without
// acknowledging.
func (e *Embedded) hasReader(topic string, silently bool) bool {
	for id, s := range e.server.Topics.Subscribers(topic).Subscriptions {
		if cl, ok := e.server.Clients.Get(id); ok && !cl.Closed() && !(silently && s.Qos > 0) {
			return true
		}
	}
	return false
}

// acknowledged waits until one receiver has acknowledged a message. It returns false if all
// have disconnected.
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
			e.log.Warn("an MQTT client acknowledges no messages; the broker closes its connection", "client", r.client)
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
