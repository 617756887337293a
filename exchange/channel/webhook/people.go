package webhook

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
)

// queueForPeople queues what concerns human executors: a new offer, once, and messages of
// others in their own tasks. They get nothing about offers to robots.
func (h *Dispatcher) queueForPeople(e exchange.Event) {
	for _, ex := range h.notified() {
		switch {
		case !exchange.IsPerson(ex.Executor):
		case h.x.HasOffer(e.Thread.Ref, ex.ID):
			h.queueOffer(ex, e)
		case e.Thread.Executor == ex.ID && e.Message.From != ex.ID:
			h.queueFor(ex, e, changedEvent)
		}
	}
	if e.Thread.Status.Terminal() {
		h.mu.Lock()
		delete(h.at.Notified, e.Thread.Ref)
		h.mu.Unlock()
	}
}

// queueOffer queues the notification of an offer to a person, once.
func (h *Dispatcher) queueOffer(ex exchange.ExecutorInfo, e exchange.Event) {
	if h.wantsEvent(ex, e, time.Now()) && h.markNotified(e.Thread.Ref, ex.ID) {
		h.queueFor(ex, e, createdEvent)
	}
}

// queueFor queues notifications of an event for all addresses and browsers of a person.
func (h *Dispatcher) queueFor(ex exchange.ExecutorInfo, e exchange.Event, event string) {
	now := time.Now()
	if !h.wantsEvent(ex, e, now) {
		return
	}
	for _, t := range h.targets(ex.ID, ex.Extra) {
		_ = h.enqueue(notificationOf(e, event, ex.ID, t, now)) // a sender alone takes events
	}
}

// wantsEvent reports whether an executor has an address or a browser, and wants an event now.
func (h *Dispatcher) wantsEvent(ex exchange.ExecutorInfo, e exchange.Event, now time.Time) bool {
	return len(h.targets(ex.ID, ex.Extra)) > 0 && wantsNow(ex.Extra, summaryOf(e.Thread).Priority, now)
}

// maxNotifiedRefs bounds the refs in position.Told. Beyond it people may get an offer again.
const maxNotifiedRefs = 4096

// markNotified records that a person gets the notification of an offer. It returns false if the
// person has had it.
func (h *Dispatcher) markNotified(ref, id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at.Notified == nil || len(h.at.Notified) >= maxNotifiedRefs {
		h.at.Notified = map[string][]string{}
	}
	if slices.Contains(h.at.Notified[ref], id) {
		return false
	}
	h.at.Notified[ref] = append(h.at.Notified[ref], id)
	h.moved = h.moved || h.stored
	return true
}

// people has the subscriptions to the offers of people.
type people struct {
	subscribed map[string]*exchange.Subscription
	slow       chan string // ids whose subscription has ended
	reports    sync.WaitGroup
}

// followPeople queues notifications of offers until ctx ends. Not every offer comes with a message:
// the time of the robots can be over, or a person has just registered.
func (h *Dispatcher) followPeople(ctx context.Context) {
	p := &people{subscribed: map[string]*exchange.Subscription{}, slow: make(chan string)}
	for ctx.Err() == nil {
		changed, browsers := h.x.ExecutorsChanged(), h.browsersChanged()
		var retry <-chan time.Time
		if err := h.subscribePeople(ctx, p); err != nil {
			h.log.Warn("webhooks: the exchange cannot read the offers of a person", "err", err)
			retry = time.After(retryAfter)
		}
		select {
		case <-ctx.Done():
		case id := <-p.slow:
			p.leave(id)
		case <-changed:
		case <-browsers:
		case <-retry:
		}
	}
	for id := range p.subscribed {
		p.leave(id)
	}
	p.reports.Wait()
}

// subscribePeople subscribes to the offers of all people with an address, and leaves the others. The
// error is that of the store.
func (h *Dispatcher) subscribePeople(ctx context.Context, p *people) error {
	var with []string
	for _, ex := range h.notified() {
		if exchange.IsPerson(ex.Executor) && len(h.targets(ex.ID, ex.Extra)) > 0 {
			with = append(with, ex.ID)
		}
	}
	for id := range p.subscribed {
		if !slices.Contains(with, id) {
			p.leave(id)
		}
	}
	for _, id := range with {
		if p.subscribed[id] != nil {
			continue
		}
		s, err := h.x.Subscribe(ctx, exchange.Actor{ID: id}, "", func(e exchange.Event) error {
			if ex, ok := h.x.Executor(id); ok && e.Kind == exchange.EventOffer {
				h.queueOffer(ex, e)
			}
			return nil
		}, func() { p.reports.Go(func() { p.report(ctx, id) }) })
		if err != nil {
			return err
		}
		p.subscribed[id] = s
	}
	return nil
}

// report reports that a subscription has ended, because the person got too many events at once. The
// next one begins with all offers.
func (p *people) report(ctx context.Context, id string) {
	select {
	case p.slow <- id:
	case <-ctx.Done():
	}
}

func (p *people) leave(id string) {
	if s := p.subscribed[id]; s != nil {
		_ = s.Close() // the reason why it ended does not matter
		delete(p.subscribed, id)
	}
}
