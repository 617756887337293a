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
	"github.com/messkit/messkit/drivers/sim/scene"
)

var (
	_ drivers.Cleaner = (*Vacuum)(nil)

	_ drivers.DockReader  = (*Vacuum)(nil)
	_ drivers.AreaLister  = (*Vacuum)(nil)
	_ drivers.FloorMapper = (*Vacuum)(nil)
	_ drivers.Sensor      = (*Vacuum)(nil)
	_ drivers.Observer    = (*Vacuum)(nil)

	_ drivers.SafeReader = (*Vacuum)(nil)
	_ drivers.RestReader = (*Vacuum)(nil)

	_ drivers.Pauser  = (*Vacuum)(nil)
	_ drivers.Stopper = (*Vacuum)(nil)
)

// VacuumConfig is the configuration of a vacuum.
type VacuumConfig struct {
	Pace time.Duration `yaml:"pace"` // duration for one spot with the way to it; a room takes three times as long
}

// DefaultVacuumConfig returns a vacuum that is fast enough for a person who waits.
func DefaultVacuumConfig() VacuumConfig { return VacuumConfig{Pace: 4 * time.Second} }

// legsPerPace is the number of moves in one pace: ten per second by default, enough for an
// image on the way.
const legsPerPace = 40

// Validate returns the first error in the configuration.
func (c VacuumConfig) Validate() error {
	if least := legsPerPace * time.Millisecond; c.Pace < least {
		return fmt.Errorf("pace: %v is too short; write %v or more", c.Pace, least)
	}
	return nil
}

// Vacuum cleans the floor of the simulated home.
type Vacuum struct {
	drivers.Passive
	cfg   VacuumConfig
	world *World

	errand drivers.ExclusiveTask

	taskMu sync.Mutex
	task   string // "cleaning kitchen"; "" for none
	pause  *pause // nil without a pause
}

// NewVacuum returns a vacuum in a world, for a valid configuration.
func NewVacuum(name string, cfg VacuumConfig, w *World) *Vacuum {
	return &Vacuum{Passive: drivers.NewPassive(name), cfg: cfg, world: w}
}

// Safe reports whether the vacuum stands still.
func (v *Vacuum) Safe(context.Context) (bool, error) {
	v.taskMu.Lock()
	defer v.taskMu.Unlock()
	return v.task == "", nil
}

// AtRest reports whether the vacuum stands still, from the state of the world.
func (v *Vacuum) AtRest(ctx context.Context) (bool, error) {
	if ctx.Err() != nil {
		return false, fmt.Errorf("%s: %w", v.Name(), ctx.Err())
	}
	return !v.world.Moving(), nil
}

// Docked reports whether the vacuum is in its dock.
func (v *Vacuum) Docked(ctx context.Context) (bool, error) {
	return drivers.DoValue(ctx, &v.Base, func(context.Context) (bool, error) { return v.world.scene().Vacuum.InDock(), nil })
}

// Rooms returns the rooms of the simulated home.
func (v *Vacuum) Rooms() []string {
	return names(slices.DeleteFunc(v.world.scene().Places(), func(p scene.Place) bool { return p.Note != "" }))
}

// Areas returns the rooms and the dirt on their floors.
func (v *Vacuum) Areas(ctx context.Context) ([]drivers.Area, error) {
	return drivers.DoValue(ctx, &v.Base, func(context.Context) (list []drivers.Area, _ error) {
		for _, p := range v.world.scene().Places() {
			list = append(list, p.Area)
		}
		return list, nil
	})
}

// Read returns the battery level.
func (v *Vacuum) Read(ctx context.Context) ([]drivers.Reading, error) {
	return drivers.DoValue(ctx, &v.Base, func(context.Context) ([]drivers.Reading, error) {
		s := v.world.scene()
		return []drivers.Reading{{Quantity: "battery", Value: math.Round(s.Vacuum.Charge(s.Now)), Unit: "%", At: s.Now}}, nil
	})
}

