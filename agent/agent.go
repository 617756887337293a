// Package agent is the executor: offers in, plan, gate, act once, answer.
//
// It knows the exchange by a few methods and the devices by their verbs. What
// may happen twice and what may not is decided by three things together: the
// exchange's word at the start gate, the epoch of the claim, and an intent on
// the disk before the world is touched.
package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/agent/camera"
	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/receipt"
)

// Exchange is what an executor needs of an exchange. In one process it is the
// exchange itself (exchange.Local), elsewhere exchange/remote.
type Exchange interface {
	// Send posts a message and returns what the exchange answers at once: acks,
	// and responses to queries. An exchange's "no" is a *mess.Refusal; with Why
	// mess.Unavailable the message may or may not have arrived, and the same
	// message may be sent again.
	Send(ctx context.Context, m mess.Message) (mess.Message, error)
	// Receive calls handle, one message at a time, for everything that is
	// addressed to this executor: offers (an item of kind request, with Re the
	// thread and ExpiresIn), withdrawn offers (a status by another executor),
	// replies, answers and cancels for the threads that it holds. Messages may
	// come twice. It returns when ctx ends, or when the connection is lost and
	// cannot be had back by itself.
	Receive(ctx context.Context, handle func(mess.Message)) error
	// Attach stores the bytes for an attachment of a thread that this executor
	// holds. The entry that names it goes into a later message as
	// {file: name, mime, size, sha256}.
	Attach(ctx context.Context, ref, name, mime string, data io.Reader) (mess.Media, error)
}

// Resolver turns requests into plans, as *capabilities.Resolver does. It is
// pure and safe for concurrent use.
type Resolver interface {
	Resolve(req mess.Request) capabilities.Outcome
	// Answer goes on from a question. reply holds the answers by field, text is
	// what else was said.
	Answer(q capabilities.Question, reply mess.Object, text string, req mess.Request) capabilities.Outcome
	// Offers are the capabilities that the executor registers.
	Offers() []mess.Capability
}

// Config of an agent.
type Config struct {
	ID            string            // of the executor, as the exchange knows it
	Name          string            // for people
	Availability  mess.Availability // "" is always
	Schedule      string            // cron, where Availability is schedule
	Heartbeat     time.Duration     // between two signs of life; a third of the shortest lease is taken where that is less
	MaxThreads    int               // threads that are worked on at the same time, and beside them as many that wait for an answer
	ConfirmWithin time.Duration     // how long a yes is waited for; then nothing is done
	EndTime       time.Duration     // what a task may still take when the program ends
	Watch         Watches           // what waits for something to happen
	// Unknown, if it is there, hears that something which acts has ended and
	// nobody knows how, before anybody else does. Of a thread that this executor
	// has forgotten the plan is empty.
	Unknown func(ref string, plan capabilities.Plan)
	// Stop is how this executor is stopped; nil: in memory alone.
	Stop *stop.Stopper
	// Jitter picks how long to wait, at most limit, before something that has
	// failed is tried again; nil leaves it to chance.
	Jitter func(limit time.Duration) time.Duration
	// Fit makes a picture fit; nil leaves pictures as they are, and does not look at
	// them.
	Fit camera.Fit
	// Signer puts a receipt into every last word on a thread; nil for none.
	Signer *receipt.Signer
	// Synced reports whether this machine's clock is known to be set; where it
	// is not, times are marked. nil is a clock that needs no mark.
	Synced func() bool
}

// DefaultConfig returns the settings that an agent has unless told otherwise.
func DefaultConfig() Config {
	return Config{ID: "agent", Heartbeat: 10 * time.Second, MaxThreads: 256, ConfirmWithin: 5 * time.Minute, EndTime: 15 * time.Second, Watch: DefaultWatches(), Fit: picture.Fit}
}

// filled is c with the defaults for what is not set.
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

// Validate tells every setting that cannot be. Zero is the default.
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

