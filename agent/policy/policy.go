package policy

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/suspend"
	"github.com/messkit/messkit/internal/wait"
)

// Policy enforces the safety policy of one agent. It is safe for concurrent use.
type Policy struct {
	cfg           settings.Config
	now           func() time.Time
	log           *slog.Logger
	timersChanged chan struct{} // signals a change of Run's timers

	suspended    func() time.Duration // returns how long the machine has been suspended since boot
	suspendWatch *suspend.Watch       // guarded by mu

	wallClock     func() (time.Time, error)
	readDecisions func() LocalDecisions
	watchdog      Watchdog

	reservations Reservations

	mu            sync.Mutex
	defaultLimits *settings.Limits // limits of devices without limits of their own; nil until first used
	devices       map[string]*device
	stopReason    string        // reason; "" while not stopped
	stopCount     uint64        // number of stops
	changed       chan struct{} // closed when any field above or the set of devices changes
	runningCalls  map[*call]context.CancelCauseFunc
	decisions     LocalDecisions              // the local operator's decisions as last read
	budgetUse     map[budgetOwner][]time.Time // the last acts of each budget, oldest first
	cleanupAt     int                         // number of budgets that triggers the next cleanup
	ledgerGap     time.Time                   // acts before this time may be missing; zero: none

	ledger        Ledger                // nil: the policy keeps acts and pending switch-offs in memory alone
	ledgerUnread  bool                  // budgetUse does not contain the acts of the ledger yet
	pendingOffs   map[string]PendingOff // pending switch-offs by device
	serial        uint64                // serial number of the last such note
	unwritten     map[string]uint64     // devices whose newest note is not on the disk, with its serial number
	ledgerChanged chan struct{}         // signals that unwritten is not empty
}

// device holds the run-time state of one device.
type device struct {
	name      string
	limits    *settings.Limits // devices without limits of their own share one
	turn      chan struct{}    // the one task that may act on it holds this
	actLock   chan struct{}    // held during a call that acts
	steerLock chan struct{}    // held during a call that steers a running task
	readLock  chan struct{}    // held during a call that reads
	safeAgain chan struct{}    // signals that it needs its safe state once more

	// Guarded by Policy.mu.
	lastAct       time.Time      // time of its last act
	hungCalls     map[*call]bool // calls that have not returned
	safeResult    *SafeResult    // result of the last stop; nil before one
	holder        string         // summary of the task that holds it; "" if none
	pending       *pendingOff    // its pending switch-off; nil if it is off
	switchingOff  bool           // the policy is switching it off
	active        bool           // the task that holds it may act now
	mayBeActive   bool           // it has acted, or may have, and may be active since
	level         switchLevel
	driver        drivers.Device // nil before Start
	lastStates    []LastState    // readings since its last act
	interruptions uint64         // how often a task has stopped its activity
	overtaken     chan struct{}  // closed when another task overtakes the one that holds it and only waits for the minimum interval; else nil
	actCount      uint64         // how often a call that does more than read has begun or ended
}

// New returns a policy for a configuration. now must return monotonic time, as time.Now does.
func New(cfg settings.Config, now func() time.Time, log *slog.Logger, opts ...Option) *Policy {
	g := &Policy{
		cfg: cfg, now: now, log: log, timersChanged: make(chan struct{}, 1), suspended: suspend.Slept, ledgerChanged: make(chan struct{}, 1), changed: make(chan struct{}),
		budgetUse: map[budgetOwner][]time.Time{}, cleanupAt: minCleanup, pendingOffs: map[string]PendingOff{}, unwritten: map[string]uint64{},
		devices: map[string]*device{}, runningCalls: map[*call]context.CancelCauseFunc{},
	}
	g.prepare(opts)
	return g
}

// device returns the state of a device and creates it at first use. The caller holds Policy.mu.
func (g *Policy) device(name string) *device {
	d := g.devices[name]
	if d == nil {
		d = &device{
			name: name, limits: g.limitsOf(name),
			turn: make(chan struct{}, 1), actLock: make(chan struct{}, 1), steerLock: make(chan struct{}, 1), readLock: make(chan struct{}, 1),
			safeAgain: make(chan struct{}, 1),
		}
		g.devices[name] = d
	}
	return d
}

// AddDevice sets the limits and the least risk class of a device that the configuration of New does
// not have. Call it before the start of the device.
func (g *Policy) AddDevice(name string, limits settings.Limits, least capabilities.Risk) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cfg.Devices, g.cfg.Risks = withEntry(g.cfg.Devices, name, limits), withEntry(g.cfg.Risks, name, least)
	if d := g.devices[name]; d != nil { // somebody has asked for a plan with it
		d.limits = g.limitsOf(name)
	}
}

// withEntry returns a copy of a map with one more entry: the caller of New may use the map.
func withEntry[T any](m map[string]T, name string, value T) map[string]T {
	if m = maps.Clone(m); m == nil {
		m = map[string]T{}
	}
	m[name] = value
	return m
}

