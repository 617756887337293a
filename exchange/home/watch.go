package home

import (
	"context"
	"sync/atomic"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
)

// threadWatch notifies a feed of the changes of threads that a home shows.
type threadWatch struct {
	subscription *exchange.Subscription
	cancel       context.CancelFunc
	broken       atomic.Bool // it misses changes
}

func (f *feed) watchThreads() (*threadWatch, error) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &threadWatch{cancel: cancel}
	changed := func(e exchange.Event) error {
		if e.Kind != exchange.EventMessage || namedDevices(&e.Thread) != nil {
			wait.Notify(f.signal)
		}
		return nil
	}
	broken := func() {
		w.broken.Store(true)
		wait.Notify(f.signal)
	}
	var err error
	if w.subscription, err = f.home.x.Subscribe(ctx, all, "", changed, broken); err != nil {
		cancel()
		return nil, err
	}
	return w, nil
}

// isBroken reports whether the watch misses changes.
func (w *threadWatch) isBroken() bool { return w.broken.Load() }

// close ends the watch; nil is none.
func (w *threadWatch) close() {
	if w == nil {
		return
	}
	w.cancel()
	_ = w.subscription.Close() // a new watch replaces a broken one
}
