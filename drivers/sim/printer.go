package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Printer    = (*Printer)(nil)
	_ drivers.AreaLister = (*Printer)(nil)
	_ drivers.Pauser     = (*Printer)(nil)
	_ drivers.Stopper    = (*Printer)(nil)
	_ drivers.Observer   = (*Printer)(nil)
	_ drivers.Sensor     = (*Printer)(nil)
	_ drivers.Worker     = (*Printer)(nil)
	_ drivers.RestReader = (*Printer)(nil)
	_ drivers.SafeReader = (*Printer)(nil)
)

// PrinterConfig is the configuration of a 3D printer.
type PrinterConfig struct {
	Files []string      `yaml:"files"` // names of its files
	Takes time.Duration `yaml:"takes"` // duration of one print
}

// DefaultPrinterConfig returns a printer with two files, and one minute for a print.
func DefaultPrinterConfig() PrinterConfig {
	return PrinterConfig{Files: []string{"benchy", "vase"}, Takes: time.Minute}
}

// Validate returns all errors in the configuration.
func (c PrinterConfig) Validate() error {
	var errs []error
	if len(c.Files) == 0 || slices.ContainsFunc(c.Files, func(f string) bool { return strings.TrimSpace(f) == "" }) {
		errs = append(errs, errors.New("files: a name is missing; write the files of the printer, like [benchy]"))
	}
	if c.Takes < time.Second || c.Takes > 24*time.Hour {
		errs = append(errs, fmt.Errorf("takes: %v is not between a second and a day", c.Takes))
	}
	return errors.Join(errs...)
}

// Printer prints its files, one at a time. It loses its prints when the program ends, and
// cancels the present one.
type Printer struct {
	drivers.Base
	cfg   PrinterConfig
	world *World

	mu   sync.Mutex
	jobs []job // the last entry is the present print, if it has not ended
}

// job is one print.
type job struct {
	drivers.Print
	spent     time.Duration // active time until since, or in total
	since     time.Time     // time of its start or of the last resume; zero while it is paused
	cancelled bool
}

// layerTime is the duration of a layer.
const layerTime = time.Second

// NewPrinter returns a printer in a world, for a valid configuration.
func NewPrinter(name string, cfg PrinterConfig, w *World) *Printer {
	return &Printer{Base: drivers.NewBase(name), cfg: cfg, world: w}
}

// Start allows verbs.
func (p *Printer) Start() error { p.MarkStarted(); return nil }

// Halt cancels the present print.
func (p *Printer) Halt() error {
	p.StopVerbs()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel()
	return nil
}

// at returns the present print, or nil. The caller holds mu.
func (p *Printer) at() *job {
	if len(p.jobs) == 0 {
		return nil
	}
	if j := &p.jobs[len(p.jobs)-1]; !p.over(j) {
		return j
	}
	return nil
}

// worked returns the active time of a print.
func (p *Printer) worked(j *job) time.Duration {
	worked := j.spent
	if !j.since.IsZero() {
		worked += p.world.now().Sub(j.since)
	}
	return min(worked, p.cfg.Takes)
}

func (p *Printer) over(j *job) bool { return j.cancelled || p.worked(j) >= p.cfg.Takes }

func (p *Printer) percent(j *job) float64 {
	return math.Floor(float64(p.worked(j)) / float64(p.cfg.Takes) * 100)
}

// AtRest reports whether the printer does not print now.
func (p *Printer) AtRest(context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	j := p.at()
	return j == nil || j.since.IsZero(), nil
}

// Safe reports whether there is no print.
func (p *Printer) Safe(context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at() == nil, nil
}

// Working reports whether there is an unfinished print.
func (p *Printer) Working(ctx context.Context) (bool, error) {
	return locked(ctx, p, func() (bool, error) { return p.at() != nil, nil })
}

// Areas returns the files.
func (p *Printer) Areas(ctx context.Context) ([]drivers.Area, error) {
	return locked(ctx, p, func() ([]drivers.Area, error) {
		list := make([]drivers.Area, len(p.cfg.Files))
		for i, f := range p.cfg.Files {
			list[i] = drivers.Area{Name: f}
		}
		return list, nil
	})
}

// locked runs a verb of a started printer with mu locked.
func locked[T any](ctx context.Context, p *Printer, f func() (T, error)) (T, error) {
	return drivers.DoValue(ctx, &p.Base, func(context.Context) (T, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return f()
	})
}

// Print starts a print.
func (p *Printer) Print(ctx context.Context, file string) (drivers.Print, error) {
	return locked(ctx, p, func() (drivers.Print, error) {
		if err := p.has(file); err != nil {
			return drivers.Print{}, err
		}
		if j := p.at(); j != nil {
			return drivers.Print{}, fmt.Errorf("%w: it prints %s; wait until it has finished, or cancel it", drivers.ErrBusy, j.File)
		}
		now := p.world.now()
		j := job{Print: drivers.Print{File: file, ID: fmt.Sprint(len(p.jobs) + 1), Began: now}, since: now}
		p.jobs = append(p.jobs, j)
		p.world.record(p.Name(), "prints "+file)
		return j.Print, nil
	})
}

