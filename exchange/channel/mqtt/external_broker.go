package mqtt

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/messkit/messkit/exchange/channel/intake"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/mess/topic"
)

// ExternalConfig is the settings of an external broker.
type ExternalConfig struct {
	broker.Address
	Client string                                      // MQTT client id; "": messkit-{exchange}
	Dial   func(ctx context.Context) (net.Conn, error) // nil: over the network
	// Jitter returns the pause before the next attempt, at most limit. nil means a random
	// pause.
	Jitter func(limit time.Duration) time.Duration
}

// External is an external broker. It has access rules of its own, which ACL prints for
// mosquitto.
type External struct {
	adapter *Adapter
	link    *broker.Link
	log     *slog.Logger

	queues *keyed.Calls // open during a session, when the adapter can reply
}

// NewExternal connects an adapter to an external broker.
func NewExternal(d *Adapter, cfg ExternalConfig, log *slog.Logger) *External {
	o := &External{adapter: d, log: log, queues: &keyed.Calls{}}
	cfg.Client = cmp.Or(cfg.Client, "messkit-"+d.x.ID())
	r := d.root
	var birth []string
	if d.cfg.HomeAssistant {
		birth = []string{homeassistant.BirthTopic}
	}
	o.link = broker.New(broker.Config{
		Address: cfg.Address, ID: cfg.Client, Manual: true, Dial: cfg.Dial, Jitter: cfg.Jitter,
		Filters: append(birth,
			r.Stop(), r.Executor(topic.Wild, topic.Status), r.Executor(topic.Wild, topic.Out), r.Agent(topic.Wild, topic.Out),
			r.Attachment(topic.Wild, topic.Wild), r.State(topic.Wild),
		),
		Begin:  o.session,
		Handle: o.handle,
		Up:     o.up,
	}, log)
	return o
}

// Run serves until ctx ends.
func (o *External) Run(ctx context.Context) error {
	defer o.queues.Runner.Wait()
	return o.link.Run(ctx)
}

func (o *External) session() (broker.Session, error) {
	says := o.adapter.newEpoch(context.Background())
	to := func(m outgoing) broker.Message {
		return broker.Message{Topic: m.topic, Payload: m.payload, Retain: m.retain}
	}
	return broker.Session{Will: to(says.lost), Birth: to(says.ready), End: to(says.lost)}, nil
}

// up serves one session. The queues take the messages that have arrived before it.
func (o *External) up(ctx context.Context) error {
	defer o.queues.Runner.Close()
	return o.adapter.runSession(ctx, o, o.queues.Open)
}

// publish passes a message to the broker. It returns when the broker has it.
func (o *External) publish(ctx context.Context, m outgoing) error {
	return o.link.Publish(ctx, broker.Message{Topic: m.topic, Payload: m.payload, Retain: m.retain})
}

// handle queues a message: those of one sender in order, and those of different senders
// concurrently. The broker keeps a message with a QoS until Done.
func (o *External) handle(m broker.Message) {
	in := inbound{topic: m.Topic, payload: m.Payload, retain: m.Retain, mayRepeat: m.QoS > 0}
	t, ok := o.adapter.root.Parse(m.Topic)
	if m.Topic == homeassistant.BirthTopic {
		o.adapter.receive(context.Background(), in)
	}
	if !ok || t.Kind == topic.ThreadState && !m.Retain {
		m.Done()
		return
	}
	most := maxWaiting
	if m.QoS > 0 {
		most = 0
	}
	taken := o.queues.Put(senderOf(t, m.Payload), most, func() {
		o.adapter.receive(context.Background(), in)
		m.Done()
	})
	if !taken {
		if n := o.adapter.counters.dropped.Add(1); intake.IsLogged(n) {
			o.log.Warn("too many messages with QoS 0; the exchange drops some", "count", n)
		}
	}
}
