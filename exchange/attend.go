package exchange

import (
	"context"
	"sync"
)

// Subscription follows the exchange without a goroutine while nothing happens: most of many
// followers are idle.
type Subscription struct {
	x      *Exchange
	ctx    context.Context
	who    Actor
	handle func(Event) error
	broken func()
	f      *subscriber

	mu  sync.Mutex // held while events are handed over
	err error
}

// Subscribe is Follow for one who waits for long. It returns when handle has got what stands,
// or with the error of that. From then on handle gets the events by goroutines of the
// exchange, one event at a time, until ctx ends; broken says that Close has an error.
func (x *Exchange) Subscribe(ctx context.Context, who Actor, after string, handle func(Event) error, broken func()) (*Subscription, error) {
	a := &Subscription{x: x, ctx: ctx, who: who, handle: handle, broken: broken}
	a.mu.Lock() // what comes meanwhile comes afterwards
	defer a.mu.Unlock()
	f, missed, resumed := x.addSubscriber(who, after, func() { go a.forward() })
	a.f = f
	x.markAlive(ctx, who)
	if err := x.catchUp(ctx, who, f, after, missed, resumed, handle); err != nil {
		x.events.Leave(f)
		a.err = err
		return nil, err
	}
	return a, nil
}

func (a *Subscription) forward() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err != nil || a.ctx.Err() != nil {
		return
	}
	if a.err = a.x.forward(a.ctx, a.who, a.f, a.handle); a.err != nil {
		a.broken()
	}
}

// Close ends the attendance, and waits until handle does not run any more. The error is
// why it had ended before.
func (a *Subscription) Close() error {
	a.x.events.Leave(a.f)
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.err
	a.err = context.Canceled // nothing is handed over any more
	return err
}
