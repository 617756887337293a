// Package exchange is the only place where a thread changes state (MESS 1.0, MESSE-AF 2.1).
// Channels post MESS messages for an actor, and get acks and a stream of events. The exchange
// routes by capability, availability, constraints and rules. It never interprets an intent.
package exchange

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/messkit/messkit/exchange/documents"
	"github.com/messkit/messkit/exchange/eventbus"
	"github.com/messkit/messkit/exchange/index"
	"github.com/messkit/messkit/exchange/meter"
	"github.com/messkit/messkit/exchange/registry"
	"github.com/messkit/messkit/exchange/routing"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/metrics"
	"github.com/messkit/messkit/internal/suspend"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/traceparent"
)

// Exchange is one exchange. Open makes it, and Run must run as long as it is in use. All methods
// are safe for concurrent use.
//
// Goroutines take the locks in this order, and hold only the first two while the store works:
//  1. the write lock of a document (documents.Documents)
//  2. the step of one thread (openThread.step)
//  3. the registry
//  4. the open threads (openThreads.mu)
//  5. the uploads, the event bus, the deadlines and the index
//
// A reader of the registry takes its snapshot, and no lock.
type Exchange struct {
	cfg          Config
	store        Store
	docs         *documents.Documents
	threads      index.Index   // all threads
	subjectsRead chan struct{} // closed once threads has the subjects of all that have ended
	pos          thread.Pos    // position in the feed when the exchange was opened
	now          func() time.Time
	log          *slog.Logger
	events       *eventbus.Bus[Event]
	meter        *meter.Meter

	opened time.Time      // start of the exchange; no executor counts as silent since an earlier time
	sleeps *suspend.Watch // only for the goroutine of watchTime
	codes  codes          // confirmation codes

	registry *registry.Registry // the executors
	open     openThreads
	uploads  uploads
	serials  serials // of the refs of new threads
}

// Config of an exchange.
type Config struct {
	ID string `yaml:"id"` // name of the exchange: "home"
	// Lease is the time after which the exchange offers a claimed thread again that has not
	// started, if its holder sends nothing.
	Lease time.Duration `yaml:"lease"`
	// LeaseWithoutHeartbeat replaces Lease and Unreachable for executors without heartbeats:
	// people, and clients that do not know heartbeats.
	LeaseWithoutHeartbeat time.Duration `yaml:"quiet_lease"`
	// Unreachable is the time after which the exchange holds a started thread, if its executor
	// sends nothing.
	Unreachable time.Duration `yaml:"unreachable"`
	// LostAfter is the time that the exchange holds a thread for its executor. Then the outcome is
	// unknown. Twice the estimate of the executor counts if that is longer.
	LostAfter time.Duration `yaml:"lost_after"`
	// OfferTime is the time that a preferred executor has an offer for itself.
	OfferTime time.Duration `yaml:"offer_time"`
	// MaxAttempts is the number of lost claims before the start with which a thread fails.
	MaxAttempts int `yaml:"max_attempts"`
	// MaxAttachment is the largest attachment, in bytes.
	MaxAttachment int64 `yaml:"max_attachment"`
	// MaxThreadAttachments limits all attachments of one thread together, in bytes.
	MaxThreadAttachments int64 `yaml:"max_thread_attachments"`
	// Routing has the rules of the configuration.
	Routing mess.Routing `yaml:"-"`
	// Catalog describes known capabilities (MESS 1.0 section 8.2).
	Catalog []Definition `yaml:"-"`
	// States asks executors to report the states of their devices.
	States bool `yaml:"-"`
	// StatesReported gets each report of an executor with the states of its devices; nil for none. It
	// must return soon and must not change them.
	StatesReported func(executor string, states []mess.DeviceState) `yaml:"-"`
	// Stepped, if not nil, gets each step of this process after the store has it; before is nil for a new
	// thread. It must return soon and must not change them. A new thread without a trace context then
	// begins a trace.
	Stepped func(before, after *Envelope) `yaml:"-"`
	// Confirm says how a person proves the confirmation of a risky plan; "" is ConfirmTerminal.
	Confirm ConfirmBy `yaml:"confirm"`
	// Granted returns the capabilities that an executor may register, or nil for all. A nil
	// function allows all.
	Granted func(executor string) []string `yaml:"-"`
	// Pin returns the receipt key that counts for an executor: the first that it has registered. A
	// nil function accepts every key.
	Pin func(executor, key string) (first string, err error) `yaml:"-"`
	// Origin has the threads; nil if this exchange has them itself. With an Origin the store is a copy:
	// the exchange reads it, writes nothing, and passes each message on to the Origin.
	Origin Origin `yaml:"-"`
	// Slept returns the total time since boot in which the machine was suspended; nil asks the
	// kernel.
	Slept func() time.Duration `yaml:"-"`
}