// Forget removes a device whose start has failed, or that Retire has taken to its safe state, with its
// limits. A device that may be active stays, so that the policy takes it to its safe state.
func (g *Policy) Forget(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.devices[name]
	if d == nil || d.mayBeActive || d.pending != nil || len(d.hungCalls) > 0 {
		return
	}
	delete(g.devices, name)
	g.cfg.Devices, g.cfg.Risks = withoutEntry(g.cfg.Devices, name), withoutEntry(g.cfg.Risks, name)
	g.notifyChanged()
}

// withoutEntry returns a copy of a map without one entry.
func withoutEntry[T any](m map[string]T, name string) map[string]T {
	m = maps.Clone(m)
	delete(m, name)
	return m
}

// limitsOf returns the limits of a device. The caller holds Policy.mu.
func (g *Policy) limitsOf(name string) *settings.Limits {
	if _, own := g.cfg.Devices[name]; own {
		return new(g.cfg.Device(name))
	}
	if g.defaultLimits == nil {
		g.defaultLimits = new(g.cfg.Device(""))
	}
	return g.defaultLimits
}

// Rejection is a rejection by the safety policy, with the rule and its value.
type Rejection struct {
	Device string
	Rule   string        // its name in docs/reference/safety-policy.md: min_interval, locked, range, ...
	Text   string        // the rule's value, the requested value, and a remedy
	Retry  time.Duration // when another try may succeed; 0 if unknown
}

func (r *Rejection) Error() string {
	if r.Device == "" {
		return fmt.Sprintf("%s: %s", r.Rule, r.Text)
	}
	return fmt.Sprintf("%s: %s: %s", r.Device, r.Rule, r.Text)
}

// Decision describes a plan that the safety policy allows.
type Decision struct {
	Confirm    settings.Confirm // required confirmation
	SwitchOffs []SwitchOff      // which devices go off again, and by which means
	Conditions []string         // conditions on other devices, in words
}

// OffIn returns the longest time after which a device goes off again; 0 if none does.
func (v Decision) OffIn() (in time.Duration) {
	for _, e := range v.SwitchOffs {
		in = max(in, e.In)
	}
	return in
}

// Check reports whether the safety policy would allow a plan now and with which conditions. It
// does not read other devices, and it changes nothing. The error is a *Rejection.
func (g *Policy) Check(p capabilities.Plan) (Decision, error) { return g.check(Order{Plan: p}) }

func (g *Policy) check(o Order) (Decision, error) {
	g.updateDecisions()
	g.mu.Lock()
	defer g.mu.Unlock()
	d, p := g.device(o.Device), o.Plan
	err := firstRejection(g.standingRules(), d, p)
	if err == nil {
		err = firstRejection([]rule{g.minIntervalElapsed, g.notBusy}, d, p)
	}
	if err == nil {
		err = g.withinBudgets(d, o)
	}
	if err == nil {
		err = firstRejection([]rule{g.notDryRun}, d, p) // last, so that it applies only if all other rules allow the plan
	}
	if err != nil {
		return Decision{}, err
	}
	return Decision{Confirm: g.confirmation(*d.limits, p), SwitchOffs: g.ends(d, p), Conditions: conditionTexts(*d.limits, p)}, nil
}

// Evaluate does the same as Check and also reads the sensors and devices that the plan depends on.
// The error is a *Rejection or the cause of ctx.
func (g *Policy) Evaluate(ctx context.Context, o Order) (Decision, error) {
	v, err := g.check(o)
	if err != nil {
		return v, err
	}
	g.mu.Lock()
	d := g.device(o.Device)
	g.mu.Unlock()
	return v, g.checkConditions(ctx, d, o.Plan)
}

// notifyTimers makes Run check its timers again.
func (g *Policy) notifyTimers() { wait.Notify(g.timersChanged) }

// Order is a plan with the data that the safety policy needs about its request.
type Order struct {
	capabilities.Plan
	By        string // the requester; "" if unknown
	Confirmed string // digest of the confirmed plan; "" for none
	// Began is the time at which an earlier run may have carried it out; zero: none has.
	Began time.Time
}

// Option sets an optional dependency of a policy.
type Option func(*Policy)

// WithWallClock sets the source of the time of day. If it returns an error, the clock may not be
// set, and quiet hours apply. Without this option the policy uses the now of New and trusts it.
func WithWallClock(wall func() (time.Time, error)) Option {
	return func(g *Policy) { g.wallClock = wall }
}

// WithLocalDecisions sets the source of the local operator's lockouts and disarmed classes. The policy
// reads it for every plan and before every act.
func WithLocalDecisions(local func() LocalDecisions) Option {
	return func(g *Policy) { g.readDecisions = local }
}

// WithWatchdog sets the watchdog that covers devices while they are on.
func WithWatchdog(w Watchdog) Option { return func(g *Policy) { g.watchdog = w } }

// prepare applies the options and fills in defaults.
func (g *Policy) prepare(opts []Option) {
	for _, o := range opts {
		o(g)
	}
	g.suspendWatch = suspend.NewWatch(g.suspended)
	if g.wallClock == nil {
		g.wallClock = func() (time.Time, error) { return g.now(), nil }
	}
	if g.readDecisions == nil {
		g.readDecisions = func() LocalDecisions { return LocalDecisions{} }
	}
	if g.watchdog == nil {
		g.watchdog = noWatchdog{}
	}
	if g.reservations == nil {
		g.reservations = noReservations
	}
}
