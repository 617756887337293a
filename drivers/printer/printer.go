// Package printer drives 3D printers over HTTP through one of three servers: Moonraker
// (Klipper), OctoPrint and PrusaLink. It prints files from the storage of the printer,
// reports progress, pauses, resumes and cancels a print, and finds a print again that an
// earlier process has started.
//
// Not supported: uploads, more than one extruder for the switch-off, and cloud printers.
package printer

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

var (
	_ drivers.Printer    = (*Printer)(nil)
	_ drivers.AreaLister = (*Printer)(nil)
	_ drivers.Pauser     = (*Printer)(nil)
	_ drivers.Stopper    = (*Printer)(nil)
	_ drivers.Observer   = (*Printer)(nil)
	_ drivers.Sensor     = (*Printer)(nil)
	_ drivers.Detacher   = (*Printer)(nil)

	_ drivers.SafeReader = (*Printer)(nil)
	_ drivers.RestReader = (*Printer)(nil)
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{Name: "printer", Class: "printer", About: "3D printer with Moonraker, OctoPrint or PrusaLink: print, progress, pause, cancel", Open: drivers.NewFactory(DefaultConfig, New), Discover: Discover}
}

// Printer is one printer.
type Printer struct {
	drivers.Base
	cfg       Config
	is        dialect
	web       *httpclient.Client
	link      *drivers.Connection
	log       *slog.Logger
	now       func() time.Time
	lastStart atomic.Pointer[start] // nil: the last print has begun, or never will

	paused atomic.Bool // the last command was pause, not resume
}

// New returns a printer for a valid configuration. It uses no network.
func New(env drivers.Env, cfg Config) (*Printer, error) {
	client, err := httpclient.New(cfg.Config, "X-Api-Key")
	if err != nil {
		return nil, err
	}
	return &Printer{Base: drivers.NewBase(env.Name), cfg: cfg, is: dialects[cfg.Server](server{client}, cfg), web: client, link: drivers.NewConnection(client.Host()), log: env.Log, now: env.Now}, nil
}

// Connection returns the host of the device.
func (p *Printer) Connection() *drivers.Connection { return p.link }

// Resources returns the printer, because a second device would not know the prints of the
// first.
func (p *Printer) Resources() []drivers.Resource {
	return []drivers.Resource{{Key: "url", Label: "the printer at " + p.web.Host(), Identity: "printer " + drivers.URLIdentity(p.cfg.URL)}}
}

// Start allows verbs. It sends no request, because the printer may be off.
func (p *Printer) Start() error { p.MarkStarted(); return nil }

// haltCalls is the time limit of Halt as a multiple of the timeout.
const haltCalls = 5

// Halt cancels the print, no matter which client started it, and turns off the heaters.
func (p *Printer) Halt() error {
	p.StopVerbs()
	if p.cfg.Safe == Keep {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), haltCalls*p.cfg.Timeout)
	defer cancel()
	return p.WithName(p.web.RunLast(ctx, func(ctx context.Context) error { _, err := p.stop(ctx); return err }))
}

// Detach lets a print continue.
func (p *Printer) Detach() error { p.StopVerbs(); return nil }

// KeepsState reports whether Halt keeps the state of the printer.
func (p *Printer) KeepsState() bool { return p.cfg.Safe == Keep }

// Safe reports whether there is no print and no active heater.
func (p *Printer) Safe(ctx context.Context) (bool, error) {
	if p.cfg.Safe == Keep {
		return true, nil
	}
	s, err := p.is.state(ctx)
	return err == nil && !s.active() && !(s.heats() && p.is.cools()), p.WithName(err)
}

// AtRest reports whether the printer does not print now.
func (p *Printer) AtRest(ctx context.Context) (bool, error) {
	s, err := p.is.state(ctx)
	return err == nil && s.Phase != printing && s.Phase != busy, p.WithName(err)
}

// Working reports whether there is an unfinished print.
func (p *Printer) Working(ctx context.Context) (bool, error) {
	s, err := drivers.DoValue(ctx, &p.Base, p.is.state)
	if err == nil && s.Phase == offline {
		err = fmt.Errorf("%s: the printer has no connection to its server", p.Name())
	}
	return err == nil && s.active(), err
}

// Read returns the temperatures, and the progress of a print.
func (p *Printer) Read(ctx context.Context) ([]drivers.Reading, error) {
	s, err := drivers.DoValue(ctx, &p.Base, p.is.state)
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
		return nil, fmt.Errorf("%s: the printer reports no measurements; check its connection to the server", p.Name())
	}
	return list, nil
}

func value(f *float64) float64 {
	if f == nil {
		return 0
	}
	return *f
}

// Observe returns the state of the printer and the progress of its print.
func (p *Printer) Observe(ctx context.Context) (drivers.Observation, error) {
	s, err := drivers.DoValue(ctx, &p.Base, p.is.state)
	if err != nil {
		return drivers.Observation{}, err
	}
	text, facts := s.describe()
	return drivers.Observation{Text: text, Facts: facts, At: p.now()}, nil
}

// spoken returns the name of a file as people say it: without folder and extension, and
// with spaces instead of punctuation.
func spoken(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127)
	}), " ")
}
