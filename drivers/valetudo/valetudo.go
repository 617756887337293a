// Package valetudo drives robot vacuums with Valetudo (valetudo.cloud) through its REST
// API, /api/v2/robot. It cleans everything, rooms by name, or the spot of the robot, sends
// the robot to its dock, reports its state and battery level, and draws its map.
//
// Not supported: zones by name, virtual walls, mop settings, updates, and cloud robots.
package valetudo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

var (
	_ drivers.Cleaner     = (*Vacuum)(nil)
	_ drivers.SpotCleaner = (*Vacuum)(nil)
	_ drivers.AreaLister  = (*Vacuum)(nil)
	_ drivers.FloorMapper = (*Vacuum)(nil)
	_ drivers.Sensor      = (*Vacuum)(nil)
	_ drivers.Observer    = (*Vacuum)(nil)

	_ drivers.Inspector  = (*Vacuum)(nil)
	_ drivers.SafeReader = (*Vacuum)(nil)
	_ drivers.RestReader = (*Vacuum)(nil)
	_ drivers.DockReader = (*Vacuum)(nil)
	_ drivers.Pauser     = (*Vacuum)(nil)
	_ drivers.Stopper    = (*Vacuum)(nil)
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "valetudo", Class: "vacuum", About: "robot vacuum with Valetudo: rooms by name, the spot, state, battery, map", Open: drivers.NewFactory(DefaultConfig, New), Discover: Discover}
}

// Vacuum is one robot.
type Vacuum struct {
	drivers.Base
	cfg  Config
	web  *httpclient.Client
	link *drivers.Connection
	log  *slog.Logger
	now  func() time.Time

	logMissing sync.Once             // logs the missing segments once
	exclusive  drivers.ExclusiveTask // task of this driver
	helpWait   drivers.HelpWait
	loose      atomic.Bool // the robot may have a start command, and a stop failed
}

// New returns a vacuum for a valid configuration. It uses no network.
func New(env drivers.Env, cfg Config) (*Vacuum, error) {
	client, err := httpclient.New(cfg.Config, "")
	if err != nil {
		return nil, err
	}
	return &Vacuum{Base: drivers.NewBase(env.Name), cfg: cfg, web: client, link: drivers.NewConnection(client.Host()), log: env.Log, now: env.Now}, nil
}

// Connection returns the host of the device.
func (v *Vacuum) Connection() *drivers.Connection { return v.link }

// Resources returns the robot, because a second device would not know the task of the first.
func (v *Vacuum) Resources() []drivers.Resource {
	return []drivers.Resource{{Key: "url", Label: "the robot at " + v.web.Host(), Identity: "robot " + drivers.URLIdentity(v.cfg.URL)}}
}

// Start allows verbs. It sends no request, because the robot may be off.
func (v *Vacuum) Start() error { v.MarkStarted(); return nil }

// haltCalls is the time limit of Halt as a multiple of the timeout.
const haltCalls = 3

// Halt stops the robot where it is, no matter which client started it.
func (v *Vacuum) Halt() error {
	v.StopVerbs()
	if v.cfg.Safe == Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), haltCalls*v.cfg.Timeout)
	defer cancel()
	return v.WithName(v.web.RunLast(ctx, v.stop))
}

// KeepsState reports whether Halt keeps the state of the robot.
func (v *Vacuum) KeepsState() bool { return v.cfg.Safe == Keep }

// Safe reports whether the robot stands still.
func (v *Vacuum) Safe(ctx context.Context) (bool, error) {
	s, err := v.state(ctx)
	return !s.moves() || v.cfg.Safe == Keep, v.WithName(err)
}

// AtRest reports whether the robot stands still, no matter which safe state the
// configuration has. It returns an error for a robot that may still set out.
func (v *Vacuum) AtRest(ctx context.Context) (bool, error) {
	if v.loose.Load() {
		return false, v.WithName(errors.New("an earlier command has no answer, or a stop failed: the robot may still set out"))
	}
	s, err := v.state(ctx)
	return err == nil && !s.moves(), v.WithName(err)
}

// Docked reports whether the robot is in its dock.
func (v *Vacuum) Docked(ctx context.Context) (bool, error) {
	s, err := drivers.DoValue(ctx, &v.Base, v.state)
	return err == nil && s.Status == isDocked, err
}

// Areas returns the rooms of the robot.
func (v *Vacuum) Areas(ctx context.Context) ([]drivers.Area, error) {
	rooms, err := drivers.DoValue(ctx, &v.Base, v.rooms)
	list := make([]drivers.Area, len(rooms))
	for i, r := range rooms {
		list[i] = drivers.Area{Name: r.Name, Room: r.Name}
	}
	return list, err
}

// Rooms returns the rooms of the configuration, or none if the names in the robot count.
func (v *Vacuum) Rooms() []string { return slices.Sorted(maps.Values(v.cfg.Segments)) }

// Read returns the battery level.
func (v *Vacuum) Read(ctx context.Context) ([]drivers.Reading, error) {
	s, err := drivers.DoValue(ctx, &v.Base, v.state)
	if err != nil {
		return nil, err
	}
	if s.Battery == nil {
		return nil, fmt.Errorf("%s: the robot does not report its battery level", v.Name())
	}
	return []drivers.Reading{{Quantity: "battery", Value: *s.Battery, Unit: "%", At: v.now()}}, nil
}

// Observe returns the state of the robot.
func (v *Vacuum) Observe(ctx context.Context) (drivers.Observation, error) {
	s, err := drivers.DoValue(ctx, &v.Base, v.state)
	if err != nil {
		return drivers.Observation{}, err
	}
	text, facts := s.describe()
	return drivers.Observation{Text: text, Facts: facts, At: v.now()}, nil
}