// Definition describes a capability in the catalog (MESS 1.0 section 8.1). It restricts nothing.
type Definition struct {
	ID          string
	Description string
	Tags        []string
}

// DefaultConfig returns the settings of an exchange without a configuration.
func DefaultConfig() Config {
	return Config{
		ID: "home", Lease: 30 * time.Second, LeaseWithoutHeartbeat: time.Hour, Unreachable: 30 * time.Second,
		LostAfter: time.Hour, OfferTime: time.Minute, MaxAttempts: 3, MaxAttachment: 10 << 20,
		MaxThreadAttachments: 64 << 20, Confirm: ConfirmTerminal,
	}
}

// maxTime is the longest duration in a Config.
const maxTime = 31 * 24 * time.Hour

// Validate returns all errors of the settings, joined.
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
		{"quiet_lease", c.LeaseWithoutHeartbeat},
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

// Open makes an exchange over a store, and reads all open threads. The caller closes the store. The
// error is one of cfg.Validate or of the store.
func Open(ctx context.Context, cfg Config, store Store, now func() time.Time, log *slog.Logger) (*Exchange, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	x := &Exchange{
		cfg: cfg, store: store, now: now, log: log, events: eventbus.New[Event](), meter: meter.New(), opened: now(), sleeps: suspend.NewWatch(cfg.Slept),
		docs: documents.New(store), open: newOpenThreads(), subjectsRead: make(chan struct{}), uploads: uploads{byThread: map[string]*uploadQuota{}}, serials: serials{last: map[string]int{}},
	}
	stored, err := x.readAll(ctx)
	if err != nil {
		return nil, err
	}
	lacks := false
	if r, ok := store.(thread.SubjectReader); ok {
		lacks = r.LacksSubjects()
	}
	if !lacks {
		close(x.subjectsRead)
	}
	x.registry, err = registry.Open(registry.Config{
		Unreachable: cfg.Unreachable, LeaseWithoutHeartbeat: cfg.LeaseWithoutHeartbeat, Rules: cfg.Routing.Rules, Now: now, Log: log,
		Publish: x.publish, IsPresent: x.events.Present, Held: x.open.heldRefs, Changed: x.renewOffers, Reported: cfg.StatesReported,
	}, x.docs)
	if err != nil {
		return nil, err
	}
	x.docs.Follow(contactKind, func(_ string, _, doc []byte) { x.takeContacts(doc) })
	for i, e := range stored {
		stored[i] = nil // a start needs the memory of each envelope once
		x.addOpen(*e)
	}
	x.open.mu.Lock()
	var dependent []*openThread
	for _, l := range x.open.byRef {
		if len(l.deps) > 0 {
			dependent = append(dependent, l)
		}
	}
	x.open.mu.Unlock()
	for _, l := range dependent {
		x.settleDeps(ctx, l)
	}
	if err := x.recall(ctx); err != nil {
		return nil, err
	}
	return x, nil
}

// EndedBefore returns threads that have ended and did not change after a time, the earliest change first; at
// most most.
func (x *Exchange) EndedBefore(t time.Time, most int) []string { return x.threads.EndedBefore(t, most) }

// ID returns the name of the exchange.
func (x *Exchange) ID() string { return x.cfg.ID }

// maxFeedLag is the lag of the feed from which on the exchange is not ready.
const maxFeedLag = 5 * time.Second

// Unready returns the reason why this process cannot serve now what it should, or "". It does not ask
// whether the store writes.
func (x *Exchange) Unready() string {
	lag := x.meter.FeedLag()
	switch {
	case !x.meter.Follows():
		return "the exchange does not follow its store"
	case lag > maxFeedLag:
		return fmt.Sprintf("the feed of the store is %v behind", lag.Round(time.Second))
	case !x.hasSubjects():
		return "the exchange still builds its index of ended threads"
	}
	return ""
}

