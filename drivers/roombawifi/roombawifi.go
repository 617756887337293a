// Package roombawifi drives Roombas in the network through the MQTT server of each robot:
// 900, e, i, s and j series, and Braava m. It cleans everything or rooms by name, pauses,
// resumes and stops the robot, sends it to its dock, and reports its state, its battery
// level and its problems.
//
// Not supported: maps as images, schedules, robots of the 100 series ("Vac Essential"), and
// the cloud of the manufacturer.
package roombawifi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Cleaner    = (*Robot)(nil)
	_ drivers.DockReader = (*Robot)(nil)
	_ drivers.AreaLister = (*Robot)(nil)
	_ drivers.Pauser     = (*Robot)(nil)
	_ drivers.Stopper    = (*Robot)(nil)
	_ drivers.Sensor     = (*Robot)(nil)
	_ drivers.Observer   = (*Robot)(nil)
	_ drivers.SafeReader = (*Robot)(nil)
	_ drivers.RestReader = (*Robot)(nil)
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "roombawifi", Class: "vacuum", About: "Roomba in the network (900, e, i, s, j): rooms by name, state, battery", Open: drivers.NewFactory(DefaultConfig, open), Discover: Discover}
}

// Robot is one robot.
type Robot struct {
	drivers.Base
	cfg       Config
	link      *link
	gobot     *drivers.Connection
	log       *slog.Logger
	now       func() time.Time
	exclusive drivers.ExclusiveTask

	helpWait drivers.HelpWait
}

// open is New, but returns an error if the password file is unreadable.
func open(env drivers.Env, cfg Config) (*Robot, error) {
	_, err := cfg.secret()
	return New(env, cfg), err
}

// New returns a robot for a valid configuration. It uses no network.
func New(env drivers.Env, cfg Config) *Robot {
	return &Robot{Base: drivers.NewBase(env.Name), cfg: cfg, link: newLink(cfg, env.Log), gobot: drivers.NewConnection(cfg.Host), log: env.Log, now: env.Now}
}

// Connection returns the host of the device.
func (r *Robot) Connection() *drivers.Connection { return r.gobot }

// Resources returns the robot, which accepts only one connection.
func (r *Robot) Resources() []drivers.Resource {
	return []drivers.Resource{{Key: "host", Label: "the robot at " + r.cfg.Host, Identity: "robot " + drivers.HostIdentity(r.cfg.Host)}}
}

// Start allows verbs. It sends nothing to the robot.
func (r *Robot) Start() error { r.MarkStarted(); return nil }

// beginTime is how long the robot may need to execute a command.
const beginTime = 25 * time.Second

// Halt stops the robot where it is, no matter which client started it.
func (r *Robot) Halt() error {
	r.StopVerbs()
	if r.cfg.Safe == Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drivers.StopTimeout+r.cfg.Timeout)
	defer cancel()
	return r.WithName(r.with(ctx, func(report) error { return r.stop(ctx) }))
}

// KeepsState reports whether Halt keeps the state of the robot.
func (r *Robot) KeepsState() bool { return r.cfg.Safe == Keep }

// Safe reports whether the robot stands still.
func (r *Robot) Safe(ctx context.Context) (bool, error) {
	if r.cfg.Safe == Keep {
		return true, nil
	}
	return r.AtRest(ctx)
}

// AtRest reports whether the robot stands still. It returns false for a robot with a start
// command that has not reported movement, because it may still set out.
func (r *Robot) AtRest(ctx context.Context) (still bool, err error) {
	err = r.with(ctx, func(s report) error { still = !s.Mission.moves() && !r.link.mayYet(r.now()); return nil })
	return still, r.WithName(err)
}

// with calls f with a connection and the present state.
func (r *Robot) with(ctx context.Context, f func(report) error) error {
	if ctx.Err() != nil {
		return drivers.MarkNothingDone(ctx.Err())
	}
	release, err := r.link.use(ctx)
	if err != nil {
		return err
	}
	defer release()
	s, err := r.link.state(ctx)
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	return f(s)
}

// runQuery runs a verb that changes nothing.
func runQuery[T any](ctx context.Context, r *Robot, f func(report) (T, error)) (T, error) {
	return drivers.DoValue(ctx, &r.Base, func(ctx context.Context) (v T, err error) {
		err = r.with(ctx, func(s report) (err error) { v, err = f(s); return err })
		return v, err
	})
}

// Docked reports whether the robot is in its dock.
func (r *Robot) Docked(ctx context.Context) (bool, error) {
	return runQuery(ctx, r, func(s report) (bool, error) { return s.Mission.docked(), nil })
}

// Read returns the battery level.
func (r *Robot) Read(ctx context.Context) ([]drivers.Reading, error) {
	return runQuery(ctx, r, func(s report) ([]drivers.Reading, error) {
		if s.Battery == nil {
			return nil, errors.New("the robot does not report its battery level")
		}
		return []drivers.Reading{{Quantity: "battery", Value: math.Round(*s.Battery), Unit: "%", At: r.now()}}, nil
	})
}

// Observe returns the state of the robot.
func (r *Robot) Observe(ctx context.Context) (drivers.Observation, error) {
	return runQuery(ctx, r, func(s report) (drivers.Observation, error) {
		text, facts := s.describe()
		return drivers.Observation{Text: text, Facts: facts, At: r.now()}, nil
	})
}

// Areas returns the rooms of the configuration.
func (r *Robot) Areas(ctx context.Context) ([]drivers.Area, error) {
	_, done, err := r.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var list []drivers.Area
	for _, id := range slices.Sorted(maps.Keys(r.cfg.Segments)) {
		list = append(list, drivers.Area{Name: r.cfg.Segments[id], Room: r.cfg.Segments[id]})
	}
	return list, nil
}

// Rooms returns the rooms of the configuration.
func (r *Robot) Rooms() []string { return slices.Sorted(maps.Values(r.cfg.Segments)) }

// regions returns the ids of rooms.
func (r *Robot) regions(areas []string) ([]region, error) {
	var list []region
	for _, a := range areas {
		found := false
		for id, name := range r.cfg.Segments {
			if name == a {
				list, found = append(list, region{id, "rid"}), true
			}
		}
		if !found {
			known := slices.Sorted(maps.Values(r.cfg.Segments))
			return nil, drivers.MarkNothingDone(fmt.Errorf("segments has no room %q; known rooms: %s", a, strings.Join(known, ", ")))
		}
	}
	return list, nil
}
