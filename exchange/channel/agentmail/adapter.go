// Package agentmail is the Agent Mail channel of an exchange. A task of a mail agent becomes a
// thread, and the agent gets the messages of the thread. A mail agent can also be an executor,
// which gets threads as tasks. The package translates and stores its own state. Package format
// knows the messages, and package mailbox the mail server.
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

// Mailbox is a mailbox at a mail server; *mailbox.Mailbox implements it.
type Mailbox interface {
	Enter(ctx context.Context, was mailbox.Identity) (mailbox.Identity, error)
	Fetch(ctx context.Context, since time.Time) ([]mailbox.Mail, error)
	Acknowledge(ctx context.Context, id int64) error
	Send(ctx context.Context, l mailbox.OutgoingMail) (time.Time, error)
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

// Status returns the state of the channel.
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

// Reserved returns the agent that has reserved a device exclusively, and the end of the
// reservation. It ignores reservations of by, the agent in whose name a request comes. If no
// other agent has reserved the device, ok is false. The adapter closes changed when the
// reservations may have changed.
func (d *Adapter) Reserved(device, by string) (holder string, until time.Time, changed <-chan struct{}, ok bool) {
	return d.zones.reserved(device, by)
}

// Release ends the reservations of a device for an operator, and returns the agents that had
// reserved it.
func (d *Adapter) Release(device string) (by []string, err error) {
	return d.zones.releaseDevice(device)
}
