package mqtt

import (
	"math"
	"slices"
	"strings"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/internal/broker/port"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/peer"
	"github.com/messkit/messkit/mess/topic"
)

// client is a session at the broker of our own, connected or not.
type client struct {
	subject
	conn     *broker.Client
	unwatch  func()
	ended    bool   // its key has ended
	packetID uint16 // of its subscription or the end of one, while that is dealt with
}

// brokerHook is what the broker asks and tells.
type brokerHook struct {
	broker.HookBase
	e *Embedded
}

// ID names the hook.
func (*brokerHook) ID() string { return "messkit" }

// Provides tells which of the broker's questions have an answer here.
func (*brokerHook) Provides(b byte) bool {
	return slices.Contains([]byte{
		broker.OnConnectAuthenticate, broker.OnACLCheck, broker.OnSessionEstablish, broker.OnSessionEstablished, broker.OnSubscribed, broker.OnDisconnect,
		broker.OnPublish, broker.OnWillSent, broker.OnQosPublish, broker.OnPacketRead, broker.OnPacketEncode, broker.OnClientExpired,
	}, b)
}

// actorOf is the actor that a client's id stands for: an actor may have several
// connections, as me and me:anything.
func actorOf(clientID string) string {
	id, _, _ := strings.Cut(clientID, ":")
	return id
}

// OnConnectAuthenticate lets in who has a key, under the name of its actor alone,
// and from this machine those without one who claim to be nobody that has. A will
// is looked at as what it is: something that is published.
func (h *brokerHook) OnConnectAuthenticate(cl *broker.Client, pk packets.Packet) bool {
	e := h.e
	c := &client{conn: cl, unwatch: func() {}}
	user, key := string(pk.Connect.Username), string(pk.Connect.Password)
	switch {
	case user == "" && key == "":
		c.anonymous = true
		if !isLocalUser(cl) || e.hasKey(actorOf(cl.ID)) {
			e.logRefused(cl, "no key; without one only the exchange's own user on this machine may come in")
			return false
		}
	default:
		who, err := e.keys.Authenticate(key)
		if err != nil || who.ID != user || actorOf(cl.ID) != user || !topic.ValidID(user) {
			e.logRefused(cl, "the key, the user and the client's id do not agree")
			return false
		}
		c.Actor = who
	}
	if pk.Connect.WillFlag && !e.rules.mayWill(c.subject, pk.Connect.WillTopic) {
		e.logRefused(cl, "it may not have such a will")
		return false
	}
	e.addClient(cl.ID, c, key)
	return true
}

// mayWill reports whether a will may go to a topic: a will speaks for a dead
// client, and gives no orders.
func (r accessRules) mayWill(s subject, name string) bool {
	t, ok := r.root.Parse(name)
	return (ok && t.Kind == topic.ExecutorStatus || name == homeassistant.BirthTopic) && r.mayWrite(s, name)
}

// isLocalUser reports whether a client is a process of the exchange's own user on this
// machine, or of root.
func isLocalUser(cl *broker.Client) bool {
	return cl.Net.Conn != nil && peer.Same(cl.Net.Conn.LocalAddr().String(), cl.Net.Conn.RemoteAddr().String())
}

func (e *Embedded) logRefused(cl *broker.Client, why string) {
	if n := e.adapter.counters.refused.Add(1); isLogged(n) {
		e.log.Warn("a client is not let in", "client", printable(cl.ID), "remote", cl.Net.Remote, "err", why, "count", n)
	}
}

// printable is an id as a stranger has sent it, for the log.
func printable(id string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, id[:min(len(id), 80)])
}

// addClient notes who is behind a client's id. What goes on under a key ends with it.
func (e *Embedded) addClient(id string, c *client, key string) {
	e.mu.Lock()
	was := e.clients[id]
	e.clients[id] = c
	e.mu.Unlock()
	if was != nil {
		if !was.conn.Closed() {
			e.log.Warn("a session is taken over; another client uses the same id, or the old connection is dead", "client", printable(id), "remote", c.conn.Net.Remote, "was", was.conn.Net.Remote)
		}
		was.unwatch()
	}
	if c.anonymous {
		return
	}
	stop := e.keys.Watch(key, c.Actor, func() {
		e.mu.Lock()
		c.ended = true
		e.mu.Unlock()
		port.Cut(c.conn)
	})
	e.mu.Lock()
	c.unwatch = stop
	e.mu.Unlock()
}