// WriteMetrics writes the figures of this exchange. They name no thread, actor or device.
func (x *Exchange) WriteMetrics(t *metrics.Text) {
	x.meter.Write(t)
	count := x.OpenByStatus()
	t.Gauges("messkit_threads_open", "Open threads of the exchange, by status.")
	for _, code := range openCodes {
		t.Sample(float64(count[code]), "status", string(code))
	}
	present, absent, now := 0, 0, x.now()
	for e := range x.registry.Snapshot().All() {
		if x.registry.IsLive(e, now) {
			present++
		} else {
			absent++
		}
	}
	t.Gauges("messkit_executors", "Registered executors, by presence.")
	t.Sample(float64(present), "presence", "present")
	t.Sample(float64(absent), "presence", "absent")
	t.Gauge("messkit_event_subscribers", "Subscribers of this process that follow threads, over every channel.", float64(x.events.Len()))
}

// The types of package thread, under the names that channels use.
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
	Scope            = thread.Scope
	ProcessedMessage = thread.ProcessedMessage
	Staged           = thread.Staged
	Step             = thread.Step
	Store            = thread.Store
	Thread           = thread.Thread
)

// Self is the actor id of the exchange itself.
const Self = thread.Self

// The roles.
const (
	Requester    = thread.Requester
	ExecutorRole = thread.ExecutorRole
	Observer     = thread.Observer
	Operator     = thread.Operator
	Resident     = thread.Resident
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
	EventDrain     = thread.EventDrain
	EventReset     = thread.EventReset
)

// Errors of a store.
var (
	ErrStale    = thread.ErrStale
	ErrNoThread = thread.ErrNoThread
	ErrNoBlob   = thread.ErrNoBlob
	ErrTooLarge = thread.ErrTooLarge
)

// NeedsOf returns the requirements of a request.
func NeedsOf(r mess.Request) Needs { return thread.NeedsOf(r) }

// KindKey is the field of config.executor that marks a human executor, and Person is its value.
// Robots do not set it.
const (
	KindKey = routing.KindKey
	Person  = routing.Person
)

// IsPerson reports whether an executor is a person. The exchange offers people the threads that no
// robot takes, and waits longer for them.
func IsPerson(e mess.Executor) bool { return routing.IsPerson(e) }

// NotificationLanguages lists the languages that notifications have texts in, the default first.
func NotificationLanguages() []string { return routing.NotificationLanguages() }

// ValidateExecutor checks a registration, or an update of one, as routing.ValidateExecutor does.
func ValidateExecutor(c mess.Executor) error { return routing.ValidateExecutor(c) }

// ChangeChannelState replaces a document of a channel by what change makes of the present one, nil for
// none. It calls change again if another exchange on the same store was first. An error of change is a
// *mess.Error, and nothing changes.
func (x *Exchange) ChangeChannelState(ctx context.Context, channel, name string, change func(doc []byte) ([]byte, error)) error {
	if err := x.docs.Change(ctx, documents.Key{Kind: channelKind(channel), ID: name}, change); err != nil {
		return x.storeError(err)
	}
	return nil
}

// FollowChannelState has fn called with each later change of a document of a channel by another
// exchange on the same store; nil for a removed one. fn must not write the document. Each channel has
// one follower.
func (x *Exchange) FollowChannelState(channel string, fn func(name string, doc []byte)) {
	x.docs.Follow(channelKind(channel), func(name string, _, doc []byte) { fn(name, doc) })
}

// IsShared reports whether other exchanges may use the same store.
func (x *Exchange) IsShared() bool { return x.docs.IsShared() }

// stepped reports a step that the store has; before is nil for a new thread.
func (x *Exchange) stepped(before, after *Envelope) {
	if x.cfg.Stepped != nil {
		x.cfg.Stepped(before, after)
	}
}

// traceOf returns the trace context of a request. One without any begins a trace, if somebody records it.
func (x *Exchange) traceOf(m mess.Message) string {
	t := traceparent.Of(m)
	if t == "" && x.cfg.Stepped != nil {
		var trace [16]byte
		_, _ = rand.Read(trace[:]) // it never fails
		t = traceparent.New(trace).String()
	}
	return t
}