// Device is a device as the agent has it.
type Device struct {
	Name   string // unique; plans name it
	Label  string // what people call it; "" is Name
	SeenBy string // the device that takes a picture of it after an act, where one is asked for; "" for none
	Done   Done   // how it is known that it is done, where it does not say so itself
	Driver drivers.Device
	// Placeholders are what comes of it, a camera, where there is no picture.
	Placeholders []picture.Sketch

	opened *device // by Start; nil if it was not
}

// Agent is an executor. Make it with New and keep its Run running.
type Agent struct {
	cfg      Config
	x        Exchange
	resolver Resolver
	devices  map[string]*device
	gate     *gate.Gate
	cameras  *camera.Room
	journal  *journal.Journal
	now      func() time.Time
	log      *slog.Logger
	boot     string        // names this run of the program
	work     chan struct{} // something is in the queue, or a task has ended
	mail     chan struct{} // something is in the outbox
	wrong    chan struct{} // a device has failed, or works again
	sooner   chan struct{} // the time between two heartbeats has become shorter
	broken   chan struct{} // the journal has refused something
	glance   chan struct{} // the devices may be otherwise than the exchange believes
	reach    reach         // whether the exchange answers

	mu      sync.Mutex
	tasks   map[string]*task // by thread, from the first look to the report
	offers  offers           // that nobody has looked at
	claimed []*task          // by an earlier run; nobody has looked at them yet
	shares  shares
	lately  []*task           // that ended at the start, and whose commands may still arrive
	later   map[string]*offer // that wait until what an earlier run did is told
	beat    time.Duration     // between two heartbeats
	serial  uint64            // of the last message
	seen    recent            // refs of delivered messages
	astray  map[string]stray  // threads that the exchange lists and nobody here knows
	untold  map[string]uint64 // threads whose report was refused for good, and the epochs of their claims
	took    map[string]time.Duration
	hold    onHold
	acting  map[string]capabilities.Command // what a device does just now, by its name
	paused  map[string]bool                 // it stands meanwhile

	watching int // watches that run

	watched bool   // the exchange wants to know how the devices are
	board   *board // nil until then

	disarmed error // why nothing may act, nil if it may
	known    bool  // whether the exchange has been told that something may
}

// New makes an agent. now must carry monotonic time, as time.Now does.
func New(cfg Config, x Exchange, r Resolver, devices []Device, g *gate.Gate, j *journal.Journal, now func() time.Time, log *slog.Logger) *Agent {
	a := &Agent{
		cfg: cfg.filled(), x: x, resolver: r, devices: map[string]*device{}, gate: g, journal: j, now: now, log: log,
		boot: strings.ToLower(rand.Text()[:10]), work: make(chan struct{}, 1), mail: make(chan struct{}, 1), sooner: make(chan struct{}, 1), wrong: make(chan struct{}, 1), broken: make(chan struct{}, 1),
		glance: make(chan struct{}, 1), acting: map[string]capabilities.Command{}, paused: map[string]bool{},
		tasks: map[string]*task{}, shares: shares{working: map[string]int{}}, later: map[string]*offer{}, took: map[string]time.Duration{}, astray: map[string]stray{}, untold: map[string]uint64{},
	}
	a.cameras = camera.NewRoom(a.cfg.Fit, now)
	a.beat, a.hold.changed = a.cfg.Heartbeat, make(chan struct{})
	if a.cfg.Stop == nil {
		a.cfg.Stop = stop.Open(stop.Config{}, g, now, log)
	}
	for _, d := range devices {
		if d.Label == "" {
			d.Label = d.Name
		}
		if d.opened == nil {
			d.opened = newDevice(d)
		}
		d.opened.Label = d.Label
		a.devices[d.Name] = d.opened
		a.cameras.Know(d.Name, d.Placeholders)
	}
	return a
}

// recent remembers the last strings that it was asked about.
type recent struct {
	known map[string]bool
	order []string
}

// maxRecent is how many; a message that comes twice comes twice soon.
const maxRecent = 1024

// again reports whether s was asked about before.
func (r *recent) again(s string) bool {
	if s == "" {
		return false
	}
	if r.known[s] {
		return true
	}
	if r.known == nil {
		r.known = map[string]bool{}
	}
	if len(r.order) == maxRecent {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	r.known[s] = true
	r.order = append(r.order, s)
	return false
}
