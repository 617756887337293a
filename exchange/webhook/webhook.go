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

// Hooks are the webhooks of one exchange. Make them with Open and keep Run
// running.
type Hooks struct {
	x      *exchange.Exchange
	keys   Keys
	cfg    Config
	file   string
	log    *slog.Logger
	client *http.Client
	places chan struct{} // for notices that are on their way

	wake  chan struct{} // there is something to send
	dirty chan struct{} // there is something to write down

	mu     sync.Mutex
	lanes  map[string]*lane // by executor
	recent []Entry          // the log, oldest first
	status statuses
	ended  string               // the ref of the thread whose end was the last thing that happened
	told   map[string][]string  // ref to the people who were told of the offer
	tries  map[string]time.Time // when an executor has asked for a test, lately
	used   bool                 // there is something to write down, or was once
}

// lane is what waits for one executor, oldest first. It is guarded by Hooks.mu.
type lane struct {
	queue []notice
	runs  bool
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
func (h *Hooks) Run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { return h.follow(gctx) })
	g.Go(func() error { return h.deliver(gctx) })
	g.Go(func() error { return h.write(gctx) })
	err := g.Wait()
	h.save(true)
	return err
}

// follow hears what happens. It never waits for a receiver.
func (h *Hooks) follow(ctx context.Context) error {
	all := exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}
	after, began := "now", false
	for ctx.Err() == nil {
		err := h.x.Follow(ctx, all, after, func(e exchange.Event) error {
			if e.ID != "" {
				after = e.ID
			}
			if e.Kind == exchange.EventReset && began {
				h.lost("the exchange was too busy to note what it had to tell")
			}
			began = true
			if e.Kind == exchange.EventMessage {
				h.happened(e)
			}
			return nil
		})
		if err != nil && !errors.Is(err, exchange.ErrSlow) {
			h.log.Warn("webhooks: events interrupted", "err", err)
			if !wait.For(ctx, firstWait) {
				break
			}
		}
	}
	return nil
}

// deliver keeps a lane running for everybody for whom something waits.
func (h *Hooks) deliver(ctx context.Context) error {
	var g errgroup.Group
	for {
		for _, id := range h.idle() {
			g.Go(func() error { h.run(ctx, id); return nil })
		}
		select {
		case <-ctx.Done():
			return g.Wait()
		case <-h.wake:
		}
	}
}

// idle lists those for whom something waits and nobody works, and marks that
// somebody does.
func (h *Hooks) idle() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var ids []string
	for id, l := range h.lanes {
		if len(l.queue) > 0 && !l.runs {
			l.runs = true
			ids = append(ids, id)
		}
	}
	return ids
}

// run sends what waits for one executor, in its order, until nothing does.
func (h *Hooks) run(ctx context.Context, id string) {
	for {
		n, ok := h.first(id)
		if !ok {
			return
		}
		if !wait.For(ctx, time.Until(n.Due)) {
			h.rest(id)
			return
		}
		h.outcome(ctx, n, h.attempt(ctx, n))
	}
}

func (h *Hooks) first(id string) (notice, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lanes[id]
	if len(l.queue) == 0 {
		delete(h.lanes, id)
		return notice{}, false
	}
	return l.queue[0], true
}

func (h *Hooks) rest(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lanes[id].runs = false
}

// attempt sends a notice once, when there is a place for it.
func (h *Hooks) attempt(ctx context.Context, n notice) result {
	select {
	case <-ctx.Done():
		return result{err: ctx.Err()}
	case h.places <- struct{}{}:
	}
	defer func() { <-h.places }()
	return h.send(ctx, n)
}

// outcome notes what came of an attempt: the notice is done with, or waits for
// the next one.
func (h *Hooks) outcome(ctx context.Context, n notice, r result) {
	if ctx.Err() != nil && r.err != nil {
		return // it is sent by the next run
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lanes[n.Executor]
	if len(l.queue) == 0 || l.queue[0].ID != n.ID {
		if r.err == nil { // it had to give way, and has arrived all the same
			h.note(n, Delivered, r)
		}
		return
	}
	n.Tries++
	state := Delivered
	switch {
	case r.err == nil:
	case r.final:
		state = Refused
	case n.Tries >= maxTries || time.Since(n.Made) > maxAge:
		state = GivenUp
	default:
		state = Waiting
		n.Due = time.Now().Add(wait.Backoff{First: firstWait, Last: longestOff}.After(n.Tries))
	}
	if l.queue[0] = n; state != Waiting {
		l.queue = l.queue[1:]
	}
	h.note(n, state, r)
}
