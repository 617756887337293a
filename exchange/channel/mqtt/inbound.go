package mqtt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// incoming is a message from the broker.
type incoming struct {
	topic   string
	payload []byte
	retain  bool            // it was not said now, or is to stay
	again   bool            // it may come twice: its QoS is more than 0
	who     *exchange.Actor // who has sent it; nil where only the topic says it
}

// workTime is what the exchange may take for one message.
const workTime = 30 * time.Second

// maxMessage is the largest payload that is looked at, in bytes; what a message
// may have inside, its parser says.
const maxMessage = 10 << 20

// take takes one message. It returns when the exchange has it, or has refused it.
func (d *Adapter) take(ctx context.Context, in incoming) {
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
		return // somebody has cleared something
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTime)
	defer cancel()
	switch t.Kind {
	case topic.ExecutorOut:
		d.post(ctx, exchange.Actor{ID: t.ID, Roles: exchange.ExecutorRole}, in, d.root.Executor(t.ID, topic.In))
		d.heard(t.ID)
	case topic.AgentOut:
		d.post(ctx, asking(t.ID, in.who), in, d.root.Agent(t.ID, topic.In))
	case topic.ExecutorStatus:
		d.stood(t.ID, in.payload)
	case topic.ThreadFile:
		d.attach(ctx, t, in)
	case topic.StopLatch:
		d.latch(ctx, in)
	case topic.ThreadState:
		d.found(ctx, t.ID, in)
	}
}

// asking is a requester, with the roles that its key has; without one it is
// nobody's operator.
func asking(id string, who *exchange.Actor) exchange.Actor {
	if who == nil {
		return exchange.Actor{ID: id, Roles: exchange.Requester}
	}
	return exchange.Actor{ID: id, Roles: who.Roles &^ exchange.ExecutorRole}
}

// discard throws away a command that the broker has kept, or was to keep: it is
// not what somebody wants now. The broker is told to forget it.
func (d *Adapter) discard(ctx context.Context, in incoming) {
	if len(in.payload) == 0 {
		return
	}
	if n := d.counts.retained.Add(1); report(n) {
		d.log.Warn("a retained command is discarded; commands are published without the flag retain", "topic", in.topic, "count", n)
	}
	d.send(ctx, outgoing{topic: in.topic, retain: true})
}

// post hands a message to the exchange, and its answer back.
func (d *Adapter) post(ctx context.Context, who exchange.Actor, in incoming, back string) {
	m, err := d.read(in)
	if err != nil {
		d.answer(ctx, back, m.ID, refusal(err))
		return
	}
	before := d.inbox.Position()
	answer, err := d.x.Post(ctx, exchange.Inbound{Actor: who, Channel: channel, Message: m})
	if err != nil {
		d.counts.refused.Add(1)
		answer = refusal(err)
	} else {
		d.counts.taken.Add(1)
		if who.Has(exchange.Requester) && concerns(m) {
			d.asked(ctx, who.ID, before, answer)
		}
	}
	d.answer(ctx, back, m.ID, answer)
}