// Observe returns the position of the vacuum and the known dirt.
func (v *Vacuum) Observe(ctx context.Context) (drivers.Observation, error) {
	return drivers.DoValue(ctx, &v.Base, func(context.Context) (drivers.Observation, error) {
		s := v.world.scene()
		text, facts := s.VacuumSays()
		return drivers.Observation{Text: text, Facts: facts, At: s.Now}, nil
	})
}

// Map draws the floor, the path, and the vacuum.
func (v *Vacuum) Map(ctx context.Context) (drivers.Photo, error) {
	return takePhoto(ctx, &v.Base, v.world, func(ctx context.Context, s scene.Scene) ([]byte, error) { return s.Map(ctx) })
}

// FloorMap draws the map of one moment, and reports its positions.
func (v *Vacuum) FloorMap(ctx context.Context) (drivers.FloorMap, error) {
	var m drivers.FloorMap
	p, err := takePhoto(ctx, &v.Base, v.world, func(ctx context.Context, s scene.Scene) ([]byte, error) {
		m = s.Layout()
		return s.Map(ctx)
	})
	m.Photo = p
	return m, err
}

// Clean cleans areas in order, or all rooms if there are none.
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

func (v *Vacuum) clean(ctx context.Context, places []scene.Place, progress func(drivers.Progress)) (drivers.Outcome, error) {
	paces, before := 0.0, 0.0
	for _, p := range places {
		paces += p.Paces
	}
	for i, p := range places {
		report := func(part float64) {
			if progress != nil {
				gone := before + part*p.Paces
				left := time.Duration((paces - gone) * float64(v.cfg.Pace))
				progress(drivers.Progress{Percent: 100 * gone / paces, Activity: "cleaning " + p.Name, TimeLeft: left})
			}
		}
		legs := v.world.scene().Vacuum.Sweep(p.Floor, int(p.Paces*legsPerPace))
		if err := v.drive(ctx, legs, report); err != nil {
			return drivers.Outcome{Done: names(places[:i]), Remaining: names(places[i:])}, err
		}
		v.world.cleaned(v.Name(), p.Name)
		before += p.Paces
	}
	return drivers.Outcome{Done: names(places)}, nil
}

// Dock drives the vacuum to its dock.
func (v *Vacuum) Dock(ctx context.Context) error {
	ctx, done, err := v.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := v.errand.End(ctx); err != nil {
		return v.EndReason(ctx)
	}
	ctx, release, err := v.hold(ctx, "driving to its dock")
	if err != nil {
		return err
	}
	defer release()
	robot := v.world.scene().Vacuum
	if robot.InDock() {
		return nil
	}
	v.world.setOut(v.Name(), "drives to its dock")
	defer v.world.standStill(v.Name())
	return v.drive(ctx, robot.ToDock(legsPerPace), func(float64) {})
}

// drive moves along the legs, one after the other in equal times, until their end or until
// ctx ends. It reports the completed part of the legs, from 0 to 1.
func (v *Vacuum) drive(ctx context.Context, legs [][]scene.Point, report func(part float64)) error {
	t := time.NewTicker(v.cfg.Pace / legsPerPace)
	defer t.Stop()
	for i, leg := range legs {
		report(float64(i) / float64(len(legs)))
		select {
		case <-ctx.Done():
		case <-t.C:
		}
		v.rest(ctx)
		switch { // ctx takes precedence if both are ready
		case drivers.IsStopped(ctx):
			return fmt.Errorf("%s: %w", v.Name(), drivers.ErrStopped)
		case ctx.Err() != nil:
			return v.EndReason(ctx)
		}
		v.world.move(leg)
	}
	report(1)
	return nil
}