func (p *Printer) has(file string) error {
	if !slices.Contains(p.cfg.Files, file) {
		return drivers.MarkNothingDone(fmt.Errorf("the printer has no file %q; its files: %s", file, strings.Join(p.cfg.Files, ", ")))
	}
	return nil
}

// PrintState returns the state of a print.
func (p *Printer) PrintState(ctx context.Context, one drivers.Print) (drivers.PrintState, error) {
	return locked(ctx, p, func() (drivers.PrintState, error) {
		i := slices.IndexFunc(p.jobs, func(j job) bool { return j.ID == one.ID })
		if i < 0 {
			return drivers.PrintState{Finished: true, Err: errors.New("the printer does not know that print")}, nil
		}
		j := &p.jobs[i]
		worked := p.worked(j)
		s := drivers.PrintState{
			Progress: drivers.Progress{Percent: p.percent(j), Activity: "printing " + j.File, TimeLeft: p.cfg.Takes - worked},
			Layer:    int(worked / layerTime), Layers: int(p.cfg.Takes / layerTime), PollInterval: layerTime,
			Paused: j.since.IsZero() && !p.over(j), Finished: p.over(j),
		}
		switch {
		case j.cancelled:
			s.Err = errors.New("another request or a person at the printer canceled it")
		case s.Paused:
			s.Activity = "paused at " + j.File
		}
		return s, nil
	})
}

// FindPrint searches for a print of this process.
func (p *Printer) FindPrint(ctx context.Context, file string, since time.Time) (drivers.Print, error) {
	return locked(ctx, p, func() (drivers.Print, error) {
		for _, j := range p.jobs {
			if j.File == file && !j.Began.Before(since) {
				return j.Print, nil
			}
		}
		return drivers.Print{}, fmt.Errorf("%w: no print of %s has begun since", drivers.ErrNoPrint, file)
	})
}

// Pause pauses the print.
func (p *Printer) Pause(ctx context.Context) error {
	return p.steer(ctx, "pause", "pauses", func(j *job) bool { return !j.since.IsZero() }, func(j *job) { j.spent, j.since = p.worked(j), time.Time{} })
}

// Resume continues the print.
func (p *Printer) Resume(ctx context.Context) error {
	return p.steer(ctx, "resume", "continues", func(j *job) bool { return j.since.IsZero() }, func(j *job) { j.since = p.world.now() })
}

// steer changes the present print, unless it already has the state.
func (p *Printer) steer(ctx context.Context, what, does string, from func(*job) bool, do func(*job)) error {
	_, err := locked(ctx, p, func() (none struct{}, _ error) {
		j := p.at()
		if j == nil {
			return none, drivers.MarkNothingDone(fmt.Errorf("the printer has no print for the command %s", what))
		}
		if from(j) {
			do(j)
			p.world.record(p.Name(), does)
		}
		return none, nil
	})
	return err
}

// Stop cancels the present print.
func (p *Printer) Stop(ctx context.Context) (left string, err error) {
	return locked(ctx, p, func() (string, error) { return p.cancel(), nil })
}

// cancel ends a print; left describes the rest on the bed. The caller holds mu.
func (p *Printer) cancel() (left string) {
	j := p.at()
	if j == nil {
		return "there was no print"
	}
	j.spent, j.since, j.cancelled = p.worked(j), time.Time{}, true
	p.world.record(p.Name(), "cancels "+j.File)
	return fmt.Sprintf("a half print (%.0f %% of %s) lies on the bed: remove it before the next print", p.percent(j), j.File)
}

// Observe returns the state of the print.
func (p *Printer) Observe(ctx context.Context) (drivers.Observation, error) {
	return locked(ctx, p, func() (drivers.Observation, error) {
		text, facts := p.says()
		return drivers.Observation{Text: text, Facts: facts, At: p.world.now()}, nil
	})
}

func (p *Printer) says() (string, []drivers.Fact) {
	j := p.at()
	if j == nil {
		return "The printer is idle; its files: " + strings.Join(p.cfg.Files, ", ") + ".", []drivers.Fact{{Name: "printer", Value: "idle"}}
	}
	is := "printing"
	if j.since.IsZero() {
		is = "paused"
	}
	percent := p.percent(j)
	left := (p.cfg.Takes - p.worked(j)).Round(time.Second)
	return fmt.Sprintf("The printer is %s: %.0f %% of %s, and %v are left.", is, percent, j.File, left), []drivers.Fact{
		{Name: "printer", Value: is}, {Name: "file", Value: j.File}, {Name: "progress", Value: percent, Unit: "%"},
	}
}

// Read returns the progress of the print, and the temperature of the bed.
func (p *Printer) Read(ctx context.Context) ([]drivers.Reading, error) {
	return locked(ctx, p, func() ([]drivers.Reading, error) {
		now, bed := p.world.now(), 21.0
		var list []drivers.Reading
		if j := p.at(); j != nil {
			bed = 60
			list = append(list, drivers.Reading{Quantity: "progress", Value: p.percent(j), Unit: "%", At: now})
		}
		return append(list, drivers.Reading{Quantity: "bed temperature", Value: bed, Unit: "°C", At: now}), nil
	})
}
