// Package exchange is the only place where a thread changes state. An actor, a
// channel and a MESS message go in; acks and an event stream come out. It
// routes by capability, availability, constraints and rules, and never looks
// at what an intent says.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/exchange/index"
	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/suspend"
	"github.com/messkit/messkit/mess"
)

// Exchange is one exchange. Make it with Open, and keep its Run running.
//
// The locks are taken in this order, and only the first two are held while the store works:
// the right to write a document, the step of one thread (openThread.step), the registry, the open
// threads (openThreads.mu), and the locks of the event bus, the deadlines and the index. Whoever
// reads the registry takes its snapshot, and no lock.
type Exchange struct {
	cfg     Config
	store   Store
	docs    *documents.Documents
	threads index.Index // of all threads
	pos     thread.Pos  // of the feed, when the exchange was opened
	now     func() time.Time
	log     *slog.Logger
	events  *eventbus.Bus[Event]
	due     *eventbus.Deadlines

	opened time.Time      // nobody has been silent for longer
	sleeps *suspend.Watch // of the goroutine that watches time
	codes  codes          // with which plans are confirmed

	registry *registry.Registry // the executors
	open     openThreads
	serials  serials // of refs
}

// openThread is an open thread and what the exchange knows of it only while it runs.
type openThread struct {
	step sync.Mutex // held while one step of the thread is made

	// Guarded by openThreads.mu.
	env     Envelope
	at      place                // in the queues, from its first envelope
	heard   time.Time            // last sign of life from the holder
	pending time.Time            // since when it waits for a claim
	offered []string             // executors that have an offer, in order
	choice  routing.Choice       // the choice that led to these offers
	chosen  time.Time            // the time of that choice
	deps    map[string]mess.Code // what it depends on, and how that ended; "" while open
	alarm   time.Time            // when it is looked at next
	round   uint64               // of openThreads that has found it last
}

// Config of an exchange.
type Config struct {
	ID string `yaml:"id"` // name of the exchange: "home"
	// Lease is how long a claim lasts without a sign of life from its holder
	// before the start gate.
	Lease time.Duration `yaml:"lease"`
	// QuietLease is Lease and Unreachable for an executor that sends no
	// heartbeats: a person, or a client that does not know of them.
	QuietLease time.Duration `yaml:"quiet_lease"`
	// Unreachable is how long a started task's executor may be silent before
	// the thread is held.
	Unreachable time.Duration `yaml:"unreachable"`
	// LostAfter is how long a held thread waits for its executor to come back
	// before its outcome is called unknown (or twice the estimate, if longer).
	LostAfter time.Duration `yaml:"lost_after"`
	// OfferTime is how long a preferred executor has an offer for itself.
	OfferTime time.Duration `yaml:"offer_time"`
	// MaxAttempts is how many claims may be lost before the start until a thread
	// fails.
	MaxAttempts int `yaml:"max_attempts"`
	// MaxAttachment is the largest attachment, in bytes.
	MaxAttachment int64 `yaml:"max_attachment"`
	// MaxThreadAttachments is how much the attachments of one thread may take
	// together, in bytes.
	MaxThreadAttachments int64 `yaml:"max_thread_attachments"`
	// Routing rules that hold from the start.
	Routing mess.Routing `yaml:"-"`
	// Catalogue describes known capabilities (MESS 1.0 section 8.2).
	Catalogue []Definition `yaml:"-"`
	// States asks executors to tell how their devices are.
	States bool `yaml:"-"`
	// Confirm is how a person proves a confirmation of a plan with risk; "":
	// ConfirmTerminal.
	Confirm ConfirmBy `yaml:"confirm"`
	// Granted are the capabilities that an executor may register; nil: all. nil as a
	// function lets each register all.
	Granted func(executor string) []string `yaml:"-"`
	// Pin returns the receipt key that an executor is held to: the first with
	// which it came. nil believes each.
	Pin func(executor, key string) (first string, err error) `yaml:"-"`
	// Slept is how long the machine was suspended since boot; nil: as the kernel says.
	Slept func() time.Duration `yaml:"-"`
}

