// Package agentmail is the Agent Mail door of an exchange: tasks that mail agents give
// become threads, what is said there goes back to them, and threads that executors
// among the mail agents may take go out as tasks. It translates, and keeps what it
// has to remember; what a message means is in exchange/channel/agentmail/format, and how a mail
// server is spoken to in its mailbox.
package agentmail

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/exchange/inbox"
	"github.com/messkit/messkit/internal/keyed"
)

// Mailbox is the mailbox that the door has at a server, as *mailbox.Mailbox is one.
type Mailbox interface {
	Enter(ctx context.Context, was mailbox.Identity) (mailbox.Identity, error)
	Fetch(ctx context.Context, since time.Time) ([]mailbox.Mail, error)
	Acknowledge(ctx context.Context, id int64) error
	Send(ctx context.Context, l mailbox.Letter) (time.Time, error)
	Ask(ctx context.Context, to string) error
	Admit(ctx context.Context, from string) error
	Sent(ctx context.Context, text string, since time.Time) (bool, error)
	Close()
}

// Adapter is the door. Make it with Open and keep its Run running.
type Adapter struct {
	x     *exchange.Exchange
	cfg   Config
	box   Mailbox // nil: there is no server, and HTTP alone
	file  string
	now   func() time.Time
	log   *slog.Logger
	looks keyed.Runner  // by the ref of a task that its sender is told of
	post  chan struct{} // there is something to send

	mu     sync.Mutex
	s      state
	news   chan struct{}   // closed when a letter for HTTP is there
	rests  map[string]rest // recipients that take nothing now
	health Health

	pixels sync.Mutex // held while a picture is scaled
}

// Open reads what an earlier run has left, and registers the agents that are
// executors. The file is in dir.
func Open(ctx context.Context, x *exchange.Exchange, cfg Config, box Mailbox, dir string, now func() time.Time, log *slog.Logger) (*Adapter, error) {
	wrong := []error{cfg.Validate()}
	for _, a := range cfg.Agents {
		wrong = append(wrong, a.Validate())
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	d := &Adapter{
		x: x, cfg: cfg, box: box, file: filepath.Join(dir, fileName), now: now, log: log, post: make(chan struct{}, 1),
		news: make(chan struct{}), rests: map[string]rest{},
	}
	if err := d.read(); err != nil {
		return nil, err
	}
	for _, a := range cfg.Agents {
		if err := d.register(ctx, a); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Run serves until ctx ends.
func (d *Adapter) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		inbox.Follow(ctx, d.x, d.log, d.lookAtAll, func(e exchange.Envelope) { d.look(e.Ref) })
		return nil
	})
	g.Go(func() error { d.looks.Run(ctx, d.tellOf); return nil })
	g.Go(func() error { return d.beatAll(ctx) })
	for _, a := range d.cfg.Agents {
		g.Go(func() error { return d.serve(ctx, a) })
	}
	if d.box != nil {
		g.Go(func() error { return d.correspond(ctx) })
	}
	return g.Wait()
}

// look has the sender of a task told what was said in its thread.
func (d *Adapter) look(ref string) {
	d.mu.Lock()
	known := d.s.Tasks[ref] != nil
	d.mu.Unlock()
	if known {
		d.looks.Wake(ref)
	}
}

func (d *Adapter) lookAtAll() {
	d.mu.Lock()
	refs := slices.Collect(maps.Keys(d.s.Tasks))
	d.mu.Unlock()
	for _, ref := range refs {
		d.looks.Wake(ref)
	}
}

// name is who the door is for others.
func (d *Adapter) name() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.s.Name != "" {
		return d.s.Name
	}
	if d.cfg.Name != "" {
		return d.cfg.Name
	}
	return d.x.ID()
}

// known reports whether an id is one of a capability.
func (d *Adapter) known(id string) bool {
	for _, c := range d.x.Capabilities(nil) {
		if c.ID == id {
			return true
		}
	}
	return false
}