// subjectOf is the subject behind a client.
func (e *Embedded) subjectOf(cl *broker.Client) (subject, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.clients[cl.ID]
	if c == nil || c.ended || cl.IsTakenOver() {
		return subject{}, false
	}
	return c.subject, true
}

// OnACLCheck asks the rules: for what is published, for each subscription, and
// again for each message that a subscription is to get.
func (h *brokerHook) OnACLCheck(cl *broker.Client, name string, write bool) bool {
	s, ok := h.e.subjectOf(cl)
	if !ok {
		return false
	}
	if write {
		ok = h.e.rules.mayWrite(s, name)
	} else {
		ok = h.e.rules.mayRead(s, name)
	}
	if !ok && write {
		if n := h.e.adapter.counters.refused.Add(1); isLogged(n) {
			h.e.log.Warn("a client may not write there", "client", printable(cl.ID), "topic", printable(name), "count", n)
		}
	}
	return ok
}

// OnSessionEstablish empties what is taken over from an earlier session. What has
// not been acknowledged comes again from the exchange, in order, and so not from
// the broker.
func (h *brokerHook) OnSessionEstablish(cl *broker.Client, _ packets.Packet) {
	cl.State.Inflight.ResetSendQuota(0) // one message at a time is on its way anyway
	if old, ok := h.e.server.Clients.Get(cl.ID); ok {
		old.ClearInflights()
		h.e.dropPending(cl.ID)
	}
}

// OnSessionEstablished wakes what waits for the client.
func (h *brokerHook) OnSessionEstablished(cl *broker.Client, _ packets.Packet) {
	h.e.notifyReaders(filters(cl)...)
}

// OnSubscribed does so as well.
func (h *brokerHook) OnSubscribed(cl *broker.Client, _ packets.Packet, _ []byte) {
	h.e.notifyReaders(filters(cl)...)
}

func filters(cl *broker.Client) []string {
	var list []string
	for f := range cl.State.Subscriptions.GetAll() {
		list = append(list, f)
	}
	return list
}

// OnDisconnect gives up what a client has not acknowledged.
func (h *brokerHook) OnDisconnect(cl *broker.Client, _ error, expire bool) {
	if cl.IsTakenOver() {
		return
	}
	h.e.dropPending(cl.ID)
	if expire {
		h.e.removeClient(cl)
	}
}

// OnClientExpired forgets a session that has had its time.
func (h *brokerHook) OnClientExpired(cl *broker.Client) { h.e.removeClient(cl) }

func (e *Embedded) removeClient(cl *broker.Client) {
	e.mu.Lock()
	c := e.clients[cl.ID]
	if c == nil || c.conn != cl {
		e.mu.Unlock()
		return
	}
	delete(e.clients, cl.ID)
	e.mu.Unlock()
	c.unwatch()
}

// dropPending gives up what is on its way to a client.
func (e *Embedded) dropPending(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for r, done := range e.pending {
		if r.client == id {
			done <- false
			delete(e.pending, r)
		}
	}
}

// OnQosPublish notes by whom a message of the door is to be acknowledged.
func (h *brokerHook) OnQosPublish(cl *broker.Client, pk packets.Packet, _ int64, _ int) {
	e := h.e
	e.mu.Lock()
	defer e.mu.Unlock()
	if pk.FixedHeader.Type != packets.Publish || e.delivery == nil || e.delivery.topic != pk.TopicName || cl.Closed() {
		return
	}
	r := packetKey{client: cl.ID, packet: pk.PacketID}
	done := make(chan bool, 1)
	e.delivery.to[r], e.pending[r] = done, done
}

// reservedPacketID is the number under which the broker sees a subscription: the last that a
// message on its way to a client may get.
const reservedPacketID = math.MaxUint16

