package mqtt

import (
	"maps"
	"math"
	"slices"
	"strings"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/intake"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/internal/broker/port"
	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/peer"
	"github.com/messkit/messkit/mess/topic"
)

// client is a session at the broker, connected or not.
type client struct {
	subject
	conn     *broker.Client
	unwatch  func()
	ended    bool   // its key is not valid any more
	packetID uint16 // of a subscribe or unsubscribe packet without an answer
}

// brokerHook implements the hooks of the broker.
type brokerHook struct {
	broker.HookBase
	e *Embedded
}

// ID returns the name of the hook.
func (*brokerHook) ID() string { return "messkit" }

// Provides reports whether the type implements a hook.
func (*brokerHook) Provides(b byte) bool {
	return slices.Contains([]byte{
		broker.OnConnectAuthenticate, broker.OnACLCheck, broker.OnSessionEstablish, broker.OnSessionEstablished, broker.OnSubscribed, broker.OnDisconnect,
		broker.OnPublish, broker.OnWillSent, broker.OnQosPublish, broker.OnPacketRead, broker.OnPacketEncode, broker.OnClientExpired,
	}, b)
}

// actorOf returns the actor of a client id. An actor may have several connections, such as me
// and me:anything.
func actorOf(clientID string) string {
	id, _, _ := strings.Cut(clientID, ":")
	return id
}

// OnConnectAuthenticate admits clients with a key under the name of its actor, and clients of
// this machine without a key under a name that has none. It checks a will like a message to
// publish.
func (h *brokerHook) OnConnectAuthenticate(cl *broker.Client, pk packets.Packet) bool {
	e := h.e
	c := &client{conn: cl, unwatch: func() {}}
	user, key := string(pk.Connect.Username), string(pk.Connect.Password)
	switch {
	case user == "" && key == "":
		c.anonymous = true
		local, err := isLocalUser(cl)
		if err != nil {
			e.logRefused(cl, "no key; the exchange cannot read whose process connects: "+err.Error())
			return false
		}
		if !local || e.hasKey(actorOf(cl.ID)) {
			e.logRefused(cl, "no key; only a local process of the exchange's user connects without one")
			return false
		}
	default:
		actor, err := e.keys.Authenticate(key)
		if err != nil || actor.ID != user || actorOf(cl.ID) != user || !topic.ValidID(user) {
			e.logRefused(cl, "the key, the user and the client's id do not agree")
			return false
		}
		c.Actor = actor
	}
	if pk.Connect.WillFlag && !e.rules.mayWill(c.subject, pk.Connect.WillTopic) {
		e.logRefused(cl, "it may not have such a will")
		return false
	}
	e.addClient(cl.ID, c, key)
	return true
}

// mayWill reports whether a client may have a will on a topic. A will speaks for a dead client,
// so it may not give orders.
func (r accessRules) mayWill(s subject, name string) bool {
	t, ok := r.root.Parse(name)
	return (ok && t.Kind == topic.ExecutorStatus || name == homeassistant.BirthTopic) && r.mayWrite(s, name)
}

// isLocalUser reports whether a client is a process on this machine of the exchange's own user
// or of root. The error says that the system did not list its connections just now.
func isLocalUser(cl *broker.Client) (bool, error) {
	if cl.Net.Conn == nil {
		return false, nil
	}
	return peer.Same(cl.Net.Conn.LocalAddr().String(), cl.Net.Conn.RemoteAddr().String())
}

func (e *Embedded) logRefused(cl *broker.Client, reason string) {
	if n := e.adapter.counters.refused.Add(1); intake.IsLogged(n) {
		e.log.Warn("the broker rejects an MQTT client", "client", printable(cl.ID), "remote", cl.Net.Remote, "err", reason, "count", n)
	}
}

// printable returns an untrusted id for the log.
func printable(id string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, id[:min(len(id), 80)])
}