// Definition describes a capability for those who look for one (MESS 1.0
// section 8.1). It restricts nothing.
type Definition struct {
	ID          string
	Description string
	Tags        []string
}

// DefaultConfig returns the settings that an exchange has unless told
// otherwise.
func DefaultConfig() Config {
	return Config{
		ID: "home", Lease: 30 * time.Second, QuietLease: time.Hour, Unreachable: 30 * time.Second,
		LostAfter: time.Hour, OfferTime: time.Minute, MaxAttempts: 3, MaxAttachment: 10 << 20,
		MaxThreadAttachments: 64 << 20, Confirm: ConfirmTerminal,
	}
}

// maxTime is the longest of the times of a Config: 31 days.
const maxTime = 31 * 24 * time.Hour

// Validate tells every setting that cannot be.
func (c Config) Validate() error {
	var errs []error
	if !mess.ValidID(c.ID) {
		errs = append(errs, fmt.Errorf("id: %q cannot name an exchange; use letters, digits, - and _", c.ID))
	}
	if !c.Confirm.known() {
		errs = append(errs, fmt.Errorf("confirm: %q is unknown; write terminal, page, code or script", c.Confirm))
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"lease", c.Lease},
		{"quiet_lease", c.QuietLease},
		{"unreachable", c.Unreachable},
		{"lost_after", c.LostAfter},
		{"offer_time", c.OfferTime},
	} {
		switch {
		case d.value < time.Second:
			errs = append(errs, fmt.Errorf("%s: %v is too short; use 1s or more", d.name, d.value))
		case d.value > maxTime:
			errs = append(errs, fmt.Errorf("%s: %v is too long; use %v or less", d.name, d.value, maxTime))
		}
	}
	if c.MaxAttempts < 1 {
		errs = append(errs, errors.New("max_attempts: must be 1 or more"))
	}
	if c.MaxAttachment < 1 {
		errs = append(errs, errors.New("max_attachment: must be 1 byte or more"))
	}
	if c.MaxThreadAttachments < c.MaxAttachment {
		errs = append(errs, fmt.Errorf("max_thread_attachments: %d is less than one attachment may take (max_attachment)", c.MaxThreadAttachments))
	}
	return errors.Join(errs...)
}

