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

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Cleaner = (*Vacuum)(nil)

	_ drivers.DockReader = (*Vacuum)(nil)
	_ drivers.Areas      = (*Vacuum)(nil)
	_ drivers.Mapper     = (*Vacuum)(nil)
	_ drivers.Sensor     = (*Vacuum)(nil)
	_ drivers.Observer   = (*Vacuum)(nil)

	_ drivers.SafeReader = (*Vacuum)(nil)
	_ drivers.RestReader = (*Vacuum)(nil)

	_ drivers.Pauser  = (*Vacuum)(nil)
	_ drivers.Stopper = (*Vacuum)(nil)
)

// VacuumConfig of a vacuum.
type VacuumConfig struct {
	Pace time.Duration `yaml:"pace"` // for one spot, the way there included; a room takes three times as long
}

// DefaultVacuumConfig is that of a vacuum that a person can wait for.
func DefaultVacuumConfig() VacuumConfig { return VacuumConfig{Pace: 4 * time.Second} }

// legsPerPace is how many moves are made in one pace: ten a second by default,
// enough for a picture on the way.
const legsPerPace = 40

// Validate tells what cannot be.
func (c VacuumConfig) Validate() error {
	if least := legsPerPace * time.Millisecond; c.Pace < least {
		return fmt.Errorf("pace: %v is too short; write %v or more", c.Pace, least)
	}
	return nil
}

// Vacuum cleans the floor of the simulated home.
type Vacuum struct {
	drivers.Life
	cfg   VacuumConfig
	world *World

	errand drivers.Errand

	taskMu sync.Mutex
	task   string // "cleaning kitchen"; "" for none
	pause  *pause // nil: it is not paused
}

func openVacuum(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultVacuumConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := WorldOf(env)
	if err != nil {
		return nil, err
	}
	return NewVacuum(env.Name, cfg, w), nil
}

// NewVacuum makes a vacuum in a world, of a valid configuration.
func NewVacuum(name string, cfg VacuumConfig, w *World) *Vacuum {
	return &Vacuum{Life: drivers.NewLife(name), cfg: cfg, world: w}
}

// Connection is the Gobot adaptor below.
func (v *Vacuum) Connection() gobot.Connection { return newAdaptor(v.world, v.Name) }

// Start makes it ready; it stays where it is.
func (v *Vacuum) Start() error { v.Opened(); return nil }

// Halt stops it where it is.
func (v *Vacuum) Halt() error { v.Closed(); return nil }

// Safe reports whether it stands still.
func (v *Vacuum) Safe(context.Context) (bool, error) {
	v.taskMu.Lock()
	defer v.taskMu.Unlock()
	return v.task == "", nil
}

// AtRest reports whether it stands still, by the world's own word.
func (v *Vacuum) AtRest(ctx context.Context) (bool, error) {
	if ctx.Err() != nil {
		return false, fmt.Errorf("%s: %w", v.Name(), ctx.Err())
	}
	return !v.world.Moving(), nil
}

// Docked reports whether it is in its dock.
func (v *Vacuum) Docked(ctx context.Context) (bool, error) {
	_, done, err := v.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	return v.world.scene().robot.at == dock, nil
}

// Rooms are those of the simulated home.
func (v *Vacuum) Rooms() []string {
	return names(slices.DeleteFunc(v.world.scene().places(), func(p place) bool { return p.Note != "" }))
}

// Areas are the rooms, and what lies on their floors.
func (v *Vacuum) Areas(ctx context.Context) ([]drivers.Area, error) {
	_, done, err := v.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var list []drivers.Area
	for _, p := range v.world.scene().places() {
		list = append(list, p.Area)
	}
	return list, nil
}

// Read tells the battery.
func (v *Vacuum) Read(ctx context.Context) ([]drivers.Reading, error) {
	_, done, err := v.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s := v.world.scene()
	return []drivers.Reading{{Quantity: "battery", Value: math.Round(s.robot.charge(s.now)), Unit: "%", At: s.now}}, nil
}

// Observe says where the vacuum is and what it knows to lie about.
func (v *Vacuum) Observe(ctx context.Context) (drivers.Observation, error) {
	_, done, err := v.Begin(ctx)
	if err != nil {
		return drivers.Observation{}, err
	}
	defer done()
	s := v.world.scene()
	text, facts := s.vacuumSays()
	return drivers.Observation{Text: text, Facts: facts, At: s.now}, nil
}

