// Package mailbox has what an executor needs to talk with its exchange in messages, over a broker or a
// NATS server: the queue of received messages, orders that must not wait, and answers.
package mailbox

import (
	"context"
	"sync"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// Box queues messages for the executor. Urgent messages come first. It is safe for concurrent use.
type Box struct {
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

// New makes an empty box.
func New() *Box { return &Box{news: make(chan struct{}, 1)} }

// Put adds a message.
func (b *Box) Put(m mess.Message, urgent bool) {
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

// NoteLoss notes that messages may be lost.
func (b *Box) NoteLoss() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.era++
	wait.Notify(b.news)
}

// Era returns the current era.
func (b *Box) Era() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.era
}

// Registered notes that the executor has registered in an era.
func (b *Box) Registered(era uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.isRegistered = era, true
}

// next waits for a message. It returns httpclient.ErrReset once if messages may be lost since
// the last registration. If ctx ends, it returns no message and no error.
func (b *Box) next(ctx context.Context) (m mess.Message, ok bool, err error) {
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

// Receive calls handle, one message at a time, for every message, until ctx ends; then it returns
// nil. It returns httpclient.ErrReset if messages may be lost since the last registration. An
// executor without a registration starts in the current era.
func (b *Box) Receive(ctx context.Context, handle func(mess.Message)) error {
	b.mu.Lock()
	if !b.isRegistered {
		b.known, b.isRegistered = b.era, true
	}
	b.mu.Unlock()
	for {
		m, ok, err := b.next(ctx)
		if err != nil || !ok {
			return err
		}
		handle(m)
	}
}
