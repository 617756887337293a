package port

import (
	"sync"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// Retained is a hook of a broker that separates changes of retained messages from searches in
// them. The broker itself does not: it writes the name of a retained topic under locks that a
// subscription with wildcards does not take. A half-written name crashes the process
// (TopicsIndex.RetainMessage and scanMessages of github.com/mochi-mqtt/server/v2 2.7.9).
//
// Add it as the last hook, so that no other hook runs between it and the change. Between
// OnPublish or OnWill and OnRetainMessage the broker does not block. Between the SUBACK, which
// OnPacketSent sees, and OnPacketProcessed it may wait for the client; Retained disconnects a
// client that does not read.
type Retained struct {
	broker.HookBase
	server *broker.Server
	tree   sync.RWMutex // a writer holds it while the broker stores a message

	mu      sync.Mutex
	readers map[*broker.Client]*time.Timer // clients whose subscription searches the retained messages
	wills   map[string]bool                // by client's id: retained wills with a delay
}

// NewRetained makes the hook of a server that retains messages.
func NewRetained(s *broker.Server) *Retained {
	return &Retained{server: s, readers: map[*broker.Client]*time.Timer{}, wills: map[string]bool{}}
}

const readTime = 5 * time.Second // until the retained messages for a subscription are in the client's queue

// ID names the hook.
func (*Retained) ID() string { return "retained" }

// Provides lists the events that the hook receives.
func (*Retained) Provides(b byte) bool {
	switch b {
	case broker.OnPublish, broker.OnWill, broker.OnRetainMessage, broker.OnWillSent, broker.OnPacketSent, broker.OnPacketProcessed,
		broker.OnSessionEstablished, broker.OnDisconnect, broker.OnClientExpired:
		return true
	}
	return false
}

// OnPublish waits for the end of all searches before a retained message.
func (r *Retained) OnPublish(_ *broker.Client, pk packets.Packet) (packets.Packet, error) {
	if pk.FixedHeader.Retain {
		r.tree.Lock()
	}
	return pk, nil
}

// OnWill does the same for a will. The broker stores a will with a delay when it sends it, and
// calls no hook before.
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

// OnRetainMessage runs when the broker has stored the message.
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

// OnPacketSent sees the SUBACK: next, the broker searches the retained messages.
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

// OnPacketProcessed runs after that search. Without a SUBACK there was none.
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

// OnSessionEstablished forgets the will of a client that has returned, like the broker.
func (r *Retained) OnSessionEstablished(cl *broker.Client, _ packets.Packet) {
	r.forget(cl.ID)
}

// OnDisconnect forgets the will if the session ends, like the broker.
func (r *Retained) OnDisconnect(cl *broker.Client, _ error, expire bool) {
	if expire {
		r.forget(cl.ID)
	}
}

// OnClientExpired forgets the will of an expired session.
func (r *Retained) OnClientExpired(cl *broker.Client) { r.forget(cl.ID) }

// forget removes the will of a client, and reports whether there was one.
func (r *Retained) forget(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	had := r.wills[id]
	delete(r.wills, id)
	return had
}
