package mqtt

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/intake"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// inbound is a message from the broker.
type inbound struct {
	topic     string
	payload   []byte
	retain    bool            // the broker has retained it, or shall retain it
	mayRepeat bool            // its QoS is more than 0, so it may arrive twice
	sender    *exchange.Actor // the authenticated sender; nil if only the topic names the sender
}

// workTime is the time limit of one message at the exchange.
const workTime = 30 * time.Second

// receive takes one message. It returns when the exchange has stored or rejected it.
func (d *Adapter) receive(ctx context.Context, in inbound) {
	defer mistake.Caught(d.log, "topic", in.topic, "bytes", len(in.payload))
	t, ok := d.root.Parse(in.topic)
	switch {
	case in.topic == homeassistant.BirthTopic:
		d.observer.Birth(in.payload)
		return
	case !ok:
		return
	case in.retain && t.Kind.Commands():
		d.discard(ctx, in)
		return
	case len(in.payload) == 0 && t.Kind != topic.ExecutorStatus && t.Kind != topic.ThreadState:
		return // a client has cleared a topic
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	switch t.Kind {
	case topic.ExecutorOut:
		d.post(ctx, exchange.Actor{ID: t.ID, Roles: exchange.ExecutorRole}, in, d.root.Executor(t.ID, topic.In))
		d.executors.markActive(t.ID)
	case topic.AgentOut:
		d.post(ctx, requesterActor(t.ID, in.sender), in, d.root.Agent(t.ID, topic.In))
	case topic.ExecutorStatus:
		d.executors.applyStatus(t.ID, in.payload)
	case topic.ThreadFile:
		d.attach(ctx, t, in)
	case topic.StopLatch:
		d.applyLatch(ctx, in)
	case topic.ThreadState:
		d.states.adopt(ctx, t.ID, in)
	}
}

// requesterActor returns a requester with the roles of its key. Without a key it has no other
// role.
func requesterActor(id string, actor *exchange.Actor) exchange.Actor {
	if actor == nil {
		return exchange.Actor{ID: id, Roles: exchange.Requester}
	}
	return exchange.Actor{ID: id, Roles: actor.Roles &^ exchange.ExecutorRole}
}

// discard ignores a retained command, because its sender may not want it any more. It removes the
// command from the broker.
func (d *Adapter) discard(ctx context.Context, in inbound) {
	if len(in.payload) == 0 {
		return
	}
	if n := d.counters.retained.Add(1); intake.IsLogged(n) {
		d.log.Warn("the exchange discards a retained command; publish commands without the flag retain", "topic", in.topic, "count", n)
	}
	d.connection.send(ctx, outgoing{topic: in.topic, retain: true})
}

// post passes a message to the exchange, and sends the reply.
func (d *Adapter) post(ctx context.Context, actor exchange.Actor, in inbound, back string) {
	m, err := d.parse(in)
	if err != nil {
		d.reply(ctx, back, m.ID, intake.Rejection(err))
		return
	}
	before := d.inbox.Position()
	answer, err := d.x.Post(ctx, exchange.Inbound{Actor: actor, Channel: channel, Message: m})
	if err != nil {
		d.counters.refused.Add(1)
		answer = intake.Rejection(err)
	} else {
		d.counters.taken.Add(1)
		if actor.Has(exchange.Requester) && isAboutThreads(m) {
			d.followRequester(ctx, actor.ID, before, answer)
		}
	}
	d.reply(ctx, back, m.ID, answer)
}

// followRequester records that a requester uses MQTT. From now on its inbox gets the events of
// its threads.
func (d *Adapter) followRequester(ctx context.Context, id string, before thread.Pos, answer mess.Message) {
	var refs []string
	for _, item := range answer.Items {
		if ack, ok := item.(*mess.Ack); ok && ack.Ref != "" {
			refs = append(refs, ack.Ref)
		}
	}
	if err := d.inbox.Add(ctx, id, before, refs); err != nil {
		d.log.Warn("the exchange cannot store that a requester uses MQTT; after a restart it gets nothing until it speaks again", "requester", id, "err", err)
	}
}

// isAboutThreads reports whether a message concerns threads, so that its sender wants their
// events.
func isAboutThreads(m mess.Message) bool {
	return slices.ContainsFunc(m.Items, func(i mess.Item) bool {
		return i.Kind() != mess.KindQuery && i.Kind() != mess.KindConfig
	})
}

// parse reads a payload, and counts an invalid one.
func (d *Adapter) parse(in inbound) (mess.Message, error) {
	m, err := intake.Read(in.payload, in.mayRepeat)
	if err != nil {
		if n := d.counters.unreadable.Add(1); intake.IsLogged(n) {
			d.log.Warn("a payload is no message", "topic", in.topic, "bytes", len(in.payload), "err", err, "count", n)
		}
	}
	return m, err
}

// reply sends the answer of the exchange to a message. re is the id of that message.
func (d *Adapter) reply(ctx context.Context, to, re string, m mess.Message) {
	if re != "" {
		m.Re = mess.Refs{re}
	}
	text, err := m.JSON()
	if err != nil {
		d.log.Error("encoding an answer failed", "err", err)
		return
	}
	d.connection.send(ctx, outgoing{topic: to, payload: text})
}

// attach takes the bytes of an attachment. An external broker does not name the sender, so they
// count for the holder of the claim. They have no effect until a message of the holder names
// their digest.
func (d *Adapter) attach(ctx context.Context, t topic.Topic, in inbound) {
	th, err := d.x.Thread(ctx, exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}, t.ID)
	holder := th.Executor
	if in.sender != nil {
		holder = in.sender.ID
	}
	if holder == "" {
		d.counters.refused.Add(1)
		d.log.Debug("an attachment belongs to a thread without a holder", "ref", t.ID, "err", err)
		return
	}
	var answer mess.Message
	media, err := d.x.Attach(ctx, exchange.Actor{ID: holder, Roles: exchange.ExecutorRole}, t.ID, t.Name, "", bytes.NewReader(in.payload))
	if err != nil {
		d.counters.refused.Add(1)
		answer = intake.Rejection(err)
	} else {
		d.counters.taken.Add(1)
		answer = intake.Attached(t.ID, media, mess.TimeOf(d.now()))
	}
	d.reply(ctx, d.root.Executor(holder, topic.In), "t/"+t.ID+"/att/"+t.Name, answer)
}