// asked notes that a requester has spoken about threads: from then on it is told what becomes
// of them.
func (d *Adapter) asked(ctx context.Context, id string, before thread.Pos, answer mess.Message) {
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

// concerns reports whether a message is about threads, so that its sender wants
// to hear what becomes of them.
func concerns(m mess.Message) bool {
	return slices.ContainsFunc(m.Items, func(i mess.Item) bool {
		return i.Kind() != mess.KindQuery && i.Kind() != mess.KindConfig
	})
}

// maxID is how long the id of a refused message may be to be said back.
const maxID = 128

// read reads a payload. What may come twice and would begin something needs an
// id by which it is known again.
func (d *Adapter) read(in incoming) (mess.Message, error) {
	if len(in.payload) > maxMessage {
		d.counts.unreadable.Add(1)
		return mess.Message{}, mess.Errorf(mess.TooLarge, "a message of %d bytes is too large; send files as attachments", len(in.payload))
	}
	all, err := mess.ParseValid(in.payload)
	switch {
	case err != nil:
	case len(all) != 1:
		err = fmt.Errorf("there are %d documents; send one message at a time", len(all))
	default:
		if err = named(&all[0], in.again); err == nil {
			return all[0], nil
		}
	}
	if n := d.counts.unreadable.Add(1); report(n) {
		d.log.Warn("a payload is no message", "topic", in.topic, "bytes", len(in.payload), "err", err, "count", n)
	}
	return mess.Message{ID: called(in.payload)}, mess.Errorf(mess.Invalid, "%v", err)
}

// called is the id of what is no message, so that its sender knows which one was
// refused; empty where it has none that can be said back.
func called(payload []byte) string {
	o, err := mess.ParseObject(payload)
	if err != nil {
		return ""
	}
	v, _ := o.Get("id")
	id, _ := v.(string)
	if len(id) > maxID || strings.ContainsFunc(id, unicode.IsControl) {
		return ""
	}
	return id
}

// named gives requests that have no id the message's, so that the same message
// again is the same request.
func named(m *mess.Message, again bool) error {
	n := 0
	for _, item := range m.Items {
		r, ok := item.(*mess.Request)
		if !ok {
			continue
		}
		n++
		switch {
		case r.ID != "":
		case m.ID != "" && n == 1:
			r.ID = m.ID
		case m.ID != "":
			r.ID = fmt.Sprintf("%s-%d", m.ID, n)
		case again:
			return errors.New("id: is missing; what is sent with QoS 1 may arrive twice, and is known again by its id")
		}
	}
	return nil
}

// refusal is the exchange's "no", as a message.
func refusal(err error) mess.Message {
	r, ok := errors.AsType[*mess.Error](err)
	if !ok {
		r = mess.Errorf(mess.Unavailable, "%v", err)
	}
	ack := &mess.Ack{Ref: r.Ref, Status: r.Status, Extra: mess.Object{{Key: "why", Value: string(r.Code)}, {Key: "error", Value: r.Text}}}
	if r.Holder != "" {
		ack.Extra = ack.Extra.Set("executor_id", r.Holder)
	}
	if len(r.Allowed) > 0 {
		legal := make([]any, len(r.Allowed))
		for i, c := range r.Allowed {
			legal[i] = string(c)
		}
		ack.Extra = ack.Extra.Set("legal", legal)
	}
	return mess.Message{From: exchange.Self, Items: []mess.Item{ack}}
}

// answer sends what the exchange says to a message at once. It names the message
// that it answers.
func (d *Adapter) answer(ctx context.Context, to, re string, m mess.Message) {
	if re != "" {
		m.Re = mess.Refs{re}
	}
	text, err := m.JSON()
	if err != nil {
		d.log.Error("an answer cannot be written", "err", err)
		return
	}
	d.send(ctx, outgoing{topic: to, payload: text})
}

// send publishes what nobody misses for long: its receiver asks again.
func (d *Adapter) send(ctx context.Context, m outgoing) {
	d.mu.Lock()
	l := d.live
	d.mu.Unlock()
	if l == nil {
		return
	}
	m.atOnce = true
	if err := l.to.publish(ctx, m); err != nil {
		d.log.Debug("not published", "topic", m.topic, "err", err)
	}
}

// attach takes the bytes of an attachment. Who has sent them, a broker elsewhere
// does not tell; they count for the holder of the claim, and nothing comes of
// them unless a message of the holder's names their digest.
func (d *Adapter) attach(ctx context.Context, t topic.Topic, in incoming) {
	th, err := d.x.Thread(ctx, exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}, t.ID)
	holder := th.Executor
	if in.who != nil {
		holder = in.who.ID
	}
	if holder == "" {
		d.counts.refused.Add(1)
		d.log.Debug("an attachment for a thread that nobody holds", "ref", t.ID, "err", err)
		return
	}
	var answer mess.Message
	media, err := d.x.Attach(ctx, exchange.Actor{ID: holder, Roles: exchange.ExecutorRole}, t.ID, t.Name, "", bytes.NewReader(in.payload))
	if err != nil {
		d.counts.refused.Add(1)
		answer = refusal(err)
	} else {
		d.counts.taken.Add(1)
		ack := &mess.Ack{Ref: t.ID, Extra: mess.Object{{Key: "attachment", Value: media}}}
		answer = mess.Message{From: exchange.Self, Received: mess.TimeOf(d.now()), Items: []mess.Item{ack}}
	}
	d.answer(ctx, d.root.Executor(holder, topic.In), "t/"+t.ID+"/att/"+t.Name, answer)
}
