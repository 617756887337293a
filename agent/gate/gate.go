// Package gate stands between the agent and every verb of every device. Limits,
// quiet hours, the longest time on, one task at a time, deadlines, the question
// who must confirm, and the stop: they are here once, and not in drivers.
//
// It knows plans and devices, and nothing of threads.
package gate

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/suspend"
)

// Gate is the one gate of an agent. It is safe for concurrent use.
type Gate struct {
	cfg  Config
	now  func() time.Time
	log  *slog.Logger
	stir chan struct{} // a timer of Run has changed

	slept  func() time.Duration // how long the machine was suspended since boot
	sleeps *suspend.Watch       // guarded by mu

	wall  func() (time.Time, error)
	local func() Local
	guard Guard

	reserved Reserved

	mu      sync.Mutex
	common  *Device // limits of devices that have none of their own; nil until there is one
	devices map[string]*device
	stopped string        // why; "" while it is not
	rounds  uint64        // how often it was stopped
	changed chan struct{} // closed when any of the above, or what devices there are, changes
	running map[*call]context.CancelCauseFunc
	people  Local                   // as it was when last asked for
	spent   map[spender][]time.Time // the last acts of each budget, oldest first
	sweep   int                     // how many there may be before they are swept
	gap     time.Time               // acts from before it may be missing; zero: none are

	book      Book              // nil: acts and dues are remembered in memory alone
	unread    bool              // the acts in the book are not among spent yet
	due       map[string]Due    // what is on and is to be switched off, by device
	serial    uint64            // of the last note on that
	unwritten map[string]uint64 // devices of which the disk has not the newest note, with its serial number
	settled   chan struct{}     // some are unwritten
}

// device is what the gate remembers of one device.
type device struct {
	name   string
	limits *Device       // shared by the devices that have none of their own
	hold   chan struct{} // held by the one task that may act on it
	acting chan struct{} // held during a call that acts
	steer  chan struct{} // held during a call that steers what another is at
	look   chan struct{} // held during a call that reads
	again  chan struct{} // it is to be made safe once more

	// Guarded by Gate.mu.
	used    time.Time      // when it last acted
	hung    map[*call]bool // calls that do not come back
	safe    *Safe          // what came of the last stop; nil before one
	holder  string         // what the task that holds it does; "" if none does
	off     *off           // when it is to be switched off; nil if it is not on
	ending  bool           // it is being switched off
	active  bool           // the task that holds it may act now
	left    bool           // it has acted, or may have, and is not known to be inert since
	level   level
	driver  drivers.Device // nil before Start
	seen    []Seen         // since it acted last
	breaks  uint64         // how often a task has stopped what it was at
	resting chan struct{}  // closed where the task that holds it only waits for it to have rested, and is overtaken; else nil
	acts    uint64         // how often a call that does more than read has begun or ended
}

// New makes a gate. now must carry monotonic time, as time.Now does.
func New(cfg Config, now func() time.Time, log *slog.Logger, opts ...Option) *Gate {
	g := &Gate{
		cfg: cfg, now: now, log: log, stir: make(chan struct{}, 1), slept: suspend.Slept, settled: make(chan struct{}, 1), changed: make(chan struct{}),
		spent: map[spender][]time.Time{}, sweep: minSweep, due: map[string]Due{}, unwritten: map[string]uint64{},
		devices: map[string]*device{}, running: map[*call]context.CancelCauseFunc{},
	}
	g.prepare(opts)
	return g
}

// device returns what is known of a device. mu is held.
func (g *Gate) device(name string) *device {
	d := g.devices[name]
	if d == nil {
		d = &device{
			name: name, limits: g.limits(name),
			hold: make(chan struct{}, 1), acting: make(chan struct{}, 1), steer: make(chan struct{}, 1), look: make(chan struct{}, 1),
			again: make(chan struct{}, 1),
		}
		g.devices[name] = d
	}
	return d
}

// limits returns those of a device. mu is held.
func (g *Gate) limits(name string) *Device {
	if _, own := g.cfg.Devices[name]; own {
		return new(g.cfg.device(name))
	}
	if g.common == nil {
		g.common = new(g.cfg.device(""))
	}
	return g.common
}

// Refusal is the gate's "no": which rule says it, and with which value.
type Refusal struct {
	Device string
	Rule   string        // its name in docs/gate.md: min_interval, locked, range, ...
	Text   string        // the rule's value, what it was held against, and what to do
	Retry  time.Duration // when it may be otherwise; 0 if nobody knows
}

func (r *Refusal) Error() string {
	if r.Device == "" {
		return fmt.Sprintf("%s: %s", r.Rule, r.Text)
	}
	return fmt.Sprintf("%s: %s: %s", r.Device, r.Rule, r.Text)
}

// Verdict is what the gate says of a plan that it would let through.
type Verdict struct {
	Confirm Confirm  // who must say yes first
	Ends    []Ends   // who switches off again what is switched on for a time
	Needs   []string // what must hold of other devices when it acts, in words
}

// OffIn is how long what is switched on for a time is on at most; 0: for no time.
func (v Verdict) OffIn() (in time.Duration) {
	for _, e := range v.Ends {
		in = max(in, e.In)
	}
	return in
}

// Check tells whether a plan could pass now, and what it needs for that, as far
// as that can be told without looking at other devices. It changes nothing. The
// error is a *Refusal.
func (g *Gate) Check(p capabilities.Plan) (Verdict, error) { return g.check(Order{Plan: p}) }

func (g *Gate) check(o Order) (Verdict, error) {
	g.ask()
	g.mu.Lock()
	defer g.mu.Unlock()
	d, p := g.device(o.Device), o.Plan
	err := first(g.always(), d, p)
	if err == nil {
		err = first([]rule{g.rested, g.notBusy}, d, p)
	}
	if err == nil {
		err = g.withinActs(d, o)
	}
	if err == nil {
		err = first([]rule{g.notDry}, d, p) // last, so that it says what nothing else forbids
	}
	if err != nil {
		return Verdict{}, err
	}
	return Verdict{Confirm: g.cfg.confirm(*d.limits, p), Ends: g.ends(d, p), Needs: needs(*d.limits, p)}, nil
}

// Judge is Check, and looks at the sensors and devices that the plan depends
// on. The error is a *Refusal, or ctx's.
func (g *Gate) Judge(ctx context.Context, o Order) (Verdict, error) {
	v, err := g.check(o)
	if err != nil {
		return v, err
	}
	g.mu.Lock()
	d := g.device(o.Device)
	g.mu.Unlock()
	return v, g.look(ctx, d, o.Plan)
}

// ring makes Run look at its timers again.
func (g *Gate) ring() { ring(g.stir) }

// ring wakes whoever waits on c, now or when he next does.
func ring(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