// addClient records the subject of a client id. The connection ends with the key.
func (e *Embedded) addClient(id string, c *client, key string) {
	e.mu.Lock()
	was := e.clients[id]
	e.clients[id] = c
	e.mu.Unlock()
	if was != nil {
		if !was.conn.Closed() {
			e.log.Warn("an MQTT client takes over a session; another client uses the same id, or the old connection is dead", "client", printable(id), "remote", c.conn.Net.Remote, "was", was.conn.Net.Remote)
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

// subjectOf returns the subject of a client.
func (e *Embedded) subjectOf(cl *broker.Client) (subject, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.clients[cl.ID]
	if c == nil || c.ended || cl.IsTakenOver() {
		return subject{}, false
	}
	return c.subject, true
}

// OnACLCheck applies the access rules to each message, each subscription, and again to each
// message of a subscription.
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
		if n := h.e.adapter.counters.refused.Add(1); intake.IsLogged(n) {
			h.e.log.Warn("an MQTT client may not publish to this topic", "client", printable(cl.ID), "topic", printable(name), "count", n)
		}
	}
	return ok
}

// OnSessionEstablish clears the unacknowledged messages of an earlier session. The exchange
// publishes them again in order, so the broker must not.
func (h *brokerHook) OnSessionEstablish(cl *broker.Client, _ packets.Packet) {
	cl.State.Inflight.ResetSendQuota(0) // only one message at a time is on its way
	if old, ok := h.e.server.Clients.Get(cl.ID); ok {
		old.ClearInflights()
		h.e.dropPending(cl.ID)
	}
}

// OnSessionEstablished wakes publishers that wait for the client.
func (h *brokerHook) OnSessionEstablished(cl *broker.Client, _ packets.Packet) {
	h.e.notifyReaders(filters(cl)...)
}

// OnSubscribed wakes publishers that wait for the client.
func (h *brokerHook) OnSubscribed(cl *broker.Client, _ packets.Packet, _ []byte) {
	h.e.notifyReaders(filters(cl)...)
}

func filters(cl *broker.Client) []string {
	return slices.Collect(maps.Keys(cl.State.Subscriptions.GetAll()))
}

// OnDisconnect gives up the messages that a client has not acknowledged.
func (h *brokerHook) OnDisconnect(cl *broker.Client, _ error, expire bool) {
	if cl.IsTakenOver() {
		return
	}
	h.e.dropPending(cl.ID)
	if expire {
		h.e.removeClient(cl)
	}
}

// OnClientExpired forgets an expired session.
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

// dropPending gives up the messages on their way to a client.
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

// OnQosPublish records which clients have to acknowledge a message of the adapter.
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

// reservedPacketID replaces the packet id of a subscription at the broker. Messages to a client
// get it last.
const reservedPacketID = math.MaxUint16

// OnPacketRead sees the acknowledgment of a client. The broker's own hook for this is unusable:
// it mixes up the packet ids of the two directions. For the same reason the broker would reject
// a subscription with the packet id of a message on its way, so the subscription gets another
// one.
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

// OnPacketEncode restores the client's own packet id in the answer to a subscription.
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

// OnPublish takes messages for the exchange. No other client gets them.
func (h *brokerHook) OnPublish(cl *broker.Client, pk packets.Packet) (_ packets.Packet, err error) {
	err = packets.CodeSuccessIgnore // the broker drops the message
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
			e.adapter.receive(e.ctx, in) // receive discards it
			return pk, packets.CodeSuccessIgnore
		}
	case topic.ExecutorStatus, topic.ExecutorCard, topic.StopLatch:
		in.retain = false // it is new
		e.adapter.receive(e.ctx, in)
	}
	return pk, nil
}

// receiveFromRequester takes a message of a requester. One with QoS 0 needs no acknowledgment,
// so the broker reads the next packet in the meantime. A stop has its own queue, so it waits
// for nothing.
func (e *Embedded) receiveFromRequester(t topic.Topic, in inbound) {
	take := func() { e.adapter.receive(e.ctx, in) }
	sender := senderOf(t, in.payload)
	if in.mayRepeat {
		e.queues.RunAfter(sender, take)
	} else if !e.queues.Put(sender, maxWaiting, take) {
		if n := e.adapter.counters.dropped.Add(1); intake.IsLogged(n) {
			e.log.Warn("too many messages with QoS 0; the exchange drops some", "count", n)
		}
	}
}

// OnWillSent takes the will of a lost client.
func (h *brokerHook) OnWillSent(_ *broker.Client, pk packets.Packet) {
	h.e.adapter.receive(h.e.ctx, inbound{topic: pk.TopicName, payload: pk.Payload})
}
