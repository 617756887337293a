package mqttclient

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	maxPayload = 64 << 10 // size limit for a message; the inbox drops a larger one, because it cannot be a device state
	maxTopics  = 1 << 16  // limit for an inbox with wildcards
)

// Received is the last message of a topic.
type Received struct {
	Payload  []byte
	At       time.Time
	Retained bool // the broker stored it, so its age is unknown
	Number   int  // sequence number in the inbox
}

// message is the last message of a topic.
type message struct {
	topic string
	Received
}

const fewTopics = 8

// Inbox stores the last message of each topic. A message never waits for a reader, and the
// next message of its topic replaces it, so a slow reader costs nothing. The zero value is
// ready for use. It is safe for concurrent use.
type Inbox struct {
	mu     sync.Mutex
	few    []message           // up to fewTopics topics, because a map costs more memory for most devices
	last   map[string]Received // all topics, if there are more; else nil
	number int
	news   chan struct{} // closes at the next message; nil if no caller waits
}

func (i *Inbox) put(topic string, payload []byte, retained bool, at time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, known := i.find(topic); !known && len(i.last) >= maxTopics {
		return
	}
	i.number++
	i.set(topic, Received{payload, at, retained, i.number})
	if i.news != nil {
		close(i.news)
		i.news = nil
	}
}

// set replaces the message of a topic. The caller holds mu.
func (i *Inbox) set(topic string, h Received) {
	n := slices.IndexFunc(i.few, func(m message) bool { return m.topic == topic })
	switch {
	case i.last != nil:
		i.last[topic] = h
	case n >= 0:
		i.few[n].Received = h
	case len(i.few) < fewTopics:
		i.few = append(i.few, message{topic, h})
	default:
		i.last = map[string]Received{topic: h}
		for _, m := range i.few {
			i.last[m.topic] = m.Received
		}
		i.few = nil
	}
}

// find returns the message of a topic. The caller holds mu.
func (i *Inbox) find(topic string) (Received, bool) {
	if h, ok := i.last[topic]; ok {
		return h, true
	}
	for _, m := range i.few {
		if m.topic == topic {
			return m.Received, true
		}
	}
	return Received{}, false
}

// Now returns the number of received messages.
func (i *Inbox) Now() int { i.mu.Lock(); defer i.mu.Unlock(); return i.number }

// forget drops all messages, because after a lost connection they may be outdated.
func (i *Inbox) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.few, i.last = nil, nil
}

// Changes returns a channel that closes at the next message.
func (i *Inbox) Changes() <-chan struct{} {
	_, _, news := i.get("")
	return news
}

func (i *Inbox) get(topic string) (Received, bool, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.news == nil {
		i.news = make(chan struct{})
	}
	h, ok := i.find(topic)
	return h, ok, i.news
}

// Await waits until is returns true for the last message of a topic. If ctx ends before
// that, Await returns the last message and false.
func (i *Inbox) Await(ctx context.Context, topic string, is func(Received) bool) (Received, bool) {
	for {
		h, ok, news := i.get(topic)
		if ok && is(h) {
			return h, true
		}
		select {
		case <-ctx.Done():
			return h, false
		case <-news:
		}
	}
}

// All returns the payload of the last message of every topic.
func (i *Inbox) All() map[string][]byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	m := make(map[string][]byte, len(i.last)+len(i.few))
	for _, one := range i.few {
		m[one.topic] = one.Payload
	}
	for topic, h := range i.last {
		m[topic] = h.Payload
	}
	return m
}