// OnPacketRead sees a client's acknowledgement. The broker's own word of it cannot
// be used: it mixes up the numbers of what a client sends with those of what it
// gets. For the same reason it would refuse a subscription that has the number of
// a message on its way to the client, so that it is given another.
func (h *brokerHook) OnPacketRead(cl *broker.Client, pk packets.Packet) (packets.Packet, error) {
	e := h.e
	switch pk.FixedHeader.Type {
	case packets.Subscribe, packets.Unsubscribe:
		e.mu.Lock()
		defer e.mu.Unlock()
		if c := e.clients[cl.ID]; c != nil && c.conn == cl && pk.PacketID > 0 {
			cl.State.Inflight.Delete(reservedPacketID)
			c.packetID, pk.PacketID = pk.PacketID, reservedPacketID
		}
	case packets.Puback:
		e.mu.Lock()
		defer e.mu.Unlock()
		r := packetKey{client: cl.ID, packet: pk.PacketID}
		if done := e.pending[r]; done != nil {
			done <- true
			delete(e.pending, r)
		}
	}
	return pk, nil
}

// OnPacketEncode gives the answer to a subscription the client's own number.
func (h *brokerHook) OnPacketEncode(cl *broker.Client, pk packets.Packet) packets.Packet {
	if t := pk.FixedHeader.Type; t == packets.Suback || t == packets.Unsuback {
		h.e.mu.Lock()
		defer h.e.mu.Unlock()
		if c := h.e.clients[cl.ID]; c != nil && c.conn == cl && pk.PacketID == reservedPacketID {
			pk.PacketID = c.packetID
		}
	}
	return pk
}

// OnPublish takes what is for the exchange. Nobody else gets it.
func (h *brokerHook) OnPublish(cl *broker.Client, pk packets.Packet) (_ packets.Packet, err error) {
	err = packets.CodeSuccessIgnore // of a message that is dropped
	defer mistake.Caught(h.e.log, "client", printable(cl.ID), "topic", printable(pk.TopicName))
	return h.receive(cl, pk)
}

func (h *brokerHook) receive(cl *broker.Client, pk packets.Packet) (packets.Packet, error) {
	e := h.e
	if cl.Net.Inline {
		return pk, nil
	}
	t, ok := e.adapter.root.Parse(pk.TopicName)
	s, known := e.subjectOf(cl)
	if pk.TopicName == homeassistant.BirthTopic && known {
		e.adapter.receive(e.ctx, inbound{topic: pk.TopicName, payload: pk.Payload})
		return pk, packets.CodeSuccessIgnore
	}
	if !ok || !known {
		return pk, packets.CodeSuccessIgnore
	}
	in := inbound{topic: pk.TopicName, payload: pk.Payload, retain: pk.FixedHeader.Retain, mayRepeat: pk.FixedHeader.Qos > 0}
	if !s.anonymous {
		in.sender = &exchange.Actor{ID: s.ID, Roles: s.Roles}
	}
	switch t.Kind {
	case topic.AgentOut:
		e.receiveFromRequester(t, in)
		return pk, packets.CodeSuccessIgnore
	case topic.ExecutorOut, topic.ThreadFile:
		if s.anonymous && t.Kind == topic.ThreadFile && e.hasKey(e.adapter.states.envelope(t.ID).Executor) {
			e.adapter.counters.refused.Add(1)
			return pk, packets.CodeSuccessIgnore
		}
		e.adapter.receive(e.ctx, in)
		return pk, packets.CodeSuccessIgnore
	case topic.ExecutorNow:
		if in.retain {
			e.adapter.receive(e.ctx, in) // which discards it
			return pk, packets.CodeSuccessIgnore
		}
	case topic.ExecutorStatus, topic.ExecutorCard, topic.StopLatch:
		in.retain = false // it is said now
		e.adapter.receive(e.ctx, in)
	}
	return pk, nil
}

// receiveFromRequester takes what a requester says. What is sent once need not be acknowledged, so
// that the next packet is read meanwhile; a stop is, so that it waits for nothing.
func (e *Embedded) receiveFromRequester(t topic.Topic, in inbound) {
	take := func() { e.adapter.receive(e.ctx, in) }
	sender := senderOf(t, in.payload)
	if in.mayRepeat {
		e.queues.runAfter(sender, take)
	} else if !e.queues.put(sender, false, take) {
		if n := e.adapter.counters.dropped.Add(1); isLogged(n) {
			e.log.Warn("too much at once with QoS 0; messages are dropped", "count", n)
		}
	}
}

// OnWillSent takes the last word of a client that is gone.
func (h *brokerHook) OnWillSent(_ *broker.Client, pk packets.Packet) {
	h.e.adapter.receive(h.e.ctx, inbound{topic: pk.TopicName, payload: pk.Payload})
}
