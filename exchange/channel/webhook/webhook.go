// Package webhook sends notifications over HTTP to executors that have registered an address,
// in the form of the MESS reference servers. It sends in the background, in order for each
// executor. A slow or absent receiver delays only its own notifications. The package knows no
// other channel.
//
// A Dispatcher follows the feed of the store from a stored position, so a restart or a crash of the
// exchange loses no event of a thread. It may send a notification twice, with the same delivery id.
package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/lease"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/exchange/push"
	"github.com/messkit/messkit/internal/keyed"
	"github.com/messkit/messkit/internal/wait"
)

// Config is the settings of webhooks.
type Config struct {
	// Allow lists networks that addresses may lead to, in addition to the public internet:
	// 192.168.1.0/24, 127.0.0.1/32.
	Allow []netip.Prefix `yaml:"allow"`
	// Timeout is the limit of one attempt. 0 means 10 s.
	Timeout time.Duration `yaml:"timeout"`
}

const defaultTimeout = 10 * time.Second

// Validate returns an error for every invalid setting.
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

// Keys returns the roles of an actor and the secret that it shares with the exchange. ok is
// false if the actor has no key.
type Keys interface {
	Shared(id string) (actor exchange.Actor, secret []byte, ok bool)
}

// Dispatcher sends the notifications of one exchange. Make it with Open and keep Run running.
// It is safe for concurrent use.
type Dispatcher struct {
	x      *exchange.Exchange
	keys   Keys
	cfg    Config
	file   string
	log    *slog.Logger
	client *http.Client
	slots  chan struct{} // limits attempts at the same time

	people  People       // nil: nobody but executors gets notifications
	notices *notices.Log // nil with people
	push    *push.Keys   // nil with people

	queues keyed.Queues[*notification] // by executor; mu guards the notifications
	dirty  chan struct{}               // signals that the file is out of date
	saving sync.Mutex                  // held while save writes; goroutines take it before mu

	mu      sync.Mutex
	recent  []Entry // the log, oldest first
	status  statuses
	ended   string               // the ref of the thread whose terminal status was the last event
	tries   map[string]time.Time // by executor: time of the last test
	used    bool                 // there is or was something to store
	unsaved bool                 // the file is out of date
	at      position             // where it is in the feed
	latest  time.Time            // of the last step of a thread in the feed
	moved   bool                 // a thread has changed since the exchange stored at
	stored  bool                 // the exchange stores at

	// These are for a store that several exchanges share: one of them sends.
	lease   *lease.Lease               // nil: the store is not shared
	sender  atomic.Pointer[Dispatcher] // while this exchange sends
	term    uint64                     // of the lease, in a sender
	changed map[string]bool            // ids of deliveries that the store does not have, or has still
}

const (
	maxWaiting = 256 // notifications for one executor
	maxOut     = 32  // attempts at the same time
	maxTries   = 8
	maxAge     = time.Hour // the sender gives up older notifications
	firstWait  = time.Second
	longestOff = 5 * time.Minute

	lastSave = 5 * time.Second // limits the save at the end
)

// Run sends notifications until ctx ends. The file keeps the others for the next start. Of several
// exchanges with the same store one sends; the store keeps the deliveries for it and for the next one.
func (h *Dispatcher) Run(ctx context.Context) error {
	if h.lease == nil {
		return h.run(ctx)
	}
	return h.lease.Run(ctx, h.runSender)
}

func (h *Dispatcher) run(ctx context.Context) error {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { h.follow(gctx); return nil })
	g.Go(func() error { h.queues.Runner.Run(gctx, h.sendFirst); return nil })
	g.Go(func() error { h.storeFirst(gctx); return nil })
	g.Go(func() error { h.followPeople(gctx); return nil })
	g.Go(func() error { return h.saveChanges(gctx) })
	err := g.Wait()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSave)
	defer cancel()
	h.save(last, true)
	return err
}

// sendFirst sends the first notification of an executor. Otherwise it returns the time until
// that is due.
func (h *Dispatcher) sendFirst(ctx context.Context, id string) (again time.Duration) {
	return h.queues.Work(id, func(n *notification) time.Duration {
		h.mu.Lock()
		now := *n
		h.mu.Unlock()
		if left := time.Until(now.Due); left > 0 {
			return left
		}
		if h.lease != nil && !h.lease.IsHeld() {
			return firstWait // ctx ends soon, and another exchange sends it
		}
		return h.finish(ctx, n, h.attempt(ctx, now))
	})
}

// attempt sends a notification once, when a slot is free.
func (h *Dispatcher) attempt(ctx context.Context, n notification) result {
	select {
	case <-ctx.Done():
		return result{err: ctx.Err()}
	case h.slots <- struct{}{}:
	}
	defer func() { <-h.slots }()
	return h.send(ctx, n)
}

// finish records the result of an attempt. It returns the time until the next attempt, or
// keyed.Idle after the last one.
func (h *Dispatcher) finish(ctx context.Context, n *notification, r result) (again time.Duration) {
	if ctx.Err() != nil && r.err != nil {
		return 0 // the next run sends it
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if n.lost && r.err != nil { // the log has its end
		return keyed.Idle
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
	h.logState(*n, state, r)
	if state == Waiting {
		return time.Until(n.Due)
	}
	return keyed.Idle
}
