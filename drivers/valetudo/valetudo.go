// Package valetudo drives robot vacuums that run Valetudo (valetudo.cloud), over
// its REST API: /api/v2/robot. It cleans everything, rooms by name or the spot where it stands,
// sends the robot home, tells its state and battery, and draws its map.
//
// Not supported: zones by name, virtual walls, mop settings, updates, and robots in the
// cloud of their makers.
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

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
)

var (
	_ drivers.Cleaner  = (*Vacuum)(nil)
	_ drivers.Spotter  = (*Vacuum)(nil)
	_ drivers.Areas    = (*Vacuum)(nil)
	_ drivers.Mapper   = (*Vacuum)(nil)
	_ drivers.Sensor   = (*Vacuum)(nil)
	_ drivers.Observer = (*Vacuum)(nil)

	_ drivers.Inspector  = (*Vacuum)(nil)
	_ drivers.SafeReader = (*Vacuum)(nil)
	_ drivers.RestReader = (*Vacuum)(nil)
	_ drivers.DockReader = (*Vacuum)(nil)
	_ drivers.Pauser     = (*Vacuum)(nil)
	_ drivers.Stopper    = (*Vacuum)(nil)
)

// Kind is the kind of driver for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "valetudo", Class: "vacuum", About: "robot vacuum with Valetudo: rooms by name, the spot, state, battery, map", Open: Open, Discover: Discover}
}

// Vacuum is one robot.
type Vacuum struct {
	drivers.Life
	cfg  Config
	web  *web.Client
	link *drivers.Link
	log  *slog.Logger
	now  func() time.Time

	wrong   sync.Once      // wrong segments are told in the log once
	errand  drivers.Errand // what it does for us
	trouble drivers.Trouble
	loose   atomic.Bool // it may have been told to set out, and could not be stopped
}

// Open is the drivers.Factory of this package. No network is touched.
func Open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	return New(env.Name, cfg, env.Log, env.Now)
}

// New makes a vacuum of a valid configuration.
func New(name string, cfg Config, log *slog.Logger, now func() time.Time) (*Vacuum, error) {
	client, err := web.New(cfg.Config, "")
	if err != nil {
		return nil, err
	}
	return &Vacuum{Life: drivers.NewLife(name), cfg: cfg, web: client, link: drivers.NewLink(client.Host()), log: log, now: now}, nil
}

// Connection is a Gobot adaptor that does nothing.
func (v *Vacuum) Connection() gobot.Connection { return v.link }

// Holds is the robot: a second device would not know of what the first is at.
func (v *Vacuum) Holds() []drivers.Hold {
	return []drivers.Hold{{Key: "url", What: "the robot at " + v.web.Host(), Same: "robot " + drivers.SameURL(v.cfg.URL)}}
}

// Start makes it ready; the robot is not asked, which may be switched on later.
func (v *Vacuum) Start() error { v.Opened(); return nil }

// haltCalls is how many calls' timeouts Halt may take.
const haltCalls = 3

// Halt stops the robot where it is, whoever has sent it.
func (v *Vacuum) Halt() error {
	v.Closed()
	if v.cfg.Safe == Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), haltCalls*v.cfg.Timeout)
	defer cancel()
	return v.Named(v.web.Last(ctx, v.stop))
}

// Keeps reports whether a halt leaves it as it is.
func (v *Vacuum) Keeps() bool { return v.cfg.Safe == Keep }

// Safe reports whether it stands still.
func (v *Vacuum) Safe(ctx context.Context) (bool, error) {
	s, err := v.state(ctx)
	return !s.moves() || v.cfg.Safe == Keep, v.Named(err)
}

// AtRest reports whether it stands still, whatever safe is. Of one that may yet set
// out nobody knows.
func (v *Vacuum) AtRest(ctx context.Context) (bool, error) {
	if v.loose.Load() {
		return false, v.Named(errors.New("it was told something, and never answered or could not be stopped: it may set out yet"))
	}
	s, err := v.state(ctx)
	return err == nil && !s.moves(), v.Named(err)
}

// Docked reports whether it is in its dock.
func (v *Vacuum) Docked(ctx context.Context) (bool, error) {
	s, err := drivers.During(ctx, &v.Life, v.state)
	return err == nil && s.Status == isDocked, err
}

// Areas are the rooms that the robot knows.
func (v *Vacuum) Areas(ctx context.Context) ([]drivers.Area, error) {
	rooms, err := drivers.During(ctx, &v.Life, v.rooms)
	list := make([]drivers.Area, len(rooms))
	for i, r := range rooms {
		list[i] = drivers.Area{Name: r.Name, Room: r.Name}
	}
	return list, err
}

// Rooms are those of the configuration, none where the robot's own names count.
func (v *Vacuum) Rooms() []string { return slices.Sorted(maps.Values(v.cfg.Segments)) }

// Read tells the battery.
func (v *Vacuum) Read(ctx context.Context) ([]drivers.Reading, error) {
	s, err := drivers.During(ctx, &v.Life, v.state)
	if err != nil {
		return nil, err
	}
	if s.Battery == nil {
		return nil, fmt.Errorf("%s: the robot does not tell its battery", v.Name())
	}
	return []drivers.Reading{{Quantity: "battery", Value: *s.Battery, Unit: "%", At: v.now()}}, nil
}

// Observe says what the robot says of itself.
func (v *Vacuum) Observe(ctx context.Context) (drivers.Observation, error) {
	s, err := drivers.During(ctx, &v.Life, v.state)
	if err != nil {
		return drivers.Observation{}, err
	}
	text, facts := s.says()
	return drivers.Observation{Text: text, Facts: facts, At: v.now()}, nil
}
