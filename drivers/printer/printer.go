// Package printer drives 3D printers that are reached over HTTP, by one of three
// servers: Moonraker (Klipper), OctoPrint and PrusaLink. It prints files that lie
// on the printer, tells how far a print is, pauses, resumes and cancels it, and
// finds a print again that an earlier run of the program has begun.
//
// Not supported: uploads, several extruders beyond the first for switching off,
// and printers in the cloud of their makers.
package printer

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
)

var (
	_ drivers.Printer  = (*Printer)(nil)
	_ drivers.Areas    = (*Printer)(nil)
	_ drivers.Pauser   = (*Printer)(nil)
	_ drivers.Stopper  = (*Printer)(nil)
	_ drivers.Observer = (*Printer)(nil)
	_ drivers.Sensor   = (*Printer)(nil)
	_ drivers.Leaver   = (*Printer)(nil)

	_ drivers.SafeReader = (*Printer)(nil)
	_ drivers.RestReader = (*Printer)(nil)
)

// Kind is the kind of driver for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "printer", Class: "printer", About: "3D printer with Moonraker, OctoPrint or PrusaLink: print, progress, pause, cancel", Open: Open, Discover: Discover}
}

// Printer is one printer.
type Printer struct {
	drivers.Life
	cfg  Config
	is   dialect
	web  *web.Client
	link *drivers.Link
	log  *slog.Logger
	now  func() time.Time
	told atomic.Pointer[start] // nil: it has begun, or never will

	paused atomic.Bool // it was told to pause, and not to go on since
}

// Open is the drivers.Factory of this package. No network is touched.
func Open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	return New(env.Name, cfg, env.Log, env.Now)
}

// New makes a printer of a valid configuration.
func New(name string, cfg Config, log *slog.Logger, now func() time.Time) (*Printer, error) {
	client, err := web.New(cfg.Config, "X-Api-Key")
	if err != nil {
		return nil, err
	}
	return &Printer{Life: drivers.NewLife(name), cfg: cfg, is: dialects[cfg.Server](server{client}, cfg), web: client, link: drivers.NewLink(client.Host()), log: log, now: now}, nil
}

// Connection is a Gobot adaptor that does nothing.
func (p *Printer) Connection() gobot.Connection { return p.link }

// Holds is the printer: a second device would not know of what the first prints.
func (p *Printer) Holds() []drivers.Hold {
	return []drivers.Hold{{Key: "url", What: "the printer at " + p.web.Host(), Same: "printer " + drivers.SameURL(p.cfg.URL)}}
}

// Start makes it ready; the printer is not asked, which may be switched on later.
func (p *Printer) Start() error { p.Opened(); return nil }

// haltCalls is how many calls' timeouts Halt may take.
const haltCalls = 5

// Halt cancels what is printed, whoever has begun it, and switches the heaters
// off.
func (p *Printer) Halt() error {
	p.Closed()
	if p.cfg.Safe == Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), haltCalls*p.cfg.Timeout)
	defer cancel()
	return p.Named(p.web.Last(ctx, func(ctx context.Context) error { _, err := p.stop(ctx); return err }))
}

// Leave lets a print go on.
func (p *Printer) Leave() error { p.Closed(); return nil }

// Keeps reports whether a halt leaves it as it is.
func (p *Printer) Keeps() bool { return p.cfg.Safe == Keep }

// Safe reports whether nothing is printed, and nothing is heated.
func (p *Printer) Safe(ctx context.Context) (bool, error) {
	if p.cfg.Safe == Keep {
		return true, nil
	}
	s, err := p.is.state(ctx)
	return err == nil && !s.active() && !(s.heats() && p.is.cools()), p.Named(err)
}

// AtRest reports whether it does not print now.
func (p *Printer) AtRest(ctx context.Context) (bool, error) {
	s, err := p.is.state(ctx)
	return err == nil && s.Phase != printing && s.Phase != busy, p.Named(err)
}

// Working reports whether there is a print that has not ended.
func (p *Printer) Working(ctx context.Context) (bool, error) {
	s, err := drivers.During(ctx, &p.Life, p.is.state)
	if err == nil && s.Phase == offline {
		err = fmt.Errorf("%s: the printer is not connected to its server", p.Name())
	}
	return err == nil && s.active(), err
}

// Read tells the temperatures, and how far a print is.
func (p *Printer) Read(ctx context.Context) ([]drivers.Reading, error) {
	s, err := drivers.During(ctx, &p.Life, p.is.state)
	if err != nil {
		return nil, err
	}
	var list []drivers.Reading
	add := func(there bool, quantity string, value float64, unit string) {
		if there {
			list = append(list, drivers.Reading{Quantity: quantity, Value: value, Unit: unit, At: p.now()})
		}
	}
	add(s.active(), "progress", math.Round(s.Percent), "%")
	add(s.active() && s.Left > 0, "time left", s.Left.Round(time.Second).Seconds(), "s")
	add(s.Layers > 0, "layer", float64(s.Layer), "layers")
	add(s.Nozzle != nil, "nozzle temperature", value(s.Nozzle), "°C")
	add(s.Bed != nil, "bed temperature", value(s.Bed), "°C")
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: it measures nothing now; is the printer connected to its server?", p.Name())
	}
	return list, nil
}

func value(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// Observe says how the printer is, and how far its print.
func (p *Printer) Observe(ctx context.Context) (drivers.Observation, error) {
	s, err := drivers.During(ctx, &p.Life, p.is.state)
	if err != nil {
		return drivers.Observation{}, err
	}
	text, facts := s.says()
	return drivers.Observation{Text: text, Facts: facts, At: p.now()}, nil
}

// spoken is a file's name as people say it: without its folder and its ending, and
// with spaces for signs.
func spoken(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127)
	}), " ")
}
