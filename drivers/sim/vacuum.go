package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Cleaner = (*Vacuum)(nil)
	_ drivers.Areas   = (*Vacuum)(nil)
	_ drivers.Mapper  = (*Vacuum)(nil)
	_ drivers.Sensor  = (*Vacuum)(nil)
)

// VacuumConfig of a vacuum.
type VacuumConfig struct {
	Pace time.Duration `yaml:"pace"` // for one area, the way there included
}

// Validate tells what cannot be.
func (c VacuumConfig) Validate() error {
	if c.Pace < steps*time.Millisecond {
		return fmt.Errorf("pace: %v is too short; write %v or more", c.Pace, steps*time.Millisecond)
	}
	return nil
}

// steps is how many moves one area takes.
const steps = 20

// Vacuum cleans the floor of the simulated home.
type Vacuum struct {
	life
	cfg   VacuumConfig
	world *World
	busy  chan string // holds what it does
}

func openVacuum(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := VacuumConfig{Pace: 4 * time.Second}
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	w, err := worldOf(env)
	if err != nil {
		return nil, err
	}
	return NewVacuum(env.Name, cfg, w), nil
}

// NewVacuum makes a vacuum in a world.
func NewVacuum(name string, cfg VacuumConfig, w *World) *Vacuum {
	return &Vacuum{life: life{name: name}, cfg: cfg, world: w, busy: make(chan string, 1)}
}

// Connection is the Gobot adaptor below.
func (v *Vacuum) Connection() gobot.Connection { return &adaptor{name: "sim", world: v.world} }

// Start makes it ready; it stays where it is.
func (v *Vacuum) Start() error { v.start(); return nil }

// Halt stops it where it is.
func (v *Vacuum) Halt() error { v.halt(); return nil }

// Areas are the rooms, and what lies on their floors.
func (v *Vacuum) Areas(ctx context.Context) ([]drivers.Area, error) {
	_, done, err := v.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return v.areas(), nil
}

func (v *Vacuum) areas() []drivers.Area {
	s := v.world.scene()
	var list []drivers.Area
	for _, r := range rooms {
		list = append(list, drivers.Area{Name: r.name, Room: r.name})
		for _, one := range s.spills {
			if one.room == r.name {
				list = append(list, drivers.Area{Name: one.name, Room: one.room, Note: one.what})
			}
		}
	}
	return list
}

// Read tells the battery.
func (v *Vacuum) Read(ctx context.Context) ([]drivers.Reading, error) {
	_, done, err := v.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	s := v.world.scene()
	return []drivers.Reading{{Quantity: "battery", Value: math.Round(s.robot.battery), Unit: "%", At: s.now}}, nil
}

// Map draws the floor, the way driven, and the vacuum.
func (v *Vacuum) Map(ctx context.Context) (drivers.Photo, error) {
	ctx, done, err := v.begin(ctx)
	if err != nil {
		return drivers.Photo{}, err
	}
	defer done()
	p, err := render(drawMap, v.world.scene())
	if ctx.Err() != nil {
		return drivers.Photo{}, v.ended(ctx)
	}
	return p, err
}

// Clean cleans areas, one after the other; none are all rooms.
func (v *Vacuum) Clean(ctx context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	ctx, done, err := v.begin(ctx)
	if err != nil {
		return drivers.Outcome{Remaining: areas}, err
	}
	defer done()
	if areas, err = v.known(areas); err != nil {
		return drivers.Outcome{Remaining: areas}, err
	}
	if err := v.hold("cleaning"); err != nil {
		return drivers.Outcome{Remaining: areas}, err
	}
	defer func() { <-v.busy }()
	v.world.mark(v.Name(), true, "cleaning "+strings.Join(areas, ", "))
	defer v.world.mark(v.Name(), false, "stands still")
	var out drivers.Outcome
	for i, name := range areas {
		tell := func(step int) {
			if progress != nil {
				part := float64(i) + float64(step)/steps
				left := time.Duration((float64(len(areas)) - part) * float64(v.cfg.Pace))
				progress(drivers.Progress{Percent: 100 * part / float64(len(areas)), Doing: "cleaning " + name, Left: left})
			}
		}
		if err := v.drive(ctx, route(v.world.scene().robot.at, v.place(name)), tell); err != nil {
			out.Remaining = slices.Clone(areas[i:])
			return out, err
		}
		v.world.cleaned(v.Name(), name)
		out.Done = append(out.Done, name)
	}
	return out, nil
}

