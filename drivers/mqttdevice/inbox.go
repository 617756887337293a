package mqttdevice

import (
	"context"
	"sync"
	"time"
)

// maxPayload is what is kept of a topic; more is no state of a plug.
const maxPayload = 64 << 10

// heard is the last that was heard on a topic.
type heard struct {
	payload  []byte
	at       time.Time
	retained bool // the broker kept it: nobody knows how old it is
	number   int  // how many were heard on all topics up to it
}

// inbox keeps the last message of each topic.
type inbox struct {
	mu     sync.Mutex
	last   map[string]heard
	number int
	news   chan struct{} // is closed by the next message
}

func newInbox() *inbox { return &inbox{last: map[string]heard{}, news: make(chan struct{})} }

// put takes in a message. It never waits.
func (i *inbox) put(topic string, payload []byte, retained bool, at time.Time) {
	if len(payload) > maxPayload {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.number++
	i.last[topic] = heard{payload, at, retained, i.number}
	close(i.news)
	i.news = make(chan struct{})
}

// now is how many messages were heard.
func (i *inbox) now() int { i.mu.Lock(); defer i.mu.Unlock(); return i.number }

// forget drops what is known: the connection was lost, and with it what was said
// meanwhile.
func (i *inbox) forget() {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.last)
}

func (i *inbox) get(topic string) (heard, bool, <-chan struct{}) {
	i.mu.Lock()
	defer i.mu.Unlock()
	h, ok := i.last[topic]
	return h, ok, i.news
}

// await waits until a message on a topic is what it should be, and returns the
// last one that there was with why it was not.
func (i *inbox) await(ctx context.Context, topic string, is func(heard) bool) (heard, bool) {
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
