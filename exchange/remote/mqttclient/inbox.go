package mqttclient

import (
	"context"
	"sync"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// inbox holds what has come for the executor until it is taken. What stops goes
// before everything else.
type inbox struct {
	news chan struct{} // something is there

	mu     sync.Mutex
	urgent []mess.Message
	queue  []mess.Message
	era    uint64 // grows when something may have been missed
	known  uint64 // the era in which the executor said who it is
	told   bool   // it has said so
}

// maxInbox is how many messages may wait. Who is so far behind begins anew.
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

// anew notes that something may have been missed.
func (b *inbox) anew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.era++
	wait.Notify(b.news)
}

// now is the era.
func (b *inbox) now() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.era
}

// registered notes that the executor has said who it is in an era.
func (b *inbox) registered(era uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.known, b.told = era, true
}

// next waits for a message. The error is httpclient.ErrReset when something may have been
// missed since the executor said who it is; nil with no message when ctx ends.
func (b *inbox) next(ctx context.Context) (m mess.Message, ok bool, err error) {
	for {
		b.mu.Lock()
		switch {
		case len(b.urgent) > 0:
			m, b.urgent = b.urgent[0], b.urgent[1:]
			b.mu.Unlock()
			return m, true, nil
		case b.known != b.era:
			b.known = b.era // once
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

// open notes that somebody begins to read who has said nothing of himself here.
func (b *inbox) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.told {
		b.known, b.told = b.era, true
	}
}
