package mqttclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/messkit/messkit/exchange/remote/mailbox"
	"github.com/messkit/messkit/internal/broker"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/topic"
)

// Receive calls handle, one message at a time, for every message to this executor, until ctx
// ends; then it returns nil. Messages may be duplicates. It returns httpclient.ErrReset if
// messages may be lost: after a lost connection, or after a restart of the exchange. The
// executor must then register again.
func (c *Client) Receive(ctx context.Context, handle func(mess.Message)) error {
	return c.inbox.Receive(ctx, handle)
}

// handle processes a message from the broker. It does not block.
func (c *Client) handle(m broker.Message) {
	t, ok := c.root.Parse(m.Topic)
	switch {
	case !ok || len(m.Payload) == 0:
	case m.Retain && t.Kind.Commands():
		c.count("discarded a retained command; publish commands without the flag retain", m.Topic, nil)
	case t.Kind == topic.ExchangeStatus:
		c.takeExchangeStatus(m)
	case t.Kind == topic.StopLatch:
		c.latch(m)
	case t.Kind == topic.ExecutorIn, t.Kind == topic.ExecutorNow:
		one, err := mess.Parse(m.Payload)
		if err != nil {
			c.count("a payload is no message", m.Topic, err)
			return
		}
		if t.Kind == topic.ExecutorNow {
			c.urgent(one, m.Topic)
		} else if !c.passAnswer(one) {
			c.inbox.Put(one, false)
		}
	}
}

// count counts a message that the client cannot process. It logs the first ten, and then fewer
// and fewer.
func (c *Client) count(what, where string, err error) {
	if n := c.bad.Add(1); n <= 10 || n&(n-1) == 0 {
		c.log.Warn(what, "topic", where, "err", err, "count", n)
	}
}

// Discarded returns the number of discarded messages: invalid payloads and retained commands.
func (c *Client) Discarded() int64 { return c.bad.Load() }

// takeExchangeStatus processes the exchange's status message.
func (c *Client) takeExchangeStatus(m broker.Message) {
	o, err := mess.ParseObject(m.Payload)
	if err != nil {
		c.count("cannot parse the status of the exchange", m.Topic, err)
		return
	}
	state, _ := o.Get("state")
	epoch := number(o, "epoch")
	c.mu.Lock()
	was := c.peerStatus.epoch
	news := state == "ready" && epoch != was
	if news {
		c.peerStatus = exchangeStatus{epoch: epoch, max: int64(number(o, "max_attachment"))}
	}
	c.mu.Unlock()
	switch {
	case news && was != 0:
		c.log.Info("the exchange has restarted")
		c.inbox.NoteLoss()
	case state == "lost" && epoch >= was:
		c.log.Warn("the exchange has lost its connection to the broker")
	}
}

func number(o mess.Object, key string) uint64 {
	v, _ := o.Get(key)
	n, ok := v.(mess.Number)
	i, err := n.Int64()
	if !ok || err != nil || i < 0 {
		return 0
	}
	return uint64(i)
}

// latch processes the stop latch for all executors. The id of the stop derives from the payload:
// a repeated message has the same id, so an executor with a reset stop stays reset.
func (c *Client) latch(m broker.Message) {
	o, err := mess.ParseObject(m.Payload)
	on, ok := o.Get("latched")
	if err != nil || !ok {
		c.count("cannot parse the stop latch; it counts as a stop", m.Topic, err)
		on = true
	}
	if on == false {
		return
	}
	by, _ := o.Get("by")
	name, _ := by.(string)
	sum := sha256.Sum256(m.Payload)
	s := &mess.Stop{ID: "latch-" + hex.EncodeToString(sum[:8]), Reason: "the stop latch at the broker", By: name}
	c.inbox.Put(mess.Message{From: mailbox.Exchange, Items: []mess.Item{&mess.Config{Stop: s}}}, true)
}

// urgent processes the orders in a message on the priority topic: a stop, a drain and a resume.
// It discards other items, because they must keep their order in the topic in.
func (c *Client) urgent(m mess.Message, where string) {
	m, others := mailbox.Orders(m)
	for range others {
		c.count("discarded an item that is no stop and no drain; publish it on the topic in", where, nil)
	}
	if len(m.Items) > 0 {
		c.inbox.Put(m, true)
	}
}

// introduce publishes the card of an executor that registers: its capabilities, and a hash that
// shows a change.
func (c *Client) introduce(ctx context.Context, about *mess.Executor) {
	if about == nil || about.Capabilities == nil {
		return
	}
	e := *about
	e.Holding, e.Instance, e.Stopped, e.Drained = nil, "", nil, nil
	e.Extra = slices.DeleteFunc(slices.Clone(e.Extra), func(f mess.Field) bool { return f.Key == mess.FailingField }) // for operators only; it does not describe the executor
	m := mess.Message{Items: []mess.Item{&mess.Config{Executor: &e}}}
	sum := sha256.Sum256(m.ListJSON())
	hash := hex.EncodeToString(sum[:8])
	m.Extra = mess.Object{{Key: "hash", Value: hash}}
	text, err := m.JSON()
	if err != nil {
		return
	}
	card := broker.Message{Topic: c.root.Executor(c.cfg.Executor, topic.Card), Payload: text, Retain: true}
	c.mu.Lock()
	same := c.status.Card == hash
	c.card, c.status.Card = card, hash
	c.mu.Unlock()
	if same {
		return
	}
	if err := c.link.Publish(ctx, card); err != nil && !errors.Is(err, broker.ErrDown) {
		c.log.Debug("card not published", "err", err)
	}
}

// publishStatusOf derives the status of the executor from its last report to the exchange, and
// publishes it.
func (c *Client) publishStatusOf(ctx context.Context, e *mess.Executor) {
	c.changeStatus(ctx, func(s *ownStatus) {
		if e.Holding != nil {
			s.Queue = len(e.Holding)
		}
		if reason, ok := e.Extra.Get("disarmed"); ok {
			c.disarmed = reason != ""
		}
		if e.Stopped != nil {
			c.stopped = e.Stopped.Reason != ""
		}
		if e.Drained != nil {
			c.drained = e.Drained.Reason != ""
		}
		switch {
		case c.stopped:
			s.State = "stopped"
		case c.disarmed:
			s.State = "disarmed"
		case c.drained:
			s.State = "held"
		case s.Queue > 0:
			s.State = "busy"
		default:
			s.State = "ready"
		}
	})
}
