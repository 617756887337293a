// Package agent implements the executor. It takes offers, makes a plan, asks the safety policy,
// acts at most once, and answers.
//
// It knows the exchange by a few methods and the devices by their capabilities. Three things
// together prevent a duplicate act: the start permission of the exchange, the epoch of the
// claim, and an intent on the disk before the act.
package agent

import (
	"log/slog"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/live"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/session"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/agent/task"
)

// Agent is an executor. Create it with New and keep its Run running. Its methods are safe for
// concurrent use.
type Agent struct {
	cfg      Config
	session  *session.Session
	resolver Resolver
	devices  *device.Set
	activity *device.Activity
	states   *device.StateReports
	live     *live.Cameras
	tasks    *task.Tasks
	drain    *drain
	health   *journalHealth
	battery  *batteryReports
	gate     *policy.Policy
	journal  *journal.Journal
	now      func() time.Time
	log      *slog.Logger
}

// taskHost implements task.Host.
type taskHost struct {
	*drain
	*journalHealth
}

// New returns an agent with these devices for the exchange x. It starts nothing: Run does. r turns
// requests into plans, g is the safety policy of the devices, and j the open journal, which the
// caller closes after Run. now must return monotonic time, as time.Now does.
func New(cfg Config, x Exchange, r Resolver, devices []device.Device, g *policy.Policy, j *journal.Journal, now func() time.Time, log *slog.Logger) *Agent {
	cfg = cfg.Filled()
	if cfg.Stop == nil {
		cfg.Stop = stop.Open(stop.Config{}, g, now, log)
	}
	a := &Agent{cfg: cfg, resolver: r, gate: g, journal: j, now: now, log: log}
	a.session = session.New(cfg, x, log)
	a.devices = device.NewSet(devices, g, cfg.Fit, now, log)
	a.activity = device.NewActivity(cfg.Watch.AtOnce)
	a.states = device.NewStateReports(a.devices, a.activity, a.session, r.Places)
	a.live = live.New(a.takeFrame)
	a.health = &journalHealth{journal: j, log: log, broken: make(chan struct{}, 1)}
	a.battery = &batteryReports{read: cfg.Battery, now: now}
	a.drain = &drain{log: log, changed: make(chan struct{}), wake: func() { a.tasks.Wake() }}
	a.tasks = task.New(&task.Deps{
		Config: cfg, Session: a.session, Resolver: r, Devices: a.devices, Activity: a.activity, Gate: g, Journal: j, Now: now, Log: log,
		Host: taskHost{a.drain, a.health},
	})
	return a
}