// Dock drives home.
func (v *Vacuum) Dock(ctx context.Context) error {
	ctx, done, err := v.begin(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := v.hold("docking"); err != nil {
		return err
	}
	defer func() { <-v.busy }()
	v.world.mark(v.Name(), true, "drives to its dock")
	defer v.world.mark(v.Name(), false, "stands still")
	from := v.world.scene().robot.at
	if err := v.drive(ctx, line(from, dock, steps), func(int) {}); err != nil {
		return err
	}
	v.world.charge()
	return nil
}

// hold makes sure that the vacuum does one thing at a time.
func (v *Vacuum) hold(what string) error {
	select {
	case v.busy <- what:
		return nil
	default:
		return fmt.Errorf("%s: %w: it is on its way already; wait for it, or cancel that", v.Name(), drivers.ErrBusy)
	}
}

// known checks the names of areas, and puts in all rooms for none.
func (v *Vacuum) known(areas []string) ([]string, error) {
	var names []string
	for _, a := range v.areas() {
		names = append(names, a.Name)
	}
	if len(areas) == 0 {
		for _, r := range rooms {
			areas = append(areas, r.name)
		}
	}
	var errs []error
	for _, a := range areas {
		if !slices.Contains(names, a) {
			errs = append(errs, fmt.Errorf("%s: there is no place %q; there are: %s", v.Name(), a, strings.Join(names, ", ")))
		}
	}
	return areas, errors.Join(errs...)
}

// place is the rectangle that an area is.
func (v *Vacuum) place(name string) room {
	for _, r := range rooms {
		if r.name == name {
			return r
		}
	}
	for _, s := range v.world.scene().spills {
		if s.name == name {
			return room{s.room, s.at.x - 0.4, s.at.y - 0.35, 0.8, 0.7}
		}
	}
	return rooms[0] // cleaned with its room a moment ago
}

// drive moves along a way in equal times, until the end or until ctx ends.
func (v *Vacuum) drive(ctx context.Context, way []point, tell func(step int)) error {
	t := time.NewTicker(v.cfg.Pace / steps)
	defer t.Stop()
	for i, p := range way {
		tell(i)
		select {
		case <-ctx.Done():
			return v.ended(ctx)
		case <-t.C:
			v.world.move(p)
		}
	}
	tell(steps)
	return nil
}

// mark notes that the vacuum begins or ends to move.
func (w *World) mark(device string, moving bool, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robot.moving = moving
	if moving {
		w.robot.path = []point{w.robot.at}
	}
	w.note(device, "%s", what)
}

func (w *World) move(to point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := &w.robot
	r.heading = math.Atan2(to.y-r.at.y, to.x-r.at.x)
	r.at, r.path = to, append(r.path, to)
	r.battery = max(5, r.battery-0.1)
}

func (w *World) charge() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robot.battery, w.robot.heading = 100, math.Pi
}

// cleaned takes away what lies in an area.
func (w *World) cleaned(device, area string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spills = slices.DeleteFunc(w.spills, func(s spill) bool { return s.name == area || s.room == area })
	w.note(device, "cleaned %s", area)
}

// route goes to a rectangle and up and down in it, in steps moves.
func route(from point, r room) []point {
	const lanes = 4
	way := line(from, point{r.x + 0.25, r.y + 0.25}, steps-4*lanes)
	for i := range lanes {
		y := r.y + 0.2 + (r.h-0.4)*float64(i)/(lanes-1)
		a, b := point{r.x + 0.25, y}, point{r.x + r.w - 0.25, y}
		if i%2 == 1 {
			a, b = b, a
		}
		way = append(way, line(a, b, 4)...)
	}
	return way
}

// line is n points from after a to b.
func line(a, b point, n int) []point {
	way := make([]point, n)
	for i := range n {
		f := float64(i+1) / float64(n)
		way[i] = point{a.x + (b.x-a.x)*f, a.y + (b.y-a.y)*f}
	}
	return way
}
