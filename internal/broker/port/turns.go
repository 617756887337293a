package port

import (
	"net"
	"slices"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// turns is a hook of a broker that orders the connections of one client id. A new connection
// begins when the earlier one has ended completely and the broker has published its will. The
// broker itself does not wait. After the end of a connection it deletes the session by the client
// id, also if a new connection with that id exists. That connection then never receives a message
// (attachClient, from OnDisconnect to Clients.Delete, of github.com/mochi-mqtt/server/v2 2.7.9).
// An old will could also follow a new birth message.
type turns struct {
	broker.HookBase
	port *Port
}

// visit is a connection.
type visit struct {
	conn   net.Conn
	client *broker.Client // nil before the broker accepts the connection
	before *visit         // the earlier connection of the same client id, if it still exists
	over   chan struct{}  // closed when the connection has ended completely; nil without a client
}

const turnTime = 10 * time.Second // for an earlier connection to end; otherwise the later client must connect again

// ID names the hook.
func (*turns) ID() string { return "turns" }

// Provides lists the events that the hook receives.
func (*turns) Provides(b byte) bool {
	return slices.Contains([]byte{broker.OnSessionEstablish, broker.OnPacketRead, broker.OnClientExpired}, b)
}

// OnSessionEstablish ends the earlier connections of a client id, and waits for their end. It
// holds no lock meanwhile.
func (t *turns) OnSessionEstablish(cl *broker.Client, _ packets.Packet) {
	v, old := t.port.comes(cl)
	if old == nil {
		return
	}
	late := time.NewTimer(turnTime)
	defer late.Stop()
	for ; old != nil; old = t.port.next(v) {
		t.port.sendAway(old)
		select {
		case <-old.over:
		case <-late.C:
			Cut(cl)
			return
		}
	}
}

// OnPacketRead adds a client to the broker's list again. The session of an earlier connection may
// expire just at the new connection, and the broker then removes the id.
func (t *turns) OnPacketRead(cl *broker.Client, pk packets.Packet) (packets.Packet, error) {
	if pk.FixedHeader.Type == packets.Subscribe || pk.FixedHeader.Type == packets.Pingreq {
		t.port.keep(cl)
	}
	return pk, nil
}

// OnClientExpired deletes the subscriptions of an expired session. The broker keeps them: the
// client would get messages of them after its return.
func (t *turns) OnClientExpired(cl *broker.Client) {
	p := t.port
	p.mu.Lock()
	defer p.mu.Unlock()
	if is, _ := p.server.Clients.Get(cl.ID); is == cl && p.last[cl.ID] == nil {
		p.server.UnsubscribeClient(cl)
		p.server.Clients.Delete(cl.ID)
	}
}

// comes records the client of a connection. It returns the connection and the earlier one of the
// same id. v is nil for a connection of another port, and before is nil without an earlier one.
func (p *Port) comes(cl *broker.Client) (v, before *visit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v = p.conns[cl.Net.Conn]; v == nil {
		return nil, nil
	}
	v.client, v.before, v.over = cl, p.last[cl.ID], make(chan struct{})
	p.last[cl.ID] = v
	return v, v.before
}

// next returns the next connection that v must wait for, after the end of the one before it.
func (p *Port) next(v *visit) *visit {
	p.mu.Lock()
	defer p.mu.Unlock()
	v.before = v.before.before
	return v.before
}

// sendAway ends a connection because its client has a new one. It closes the network
// connection, so that the broker sees a failure and publishes the will.
func (p *Port) sendAway(v *visit) {
	p.mu.Lock()
	notify := v.before == nil && v.client.Properties.ProtocolVersion == 5
	p.mu.Unlock()
	if notify {
		late := time.AfterFunc(closeTimeout, func() { Cut(v.client) })
		defer late.Stop()
		_ = v.client.WritePacket(packets.Packet{
			FixedHeader: packets.FixedHeader{Type: packets.Disconnect}, ReasonCode: packets.ErrSessionTakenOver.Code,
		}) // the connection ends in any case
	}
	Cut(v.client)
}

// Cut ends a client's connection like a failure of the network. The broker's own Stop may
// lose the will of a client that has a packet in work (Client.Read of
// github.com/mochi-mqtt/server/v2 2.7.9).
func Cut(cl *broker.Client) { _ = cl.Net.Conn.Close() }

// keep adds a client to the broker's list if it is missing there.
func (p *Port) keep(cl *broker.Client) {
	if is, _ := p.server.Clients.Get(cl.ID); is == cl || cl.IsTakenOver() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if v := p.last[cl.ID]; v != nil && v.client == cl {
		p.server.Clients.Add(cl)
	}
}

// goes records that a connection has ended completely. The caller holds p.mu.
func (p *Port) goes(v *visit) {
	delete(p.conns, v.conn)
	if v.client == nil {
		return
	}
	close(v.over)
	switch id := v.client.ID; {
	case p.last[id] != v:
	case v.before != nil: // it ended before its turn
		p.last[id] = v.before
	default:
		delete(p.last, id)
	}
}
