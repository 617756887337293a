// Package agent implements the executor. It takes offers, makes a plan, passes the safety
// policy, acts at most once, and answers.
//
// It knows the exchange by a few methods and the devices by their capabilities. Three things
// together prevent a duplicate act: the start permission of the exchange, the epoch of the
// claim, and an intent on the disk before the act.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// Exchange is the part of an exchange that an executor needs. In one process it is the exchange
// itself (exchange.Local), elsewhere exchange/remote.
type Exchange interface {
	// Send posts a message and returns the immediate answer of the exchange: acks, and
	// responses to queries. A rejection is a *mess.Error. With Why mess.Unavailable the
	// message may have arrived, and the caller may send the same message again.
	Send(ctx context.Context, m mess.Message) (mess.Message, error)
	// Receive calls handle for each message to this executor, one at a time: offers (an item of
	// kind request, with Re the thread and ExpiresIn), withdrawn offers (a status by another
	// executor), and replies, answers and cancels for its threads. A message may arrive twice.
	// Receive returns when ctx ends, or when it cannot restore a lost connection.
	Receive(ctx context.Context, handle func(mess.Message)) error
	// Attach uploads an attachment for a thread that this executor holds. A later message
	// refers to it with the returned entry {file: name, mime, size, sha256}.
	Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error)
}

// Resolver turns requests into plans, as *capabilities.Resolver does. It is
// pure and safe for concurrent use.
type Resolver interface {
	Resolve(req mess.Request) capabilities.Outcome
	// Answer continues from a question. reply holds the answers by field, text the rest of the
	// answer.
	Answer(q capabilities.Question, reply mess.Object, text string, req mess.Request) capabilities.Outcome
	// Offers returns the capabilities for the registration of the executor.
	Offers() []mess.Capability
}

// Config configures an agent.
type Config struct {
	ID            string            // id of the executor at the exchange
	Name          string            // display name
	Availability  mess.Availability // "" means always
	Schedule      string            // cron expression, if Availability is schedule
	Heartbeat     time.Duration     // interval between two heartbeats; at most a third of the shortest lease
	MaxThreads    int               // limit of threads in work, and of threads that wait for an answer
	ConfirmWithin time.Duration     // how long to wait for a confirmation; then nothing happens
	EndTime       time.Duration     // time for running tasks at the end of the program
	Watch         Watches           // limits of wait conditions
	// Unknown, if not nil, learns first of an act with an unknown result. The plan is empty for
	// a thread that this executor has lost.
	Unknown func(ref string, plan capabilities.Plan)
	// Stop is the emergency stop of this executor; nil keeps stops in memory alone.
	Stop *stop.Latch
	// Jitter returns a delay of at most limit before a retry; nil means a random one.
	Jitter func(limit time.Duration) time.Duration
	// Fit reduces an image to limits; nil leaves images unchanged and unchecked.
	Fit imaging.Fit
	// Signer adds a receipt to every terminal status; nil for none.
	Signer *receipt.Signer
	// Synced reports whether this machine's clock is set; if not, messages mark their times.
	// nil means that it is.
	Synced func() bool
}

// DefaultConfig returns the default settings of an agent.
func DefaultConfig() Config {
	return Config{ID: "agent", Heartbeat: 10 * time.Second, MaxThreads: 256, ConfirmWithin: 5 * time.Minute, EndTime: 15 * time.Second, Watch: DefaultWatches(), Fit: picture.Fit}
}

// filled returns c with defaults for its zero fields.
func (c Config) filled() Config {
	d := DefaultConfig()
	c.ID = cmp.Or(c.ID, d.ID)
	c.Heartbeat = cmp.Or(c.Heartbeat, d.Heartbeat)
	c.MaxThreads = cmp.Or(c.MaxThreads, d.MaxThreads)
	c.ConfirmWithin = cmp.Or(c.ConfirmWithin, d.ConfirmWithin)
	c.EndTime = cmp.Or(c.EndTime, d.EndTime)
	c.Watch = c.Watch.filled()
	if c.Jitter == nil {
		c.Jitter = mathrand.N[time.Duration]
	}
	return c
}

// Validate returns an error for each invalid setting. Zero means the default.
func (c Config) Validate() error {
	var errs []error
	if !mess.ValidID(cmp.Or(c.ID, "agent")) {
		errs = append(errs, fmt.Errorf("id: %q cannot name an executor; use letters, digits and . _ : @ -", c.ID))
	}
	if c.Heartbeat != 0 && c.Heartbeat < time.Second {
		errs = append(errs, fmt.Errorf("heartbeat: %v is too often; use 1s or more", c.Heartbeat))
	}
	if c.MaxThreads < 0 {
		errs = append(errs, fmt.Errorf("max_threads: %d is negative; use 1 or more", c.MaxThreads))
	}
	if c.ConfirmWithin < 0 {
		errs = append(errs, fmt.Errorf("confirm_within: %v is negative; use 1s or more", c.ConfirmWithin))
	}
	if c.EndTime < 0 {
		errs = append(errs, fmt.Errorf("end_time: %v is negative; use 1s or more", c.EndTime))
	}
	if err := c.Watch.filled().Validate(); err != nil {
		errs = append(errs, fmt.Errorf("watch: %w", err))
	}
	return errors.Join(errs...)
}

// Device describes a device to the agent.
type Device struct {
	Name   string // unique; plans contain it
	Label  string // the name for people; "" means Name
	SeenBy string // the camera that captures an image after an act, on request; "" for none
	Done   Done   // how the power shows the end of its activity, if it does not report it
	Driver drivers.Device
	// Placeholders are the images that a camera sends without a real image.
	Placeholders []picture.Sketch

	opened *device // set by Start; else nil
}

// Agent is an executor. Create it with New and keep its Run running. Its methods are safe for
// concurrent use.
type Agent struct {
	cfg      Config
	session  *session
	resolver Resolver
	devices  *deviceSet
	activity *activity
	states   *stateReports
	tasks    *table
	drain    *drain
	health   *journalHealth
	gate     *policy.Policy
	journal  *journal.Journal
	now      func() time.Time
	log      *slog.Logger
}

// surroundings implements host.
type surroundings struct {
	*drain
	*journalHealth
}

// New returns an agent. now must return monotonic time, as time.Now does.
func New(cfg Config, x Exchange, r Resolver, devices []Device, g *policy.Policy, j *journal.Journal, now func() time.Time, log *slog.Logger) *Agent {
	cfg = cfg.filled()
	if cfg.Stop == nil {
		cfg.Stop = stop.Open(stop.Config{}, g, now, log)
	}
	a := &Agent{cfg: cfg, resolver: r, gate: g, journal: j, now: now, log: log}
	a.session = newSession(cfg, x, log)
	a.devices = newDeviceSet(devices, g, cfg.Fit, now, log)
	a.activity = newActivity(cfg.Watch.AtOnce)
	a.states = newStateReports(a.devices, a.activity, a.session)
	a.health = &journalHealth{journal: j, log: log, broken: make(chan struct{}, 1)}
	a.drain = &drain{log: log, changed: make(chan struct{}), wake: func() { a.tasks.wake() }}
	a.tasks = newTable(&deps{
		cfg: cfg, session: a.session, resolver: r, devices: a.devices, activity: a.activity, gate: g, journal: j, now: now, log: log,
		host: surroundings{a.drain, a.health},
	})
	return a
}
