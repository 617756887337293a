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

	opened time.Time      // nobody has been silent for longer
	sleeps *suspend.Watch // of the goroutine that watches time
	codes  codes          // with which plans are confirmed

	registry *registry.Registry // the executors
	open     openThreads
	uploads  uploads
	serials  serials // of refs
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
		cfg: cfg, store: store, now: now, log: log, events: eventbus.New[Event](), opened: now(), sleeps: suspend.NewWatch(cfg.Slept),
		docs: documents.New(store), open: newOpenThreads(), uploads: uploads{byThread: map[string]*uploadQuota{}}, serials: serials{last: map[string]int{}},
	}
	stored, err := x.readAll(ctx)
	if err != nil {
		return nil, err
	}
	x.registry, err = registry.Open(registry.Config{
		Unreachable: cfg.Unreachable, LeaseWithoutHeartbeat: cfg.QuietLease, Rules: cfg.Routing.Rules, Now: now, Log: log,
		Publish: x.publish, IsPresent: x.events.Present, Held: x.open.heldRefs, Changed: x.renewOffers,
	}, x.docs)
	if err != nil {
		return nil, err
	}
	for _, e := range stored {
		x.addOpen(e)
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

// The types of threads, under the names that channels use.
type (
	Actor            = thread.Actor
	Attachment       = thread.Attachment
	PastConfirmation = thread.PastConfirmation
	Bind             = thread.Bind
	Confirm          = thread.Confirm
	Decline          = thread.Decline
	Envelope         = thread.Envelope
	Event            = thread.Event
	EventKind        = thread.EventKind
	Filter           = thread.Filter
	HistoryEntry     = thread.HistoryEntry
	Needs            = thread.Needs
	OpenQuestion     = thread.OpenQuestion
	Page             = thread.Page
	Phase            = thread.Phase
	Proposal         = thread.Proposal
	Role             = thread.Role
	ProcessedMessage = thread.ProcessedMessage
	Staged           = thread.Staged
	Step             = thread.Step
	Store            = thread.Store
	Thread           = thread.Thread
)

// Self is the actor id under which an exchange speaks.
const Self = thread.Self

// The roles.
const (
	Requester    = thread.Requester
	ExecutorRole = thread.ExecutorRole
	Observer     = thread.Observer
	Operator     = thread.Operator
)

// The phases of a thread.
const (
	NotStarted = thread.NotStarted
	Started    = thread.Started
	Finished   = thread.Finished
)

// The kinds of event.
const (
	EventOffer     = thread.EventOffer
	EventWithdrawn = thread.EventWithdrawn
	EventMessage   = thread.EventMessage
	EventStop      = thread.EventStop
	EventHold      = thread.EventHold
	EventReset     = thread.EventReset
)

// What a store answers.
var (
	ErrStale    = thread.ErrStale
	ErrNoThread = thread.ErrNoThread
	ErrNoBlob   = thread.ErrNoBlob
	ErrTooLarge = thread.ErrTooLarge
)

// NeedsOf are the needs of a request.
func NeedsOf(r mess.Request) Needs { return thread.NeedsOf(r) }

// KindKey is the field of config.executor that says what an executor is, and
// Person its value for people. Others say nothing, and are robots.
const (
	KindKey = routing.KindKey
	Person  = routing.Person
)

// IsPerson reports whether an executor is a person, who is offered what robots
// do not take, and does it at a person's pace.
func IsPerson(e mess.Executor) bool { return routing.IsPerson(e) }

// ValidateExecutor checks a registration, or an update of one, as routing.ValidateExecutor does.
func ValidateExecutor(c mess.Executor) error { return routing.ValidateExecutor(c) }