// hold allows the vacuum one task at a time.
func (v *Vacuum) hold(ctx context.Context, task string) (_ context.Context, release func(), err error) {
	ctx, end, err := v.errand.Begin(ctx, task)
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

// find returns areas by name, or all rooms if there are none.
func (v *Vacuum) find(areas []string) ([]scene.Place, error) {
	known := v.world.scene().Places()
	if len(areas) == 0 {
		return slices.DeleteFunc(known, func(p scene.Place) bool { return p.Note != "" }), nil
	}
	var found []scene.Place
	var errs []error
	for _, a := range areas {
		i := slices.IndexFunc(known, func(p scene.Place) bool { return p.Name == a })
		if i < 0 {
			errs = append(errs, fmt.Errorf("%s: no place has the name %q; known places: %s", v.Name(), a, strings.Join(names(known), ", ")))
			continue
		}
		found = append(found, known[i])
	}
	return found, errors.Join(errs...)
}

func names(places []scene.Place) []string {
	var list []string
	for _, p := range places {
		list = append(list, p.Name)
	}
	return list
}

var _ drivers.SpotCleaner = (*Vacuum)(nil)

// CleanSpot cleans around the position of the vacuum; in its dock, the floor in front of it.
func (v *Vacuum) CleanSpot(ctx context.Context, progress func(drivers.Progress)) error {
	ctx, done, err := v.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	ctx, release, err := v.hold(ctx, "cleaning the spot")
	if err != nil {
		return err
	}
	defer release()
	robot := v.world.scene().Vacuum
	floor := robot.Spot()
	v.world.setOut(v.Name(), "cleaning the spot")
	defer v.world.standStill(v.Name())
	err = v.drive(ctx, robot.Sweep(floor, legsPerPace), func(part float64) {
		if progress != nil {
			progress(drivers.Progress{Percent: 100 * part, Activity: "cleaning the spot", TimeLeft: time.Duration((1 - part) * float64(v.cfg.Pace))})
		}
	})
	if err == nil {
		v.world.swept(v.Name(), floor)
	}
	return err
}

// pause is one pause of a task.
type pause struct {
	stood, over chan struct{}
	stands      func() // closes stood, once
}

// Pause stops the vacuum where it is, until Resume.
func (v *Vacuum) Pause(ctx context.Context) error {
	ctx, done, err := v.Begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	v.taskMu.Lock()
	if v.task == "" {
		v.taskMu.Unlock()
		return v.WithName(drivers.MarkNothingDone(errors.New("the vacuum has no task that it could pause")))
	}
	if v.pause == nil {
		p := &pause{stood: make(chan struct{}), over: make(chan struct{})}
		p.stands = sync.OnceFunc(func() { close(p.stood) })
		v.pause = p
	}
	p := v.pause
	v.taskMu.Unlock()
	select {
	case <-p.stood:
		return nil
	case <-ctx.Done():
		return v.EndReason(ctx)
	}
}

// Resume continues the task.
func (v *Vacuum) Resume(ctx context.Context) error {
	return v.Do(ctx, func(context.Context) error {
		v.taskMu.Lock()
		defer v.taskMu.Unlock()
		if v.pause == nil {
			return drivers.MarkNothingDone(errors.New("the vacuum has not paused"))
		}
		v.world.setOut(v.Name(), "continues")
		close(v.pause.over)
		v.pause = nil
		return nil
	})
}

// rest waits for the end of a pause.
func (v *Vacuum) rest(ctx context.Context) {
	v.taskMu.Lock()
	p := v.pause
	v.taskMu.Unlock()
	if p == nil {
		return
	}
	v.world.standStill(v.Name())
	p.stands()
	select {
	case <-p.over:
	case <-ctx.Done():
	}
}

// Stop terminates the task where the vacuum is.
func (v *Vacuum) Stop(ctx context.Context) (left string, err error) {
	return drivers.DoValue(ctx, &v.Base, func(ctx context.Context) (string, error) { return "", v.errand.End(ctx) })
}
