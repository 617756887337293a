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
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
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

// Adapter is the channel adapter of Agent Mail. Make it with Open and keep its Run running.
type Adapter struct {
	*shared
	outbox      *outbox
	tasks       *tasks
	assignments *assignments
	zones       *zones
	inbound     *inbound
	sync        *mailboxSync // nil: there is no mail server, and messages come by HTTP alone
}

// Open restores what an earlier run has left, and registers the agents that are executors. box
// is nil if there is no mail server. The state file is in dir.
func Open(ctx context.Context, x *exchange.Exchange, cfg Config, box Mailbox, dir string, now func() time.Time, log *slog.Logger) (*Adapter, error) {
	wrong := []error{cfg.Validate()}
	for _, a := range cfg.Agents {
		wrong = append(wrong, a.Validate())
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	store := &store{file: filepath.Join(dir, fileName), now: now, changed: make(chan struct{}, 1), news: make(chan struct{})}
	if err := store.read(); err != nil {
		return nil, err
	}
	d := newAdapter(&shared{x: x, cfg: cfg, now: now, log: log, store: store}, box)
	for _, a := range cfg.Agents {
		if err := d.assignments.register(ctx, a); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// newAdapter connects the parts of an adapter. Each part knows the parts below it.
func newAdapter(s *shared, box Mailbox) *Adapter {
	d := &Adapter{shared: s}
	d.outbox = &outbox{shared: s, box: box, backoffs: map[string]backoff{}}
	d.assignments = &assignments{shared: s}
	d.outbox.withdrawn, d.outbox.undeliverable = d.assignments.withdrawn, d.assignments.undeliverable
	d.tasks = &tasks{shared: s}
	d.zones = &zones{shared: s, tasks: d.tasks}
	d.inbound = &inbound{shared: s, tasks: d.tasks, assignments: d.assignments, zones: d.zones}
	if box != nil {
		d.sync = &mailboxSync{shared: s, box: box, outbox: d.outbox, inbound: d.inbound}
	}
	return d
}

// Run serves until ctx ends.
func (d *Adapter) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, run := range []func(context.Context){d.tasks.follow, d.tasks.notifyAll, d.tasks.reportSilentTasks} {
		g.Go(func() error { run(ctx); return nil })
	}
	for _, a := range d.cfg.Agents {
		g.Go(func() error { return d.assignments.serve(ctx, a) })
	}
	if d.sync != nil {
		g.Go(func() error { return d.sync.run(ctx) })
	}
	return g.Wait()
}

// Status is how the door stands.
func (d *Adapter) Status() Report {
	var h Health
	if d.sync != nil {
		h = d.sync.status()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	h.Name, h.Tasks, h.Given = d.s.Name, len(d.s.Tasks), len(d.s.Given)
	for _, e := range d.s.Out {
		if !e.HTTP {
			h.Waiting++
		}
	}
	report := Report{Mailbox: h, Zones: []Reservation{}, Refused: append([]Refused{}, d.s.Refused...)}
	for _, r := range d.s.Zones {
		if d.now().Before(r.Until) {
			report.Zones = append(report.Zones, r)
		}
	}
	return report
}

// Reserved returns who has reserved a device exclusively, and until when. It serves requests in
// the name of by; ok is false if only by has reserved the device, or nobody. changed is closed
// when the reservations may have changed.
func (d *Adapter) Reserved(device, by string) (holder string, until time.Time, changed <-chan struct{}, ok bool) {
	return d.zones.reserved(device, by)
}

// Release ends the reservations of a device for an operator, and returns who had reserved it.
func (d *Adapter) Release(device string) (by []string, err error) {
	return d.zones.releaseDevice(device)
}