// Map draws the floor, the way driven, and the vacuum.
func (v *Vacuum) Map(ctx context.Context) (drivers.Photo, error) {
	return shoot(ctx, &v.Life, v.world, drawMap)
}

// Clean cleans areas, one after the other; none are all rooms.
func (v *Vacuum) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	ctx, done, err := v.Begin(ctx)
	if err != nil {
		return drivers.Outcome{Remaining: areas}, err
	}
	defer done()
	places, err := v.find(areas)
	if err != nil {
		return drivers.Outcome{Remaining: areas}, err
	}
	what := "cleaning " + strings.Join(names(places), ", ")
	ctx, release, err := v.hold(ctx, what)
	if err != nil {
		return drivers.Outcome{Remaining: names(places)}, err
	}
	defer release()
	v.world.setOut(v.Name(), what)
	defer v.world.standStill(v.Name())
	return v.clean(ctx, places, progress)
}

func (v *Vacuum) clean(ctx context.Context, places []place, progress func(drivers.Progress)) (drivers.Outcome, error) {
	paces, before := 0.0, 0.0
	for _, p := range places {
		paces += p.paces
	}
	for i, p := range places {
		tell := func(part float64) {
			if progress != nil {
				gone := before + part*p.paces
				left := time.Duration((paces - gone) * float64(v.cfg.Pace))
				progress(drivers.Progress{Percent: 100 * gone / paces, Doing: "cleaning " + p.Name, Left: left})
			}
		}
		from := v.world.scene().robot.at
		if err := v.drive(ctx, cut(from, lanes(from, p.floor), int(p.paces*legsPerPace)), tell); err != nil {
			return drivers.Outcome{Done: names(places[:i]), Remaining: names(places[i:])}, err
		}
		v.world.cleaned(v.Name(), p.Name)
		before += p.paces
	}
	return drivers.Outcome{Done: names(places)}, nil
}

// Dock drives home.
func (v *Vacuum) Dock(ctx context.Context) error {
	ctx, done, err := v.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := v.errand.End(ctx); err != nil {
		return v.Ended(ctx)
	}
	ctx, release, err := v.hold(ctx, "driving to its dock")
	if err != nil {
		return err
	}
	defer release()
	from := v.world.scene().robot.at
	if from == dock {
		return nil
	}
	v.world.setOut(v.Name(), "drives to its dock")
	defer v.world.standStill(v.Name())
	return v.drive(ctx, cut(from, between(from, dock), legsPerPace), func(float64) {})
}

// drive moves along legs in equal times, until the end or until ctx ends.
func (v *Vacuum) drive(ctx context.Context, legs [][]point, tell func(part float64)) error {
	t := time.NewTicker(v.cfg.Pace / legsPerPace)
	defer t.Stop()
	for i, leg := range legs {
		tell(float64(i) / float64(len(legs)))
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		v.rest(ctx)
		switch { // also when both were ready
		case drivers.Stopped(ctx):
			return fmt.Errorf("%s: %w", v.Name(), drivers.ErrStopped)
		case ctx.Err() != nil:
			return v.Ended(ctx)
		}
		v.world.move(leg)
	}
	tell(1)
	return nil
}

// hold makes sure that the vacuum does one thing at a time.
func (v *Vacuum) hold(ctx context.Context, task string) (_ context.Context, release func(), err error) {
	ctx, end, err := v.errand.Take(ctx, task)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", v.Name(), err)
	}
	v.setTask(task)
	return ctx, func() { v.setTask(""); end() }, nil
}

func (v *Vacuum) setTask(task string) {
	v.taskMu.Lock()
	defer v.taskMu.Unlock()
	if v.task = task; v.pause != nil {
		v.pause.stands()
		v.pause = nil
	}
}

// find looks areas up by name; none are all rooms.
func (v *Vacuum) find(areas []string) ([]place, error) {
	known := v.world.scene().places()
	if len(areas) == 0 {
		return slices.DeleteFunc(known, func(p place) bool { return p.Note != "" }), nil
	}
	var found []place
	var errs []error
	for _, a := range areas {
		i := slices.IndexFunc(known, func(p place) bool { return p.Name == a })
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s: there is no place %q; known places: %s", v.Name(), a, strings.Join(names(known), ", ")))
			continue
		}
		found = append(found, known[i])
	}
	return found, errors.Join(errs...)
}
