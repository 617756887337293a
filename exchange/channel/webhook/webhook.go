// Package webhook tells executors by HTTP what happens to threads: those that
// have registered an address get a notice in the form that servers in the field
// send. Notices are sent in the background, each executor's in their order; a
// slow or absent receiver keeps nobody waiting but itself. It knows nothing of
// doors.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/wait"
)

// Config of webhooks.
type Config struct {
	// Allow are networks that addresses may lead to beside the public internet:
	// 192.168.1.0/24, 127.0.0.1/32.
	Allow []netip.Prefix `yaml:"allow"`
	// Timeout is how long one notice may take; 0: 10 s.
	Timeout time.Duration `yaml:"timeout"`
}

const defaultTimeout = 10 * time.Second

// Validate tells every setting that cannot be.
func (c Config) Validate() error {
	var errs []error
	if c.Timeout != 0 && (c.Timeout < 100*time.Millisecond || c.Timeout > time.Minute) {
		errs = append(errs, fmt.Errorf("timeout: %v is not between 100ms and 1m", c.Timeout))
	}
	for _, p := range c.Allow {
		if !p.IsValid() {
			errs = append(errs, errors.New("allow: there is an entry that is no network; write it like 192.168.1.0/24"))
		}
	}
	return errors.Join(errs...)
}

// Keys tells who an actor is now, and a secret that it and the exchange have in
// common; false if it has no key any more.
type Keys interface {
	Shared(actor string) (who exchange.Actor, secret []byte, ok bool)
}

// Dispatcher are the webhooks of one exchange. Make them with Open and keep Run
// running.
type Dispatcher struct {
	x      *exchange.Exchange
	keys   Keys
	cfg    Config
	file   string
	log    *slog.Logger
	client *http.Client
	slots  chan struct{} // for notices that are on their way

	runner keyed.Runner  // by executor
	dirty  chan struct{} // there is something to write down

	mu         sync.Mutex
	queues     map[string][]notification // by executor, oldest first
	recent     []Entry                   // the log, oldest first
	status     statuses
	ended      string               // the ref of the thread whose end was the last thing that happened
	toldPeople map[string][]string  // ref to the people who were told of the offer
	tries      map[string]time.Time // when an executor has asked for a test, lately
	used       bool                 // there is something to write down, or was once
}

const (
	maxWaiting = 256 // notices for one executor
	maxOut     = 32  // notices on their way at the same time
	maxTries   = 8
	maxAge     = time.Hour // then a notice is no news any more
	firstWait  = time.Second
	longestOff = 5 * time.Minute
)

// Run sends notices until ctx ends. What is not sent by then is kept for the
// next start.
func (h *Dispatcher) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.follow(gctx) })
	g.Go(func() error { h.runner.Run(gctx, h.sendFirst); return nil })
	g.Go(func() error { return h.saveChanges(gctx) })
	err := g.Wait()
	h.save(true)
	return err
}

// follow hears what happens. It never waits for a receiver.
func (h *Dispatcher) follow(ctx context.Context) error {
	all, began := exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}, false
	inbox.Events(ctx, h.x, all, inbox.OnlyNew, h.log, func(e exchange.Event) error {
		if e.Kind == exchange.EventReset && began {
			h.logLost("the exchange was too busy to note what it had to tell")
		}
		began = true
		if e.Kind == exchange.EventMessage {
			h.queueEvent(e)
		}
		return nil
	})
	return nil
}

// sendFirst sends the first notice for an executor, or returns when it is due.
func (h *Dispatcher) sendFirst(ctx context.Context, id string) (again time.Duration) {
	n, ok := h.firstOf(id)
	if !ok {
		return keyed.Idle
	}
	if left := time.Until(n.Due); left > 0 {
		return left
	}
	h.finish(ctx, n, h.attempt(ctx, n))
	return 0
}

func (h *Dispatcher) firstOf(id string) (notification, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.queues[id]) == 0 {
		delete(h.queues, id)
		return notification{}, false
	}
	return h.queues[id][0], true
}

// attempt sends a notice once, when there is a place for it.
func (h *Dispatcher) attempt(ctx context.Context, n notification) result {
	select {
	case <-ctx.Done():
		return result{err: ctx.Err()}
	case h.slots <- struct{}{}:
	}
	defer func() { <-h.slots }()
	return h.send(ctx, n)
}

// finish notes what came of an attempt: the notice is done with, or waits for
// the next one.
func (h *Dispatcher) finish(ctx context.Context, n notification, r result) {
	if ctx.Err() != nil && r.err != nil {
		return // it is sent by the next run
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	queue := h.queues[n.Executor]
	if len(queue) == 0 || queue[0].ID != n.ID {
		if r.err == nil { // it had to give way, and has arrived all the same
			h.logState(n, Delivered, r)
		}
		return
	}
	n.Tries++
	state := Delivered
	switch {
	case r.err == nil:
	case r.final:
		state = Rejected
	case n.Tries >= maxTries || time.Since(n.Made) > maxAge:
		state = GivenUp
	default:
		state = Waiting
		n.Due = time.Now().Add(wait.Backoff{First: firstWait, Last: longestOff}.After(n.Tries))
	}
	if queue[0] = n; state != Waiting {
		h.queues[n.Executor] = queue[1:]
	}
	h.logState(n, state, r)
}
