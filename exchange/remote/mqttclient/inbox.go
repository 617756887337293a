package mqttclient

import (
	"context"
	"sync"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// inbox queues messages for the executor. Urgent messages come first.
type inbox struct {
	news chan struct{} // signals a message or a new era

	mu           sync.Mutex
	urgent       []mess.Message
	queue        []mess.Message
	era          uint64 // increases when messages may be lost
	known        uint64 // the era of the executor's last registration
	isRegistered bool   // the executor has registered
}

// maxInbox is the maximum number of queued messages. An executor with a longer backlog loses
// them and must register again.
const maxInbox = 4096

func newInbox() *inbox { return &inbox{news: make(chan struct{}, 1)} }

// put adds a message.
func (b *inbox) put(m mess.Message, urgent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer wait.Notify(b.news)
	switch {
	case urgent:
		b.urgent = append(b.urgent, m)
	case len(b.queue) >= maxInbox:
		b.queue = nil
		b.era++
	default:
		b.queue = append(b.queue, m)
	}
}

// noteLoss notes that messages may be lost.
func (b *inbox) noteLoss() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.era++
	wait.Notify(b.news)
}

// now returns the current era.
func (b *inbox) now() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.era
}

// registered notes that the executor has registered in an era.
func (b *inbox) registered(era uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.isRegistered = era, true
}

// next waits for a message. It returns httpclient.ErrReset once if messages may be lost since
// the last registration. If ctx ends, it returns no message and no error.
func (b *inbox) next(ctx context.Context) (m mess.Message, ok bool, err error) {
	for {
		b.mu.Lock()
		switch {
		case len(b.urgent) > 0:
			m, b.urgent = b.urgent[0], b.urgent[1:]
			b.mu.Unlock()
			return m, true, nil
		case b.known != b.era:
			b.known = b.era // report it once
			b.mu.Unlock()
			return m, false, httpclient.ErrReset
		case len(b.queue) > 0:
			m, b.queue = b.queue[0], b.queue[1:]
			b.mu.Unlock()
			return m, true, nil
		}
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return m, false, nil
		case <-b.news:
		}
	}
}

// open notes the start of Receive. An executor without a registration starts in the current era.
func (b *inbox) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.isRegistered {
		b.known, b.isRegistered = b.era, true
	}
}