// Open makes an exchange over a store and reads the threads that are open.
func Open(ctx context.Context, cfg Config, store Store, now func() time.Time, log *slog.Logger) (*Exchange, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	x := &Exchange{
		cfg: cfg, store: store, now: now, log: log, events: eventbus.New[Event](), due: eventbus.NewDeadlines(), opened: now(), sleeps: suspend.NewWatch(cfg.Slept),
		docs: documents.New(store), open: newOpenThreads(), serials: serials{last: map[string]int{}},
	}
	stored, err := x.readAll(ctx)
	if err != nil {
		return nil, err
	}
	x.registry, err = registry.Open(registry.Config{
		Unreachable: cfg.Unreachable, LeaseWithoutHeartbeat: cfg.QuietLease, Rules: cfg.Routing.Rules, Now: now, Log: log,
		Publish: x.publish, IsPresent: x.events.Present, Held: x.heldRefs, Changed: x.renew,
	}, x.docs)
	if err != nil {
		return nil, err
	}
	for _, e := range stored {
		x.opens(e)
	}
	x.open.mu.Lock()
	open := slices.Collect(maps.Values(x.open.byRef))
	x.open.mu.Unlock()
	for _, l := range open {
		if err := x.settle(ctx, l); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// ID is the name of the exchange.
func (x *Exchange) ID() string { return x.cfg.ID }

// settle finds out how the dependencies of a thread ended that are not open
// any more.
func (x *Exchange) settle(ctx context.Context, l *openThread) error {
	env := x.envelope(l)
	for _, dep := range x.endedDeps(l) {
		t, err := x.dep(ctx, env.Requestor, dep)
		if err != nil {
			return fmt.Errorf("%s depends on %s: %w", env.Ref, dep, err)
		}
		if !t.Status.Terminal() { // it has not come yet, or tells of its end itself
			continue
		}
		x.open.mu.Lock()
		x.unfollow(l.env, dep)
		l.deps[dep] = t.Status
		x.wake(l, x.now())
		x.open.mu.Unlock()
	}
	return nil
}

// dep is a thread that another depends on, an empty one if it has not come yet.
func (x *Exchange) dep(ctx context.Context, requestor, dep string) (Thread, error) {
	if isRef(dep) {
		return x.read(ctx, dep)
	}
	t, err := x.Thread(ctx, Actor{ID: requestor, Roles: Requester}, dep)
	if errors.Is(err, mess.NotFound) {
		return Thread{}, nil
	}
	return t, err
}

func (x *Exchange) endedDeps(l *openThread) (ended []string) {
	x.open.mu.Lock()
	defer x.open.mu.Unlock()
	for dep := range l.deps {
		if x.open.byRef[dep] == nil {
			ended = append(ended, dep)
		}
	}
	return ended
}

// index sets the envelope of a thread, and what follows from it: its offers,
// when it is next due, and who has waited for its end. An envelope that is not newer
// than the one in the index changes nothing. x.open.mu is held.
func (x *Exchange) index(l *openThread, e Envelope) {
	if e.Ver <= l.env.Ver {
		return
	}
	x.threads.Set(e)
	was, now := l.env, x.now()
	l.env = e
	if was.Ref == "" {
		l.at = placeOf(&l.env)
		x.follow(l)
	}
	if was.Epoch != e.Epoch || was.Ref == "" {
		l.heard = now
	}
	if e.Status == mess.Pending && was.Status != mess.Pending {
		l.pending = now
	}
	x.open.turns(l, was)
	x.reoffer(l, now)
	if e.Status.Terminal() {
		delete(x.open.byRef, e.Ref)
		delete(x.open.rooms, e.Ref)
		x.due.Drop(e.Ref)
		for _, dep := range e.DependsOn {
			x.unfollow(e, dep)
		}
		x.releaseDependents(e)
		return
	}
	x.open.byRef[e.Ref] = l
	x.wake(l, x.dueTime(l))
}

// follow makes a new thread wait for what it depends on.
func (x *Exchange) follow(l *openThread) {
	l.deps = map[string]mess.Code{}
	for _, dep := range l.env.DependsOn {
		l.deps[dep] = ""
		key := waitKey(l.env.Requestor, dep)
		if x.open.waiting[key] == nil {
			x.open.waiting[key] = map[string]bool{}
		}
		x.open.waiting[key][l.env.Ref] = true
	}
}

// unfollow has a thread wait no more for one that it depends on. x.open.mu is held.
func (x *Exchange) unfollow(e Envelope, dep string) {
	key := waitKey(e.Requestor, dep)
	delete(x.open.waiting[key], e.Ref)
	if len(x.open.waiting[key]) == 0 {
		delete(x.open.waiting, key)
	}
}

// releaseDependents tells the threads that depend on one how it ended. x.open.mu is held.
func (x *Exchange) releaseDependents(e Envelope) {
	for _, dep := range []string{e.Ref, e.ClientID} {
		key := waitKey(e.Requestor, dep)
		for _, ref := range slices.Sorted(maps.Keys(x.open.waiting[key])) {
			if l := x.open.byRef[ref]; l != nil {
				l.deps[dep] = e.Status
				x.wake(l, x.now())
			}
		}
		delete(x.open.waiting, key)
	}
}

// waitKey is under what threads wait for one: its ref, or the id that its requester
// has for it, where it has not come yet.
func waitKey(requestor, dep string) string {
	if isRef(dep) {
		return dep
	}
	return requestor + " " + dep
}

// wake has a thread looked at no later than at t. x.open.mu is held.
func (x *Exchange) wake(l *openThread, t time.Time) {
	if t.IsZero() || !l.alarm.IsZero() && !t.Before(l.alarm) {
		return
	}
	l.alarm = t
	x.due.Set(l.env.Ref, t)
}
