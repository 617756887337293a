package mqttclient

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	maxPayload = 64 << 10 // bytes of a message that are kept; more is no state of a device
	maxTopics  = 1 << 16  // topics of an inbox that listens by wildcards
)

// Heard is the last message of a topic.
type Heard struct {
	Payload  []byte
	At       time.Time
	Retained bool // the broker kept it: nobody knows how old it is
	Number   int  // how many messages the inbox had received with it
}

// message is the last one of a topic.
type message struct {
	topic string
	Heard
}

const fewTopics = 8

// Inbox keeps the last message of each topic. A message never waits for a reader, and
// the next one of its topic replaces it, so a slow reader costs nothing. The zero value
// is ready for use.
type Inbox struct {
	mu     sync.Mutex
	few    []message        // of up to fewTopics topics: a map costs more for most devices
	last   map[string]Heard // of all topics, where there are more; else nil
	number int
	news   chan struct{} // closed by the next message; nil: nobody waits
}

func (i *Inbox) put(topic string, payload []byte, retained bool, at time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if _, known := i.find(topic); !known && len(i.last) >= maxTopics {
		return
	}
	i.number++
	i.set(topic, Heard{payload, at, retained, i.number})
	if i.news != nil {
		close(i.news)
		i.news = nil
	}
}

// set replaces the message of a topic. mu is held.
func (i *Inbox) set(topic string, h Heard) {
	n := slices.IndexFunc(i.few, func(m message) bool { return m.topic == topic })
	switch {
	case i.last != nil:
		i.last[topic] = h
	case n >= 0:
		i.few[n].Heard = h
	case len(i.few) < fewTopics:
		i.few = append(i.few, message{topic, h})
	default:
		i.last = map[string]Heard{topic: h}
		for _, m := range i.few {
			i.last[m.topic] = m.Heard
		}
		i.few = nil
	}
}

// find returns the message of a topic. mu is held.
func (i *Inbox) find(topic string) (Heard, bool) {
	if h, ok := i.last[topic]; ok {
		return h, true
	}
	for _, m := range i.few {
		if m.topic == topic {
			return m.Heard, true
		}
	}
	return Heard{}, false
}

// Now is how many messages were received.
func (i *Inbox) Now() int { i.mu.Lock(); defer i.mu.Unlock(); return i.number }

// forget drops all messages: the connection was lost, and with it what came meanwhile.
func (i *Inbox) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.few, i.last = nil, nil
}

// Changes is closed by the next message.
func (i *Inbox) Changes() <-chan struct{} {
	_, _, news := i.get("")
	return news
}

func (i *Inbox) get(topic string) (Heard, bool, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.news == nil {
		i.news = make(chan struct{})
	}
	h, ok := i.find(topic)
	return h, ok, i.news
}

// Await waits until the last message of a topic fulfills is. If ctx ends before that, it
// returns the message that there was, and false.
func (i *Inbox) Await(ctx context.Context, topic string, is func(Heard) bool) (Heard, bool) {
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
