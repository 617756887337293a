package httpcam

import (
	"context"
	"fmt"
	"sync"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

// life is a device's name, and which of its verbs are under way.
type life struct {
	mu      sync.Mutex
	name    string
	account *account // nil: not started
	ends    map[*context.CancelCauseFunc]bool
	under   sync.WaitGroup
}

// Name is the device's name.
func (l *life) Name() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}

// SetName changes it.
func (l *life) SetName(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.name = name
}

func (l *life) start(a account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.account = &a
}

// halt ends the verbs that are under way and waits for them.
func (l *life) halt() {
	l.mu.Lock()
	l.account = nil
	for end := range l.ends {
		(*end)(fmt.Errorf("%w: halted meanwhile", drivers.ErrNotStarted))
	}
	l.mu.Unlock()
	l.under.Wait()
}

// begin makes the context of one verb, which ends with ctx and with Halt. done
// has to be called at its end.
func (l *life) begin(ctx context.Context) (_ context.Context, a account, done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, account{}, nil, fmt.Errorf("%s: %w", l.name, ctx.Err())
	case l.account == nil:
		return nil, account{}, nil, fmt.Errorf("%s: %w; start it first", l.name, drivers.ErrNotStarted)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	if l.ends == nil {
		l.ends = map[*context.CancelCauseFunc]bool{}
	}
	l.ends[&cancel] = true
	l.under.Add(1)
	return ctx, *l.account, func() { l.end(&cancel) }, nil
}

func (l *life) end(cancel *context.CancelCauseFunc) {
	(*cancel)(nil)
	l.mu.Lock()
	delete(l.ends, cancel)
	l.mu.Unlock()
	l.under.Done()
}

var _ gobot.Connection = (*network)(nil)

// network is the Gobot adaptor of a device that needs none: every picture
// makes its own connection.
type network struct {
	mu   sync.Mutex
	name string
}

func (n *network) Name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name
}

func (n *network) SetName(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.name = name
}

func (n *network) Connect() error  { return nil }
func (n *network) Finalize() error { return nil }
