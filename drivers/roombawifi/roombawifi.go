// Package roombawifi drives Roombas in the network, by the MQTT server that each
// has itself: 900, e, i, s and j series, and Braava m. It cleans everything or rooms
// by name, pauses, resumes and stops the robot, sends it to its dock, and tells its
// state, its battery and what is wrong with it.
//
// Not supported: maps as pictures, schedules, robots of the 100 series ("Vac
// Essential"), and the maker's cloud.
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

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Cleaner    = (*Robot)(nil)
	_ drivers.DockReader = (*Robot)(nil)
	_ drivers.Areas      = (*Robot)(nil)
	_ drivers.Pauser     = (*Robot)(nil)
	_ drivers.Stopper    = (*Robot)(nil)
	_ drivers.Sensor     = (*Robot)(nil)
	_ drivers.Observer   = (*Robot)(nil)
	_ drivers.SafeReader = (*Robot)(nil)
	_ drivers.RestReader = (*Robot)(nil)
)

// Kind is the kind of driver for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "roombawifi", Class: "vacuum", About: "Roomba in the network (900, e, i, s, j): rooms by name, state, battery", Open: Open, Discover: Discover}
}

// Robot is one robot.
type Robot struct {
	drivers.Life
	cfg    Config
	link   *link
	gobot  *drivers.Link
	log    *slog.Logger
	now    func() time.Time
	errand drivers.Errand

	trouble drivers.Trouble
}

// Open is the drivers.Factory of this package. No network is touched.
func Open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	if _, err := cfg.secret(); err != nil {
		return nil, err
	}
	return New(env.Name, cfg, env.Log, env.Now), nil
}

// New makes a robot of a valid configuration.
func New(name string, cfg Config, log *slog.Logger, now func() time.Time) *Robot {
	return &Robot{Life: drivers.NewLife(name), cfg: cfg, link: newLink(cfg, log), gobot: drivers.NewLink(cfg.Host), log: log, now: now}
}

// Connection is a Gobot adaptor that does nothing.
func (r *Robot) Connection() gobot.Connection { return r.gobot }

// Holds is the robot, which takes one connection only.
func (r *Robot) Holds() []drivers.Hold {
	return []drivers.Hold{{Key: "host", What: "the robot at " + r.cfg.Host, Same: "robot " + drivers.SameHost(r.cfg.Host)}}
}

// Start makes it ready; the robot is not asked.
func (r *Robot) Start() error { r.Opened(); return nil }

// beginTime is how long the robot may take to begin what it was told.
const beginTime = 25 * time.Second

// Halt stops the robot where it is, whoever has sent it.
func (r *Robot) Halt() error {
	r.Closed()
	if r.cfg.Safe == Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), drivers.StopTime+r.cfg.Timeout)
	defer cancel()
	return r.Named(r.with(ctx, func(report) error { return r.stop(ctx) }))
}

// Keeps reports whether a halt leaves it as it is.
func (r *Robot) Keeps() bool { return r.cfg.Safe == Keep }

// Safe reports whether it stands still.
func (r *Robot) Safe(ctx context.Context) (bool, error) {
	if r.cfg.Safe == Keep {
		return true, nil
	}
	return r.AtRest(ctx)
}

// AtRest reports whether it stands still. One that was sent off, and has not told
// that it moves, may yet set out.
func (r *Robot) AtRest(ctx context.Context) (still bool, err error) {
	err = r.with(ctx, func(s report) error { still = !s.Mission.moves() && !r.link.mayYet(r.now()); return nil })
	return still, r.Named(err)
}

// with runs f with a connection, and what the robot has told by it.
func (r *Robot) with(ctx context.Context, f func(report) error) error {
	if ctx.Err() != nil {
		return drivers.NotDone(ctx.Err())
	}
	release, err := r.link.use(ctx)
	if err != nil {
		return err
	}
	defer release()
	s, err := r.link.state(ctx)
	if err != nil {
		return drivers.NotDone(err)
	}
	return f(s)
}

// see runs a verb that changes nothing.
func see[T any](ctx context.Context, r *Robot, f func(report) (T, error)) (v T, err error) {
	ctx, done, err := r.Begin(ctx)
	if err != nil {
		return v, err
	}
	defer done()
	err = r.with(ctx, func(s report) (err error) { v, err = f(s); return err })
	return v, r.Told(ctx, err)
}

// Docked reports whether it is in its dock.
func (r *Robot) Docked(ctx context.Context) (bool, error) {
	return see(ctx, r, func(s report) (bool, error) { return s.Mission.docked(), nil })
}

// Read tells the battery.
func (r *Robot) Read(ctx context.Context) ([]drivers.Reading, error) {
	return see(ctx, r, func(s report) ([]drivers.Reading, error) {
		if s.Battery == nil {
			return nil, errors.New("it does not tell its battery")
		}
		return []drivers.Reading{{Quantity: "battery", Value: math.Round(*s.Battery), Unit: "%", At: r.now()}}, nil
	})
}

// Observe says what the robot says of itself.
func (r *Robot) Observe(ctx context.Context) (drivers.Observation, error) {
	return see(ctx, r, func(s report) (drivers.Observation, error) {
		text, facts := s.says()
		return drivers.Observation{Text: text, Facts: facts, At: r.now()}, nil
	})
}

// Areas are the rooms of the configuration.
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

// Rooms are those of the configuration.
func (r *Robot) Rooms() []string { return slices.Sorted(maps.Values(r.cfg.Segments)) }

// regions are the ids of rooms.
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
			return nil, drivers.NotDone(fmt.Errorf("there is no room %q; known rooms: %s", a, strings.Join(known, ", ")))
		}
	}
	return list, nil
}
