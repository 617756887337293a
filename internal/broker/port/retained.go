package port

import (
	"sync"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// Retained is a hook of a broker that keeps apart those who change its retained
// messages and those who look through them. The broker itself does not: it writes
// the name of a retained topic under locks that a subscription with wildcards does
// not take (TopicsIndex.RetainMessage and scanMessages of
// github.com/mochi-mqtt/server/v2 2.7.9), and half a name ends the process.
//
// It is the last hook that is added, so that nothing comes between it and the
// change. Between OnPublish or OnWill and OnRetainMessage the broker waits for
// nobody. Between the SUBACK, which OnPacketSent sees, and OnPacketProcessed it may
// wait for the client, which is cut off if it takes nothing.
type Retained struct {
	broker.HookBase
	server *broker.Server
	tree   sync.RWMutex // for writing: a message is retained

	mu      sync.Mutex
	readers map[*broker.Client]*time.Timer // those who look through what is retained
	wills   map[string]bool                // by client's id: retained, and said after a delay
}

// NewRetained makes the hook of a server that retains messages.
func NewRetained(s *broker.Server) *Retained {
	return &Retained{server: s, readers: map[*broker.Client]*time.Timer{}, wills: map[string]bool{}}
}

const readTime = 5 * time.Second // for what a client gets when it subscribes, until it is in the client's queue

// ID names the hook.
func (*Retained) ID() string { return "retained" }

// Provides tells what the hook is to be told.
func (*Retained) Provides(b byte) bool {
	switch b {
	case broker.OnPublish, broker.OnWill, broker.OnRetainMessage, broker.OnWillSent, broker.OnPacketSent, broker.OnPacketProcessed,
		broker.OnSessionEstablished, broker.OnDisconnect, broker.OnClientExpired:
		return true
	}
	return false
}

// OnPublish waits until nobody looks, if a message is to be retained.
func (r *Retained) OnPublish(_ *broker.Client, pk packets.Packet) (packets.Packet, error) {
	if pk.FixedHeader.Retain {
		r.tree.Lock()
	}
	return pk, nil
}

// OnWill does so for a will. One with a delay is retained when it is sent, of which
// the broker would not tell before.
func (r *Retained) OnWill(cl *broker.Client, w broker.Will) (broker.Will, error) {
	switch {
	case !w.Retain:
	case cl.Properties.Will.WillDelayInterval > 0:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.wills[cl.ID] = true
		w.Retain = false
	default:
		r.tree.Lock()
	}
	return w, nil
}

// OnRetainMessage comes when the message is retained.
func (r *Retained) OnRetainMessage(*broker.Client, packets.Packet, int64) { r.tree.Unlock() }

// OnWillSent retains a will that had a delay.
func (r *Retained) OnWillSent(cl *broker.Client, pk packets.Packet) {
	if r.forget(cl.ID) {
		r.tree.Lock()
		defer r.tree.Unlock()
		pk.FixedHeader.Retain = true
		r.server.Topics.RetainMessage(pk.Copy(false))
	}
}

// OnPacketSent sees the SUBACK: next, the broker looks through what is retained.
func (r *Retained) OnPacketSent(cl *broker.Client, pk packets.Packet, _ []byte) {
	if pk.FixedHeader.Type != packets.Suback {
		return
	}
	r.tree.RLock()
	late := time.AfterFunc(readTime, func() { Cut(cl) })
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers[cl] = late
}

// OnPacketProcessed comes when that is done. It is not, where there was no SUBACK.
func (r *Retained) OnPacketProcessed(cl *broker.Client, pk packets.Packet, _ error) {
	if pk.FixedHeader.Type != packets.Subscribe {
		return
	}
	r.mu.Lock()
	late := r.readers[cl]
	delete(r.readers, cl)
	r.mu.Unlock()
	if late != nil {
		late.Stop()
		r.tree.RUnlock()
	}
}

// OnSessionEstablished forgets the will of a client that is back, as the broker has.
func (r *Retained) OnSessionEstablished(cl *broker.Client, _ packets.Packet) {
	r.forget(cl.ID)
}

// OnDisconnect forgets that of one whose session ends, as the broker does.
func (r *Retained) OnDisconnect(cl *broker.Client, _ error, expire bool) {
	if expire {
		r.forget(cl.ID)
	}
}

// OnClientExpired does so later.
func (r *Retained) OnClientExpired(cl *broker.Client) { r.forget(cl.ID) }

// forget reports whether there was a will.
func (r *Retained) forget(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.wills[id]
	delete(r.wills, id)
	return had
}
