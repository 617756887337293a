package broker

import (
	"crypto/sha256"
	"sync"
)

// sight is the evidence of a session for another client with the same id.
type sight int

const (
	unseen        sight = iota // this client may not read its own status
	noOtherClient              // this client has published every message on the topic, or the message is older
	another                    // another client has published on the topic
)

// ownTopic watches the topic of a client's own status. MQTT 3.1.1 has no reason code for a
// session that another client has taken over, but a client of the same id publishes its own birth
// message and will on the topic. It is safe for concurrent use.
type ownTopic struct {
	mu       sync.Mutex
	topic    string
	sessions int
	known    map[[sha256.Size]byte]bool // published by this client, or on the topic in its first session
	before   map[[sha256.Size]byte]bool // the same, earlier
	last     sight
}

// maxKnown bounds the memory of published payloads: ownTopic keeps between one and two times
// as many.
const maxKnown = 512

// begin starts a session with its own messages.
func (o *ownTopic) begin(says Session) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.topic, o.last = says.Birth.Topic, unseen
	o.sessions++
	for _, m := range []Message{says.Will, says.Birth, says.End} {
		o.note(m)
	}
}

// publishes records a message before the client sends it.
func (o *ownTopic) publishes(m Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.note(m)
}

func (o *ownTopic) note(m Message) {
	if m.Topic == "" || m.Topic != o.topic {
		return
	}
	if o.known == nil || len(o.known) >= maxKnown {
		o.known, o.before = map[[sha256.Size]byte]bool{}, o.known
	}
	o.known[sha256.Sum256(m.Payload)] = true
}

// readable notes whether the broker lets this client read its own status.
func (o *ownTopic) readable(yes bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if yes && o.last == unseen {
		o.last = noOtherClient
	}
}

// takeOwn records a received message. It returns true for a message on the client's own topic,
// which only ownTopic needs.
func (o *ownTopic) takeOwn(topic string, payload []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if topic == "" || topic != o.topic {
		return false
	}
	sum := sha256.Sum256(payload)
	switch {
	case len(payload) == 0 || o.known[sum] || o.before[sum]:
	case o.sessions == 1: // of an earlier run of this client
		o.note(Message{Topic: topic, Payload: payload})
	default:
		o.last = another
	}
	return true
}

// ended returns the evidence of the last session.
func (o *ownTopic) ended() sight {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}
