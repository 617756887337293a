package sim

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Lines that show in the pictures. A relay may have a line of any name; others
// are on and off without being seen.
const (
	PorchLamp      = "porch-lamp"
	CoffeeMachine  = "coffee-machine"
	LivingRoomLamp = "living-room-lamp"
)

// World is one simulated home. It is safe for concurrent use.
type World struct {
	now func() time.Time

	mu     sync.Mutex
	lines  map[string]bool    // relay lines that are on, by name
	files  map[string]file    // where lines are kept that outlive the program
	glow   map[string]glow    // how the bulbs on lines shine, where that was set
	open   map[string]float64 // how far what opens is open, in percent, by line, where that was set
	warmth map[string]float64 // what thermostats are set to, in °C, by line, where that was set
	fridge []string
	spills []spill
	robot  robot
	log    []Event
	since  map[string]time.Time // when a line was switched on last

	bell drivers.Bell // rung with every line
}

// Event is one thing that was done to the world.
type Event struct {
	At     time.Time
	Device string // "hand" for what no device did
	What   string
}

// spill is something on the floor.
type spill struct {
	name string // "near sink"
	room string
	what string // "rice"
	at   point
}

// area is the floor that the vacuum goes over for it.
func (s spill) area() rect { return rect{s.at.x - 0.4, s.at.y - 0.2, 0.8, 0.4} }

// NewWorld makes a home as it is in the evening: the fridge is stocked, all
// lamps are off, and somebody has cooked.
func NewWorld(now func() time.Time) *World {
	return &World{
		now: now, lines: map[string]bool{}, files: map[string]file{}, glow: map[string]glow{}, open: map[string]float64{}, warmth: map[string]float64{}, since: map[string]time.Time{}, fridge: []string{"milk", "6 eggs", "butter", "cheddar", "yoghurt", "half a lemon", "carrots", "broccoli", "leftover soup"},
		spills: []spill{
			{"near sink", "kitchen", "rice", point{1.0, 1.2}},
			{"by stove", "kitchen", "crumbs", point{3.05, 1.2}},
		},
		robot: robot{at: dock, heading: southward, battery: 100, docked: now()},
	}
}

const southward = 1.5708 // radians

// WorldOf is the home that the devices of one program share.
func WorldOf(env drivers.Env) (*World, error) {
	w, err := env.Shared.Get("sim-home", func() (any, error) { return NewWorld(env.Now), nil })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", env.Name, err)
	}
	return w.(*World), nil
}

// Log is what was done to the world, in order.
func (w *World) Log() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// note writes the log. mu is held.
func (w *World) note(device, format string, args ...any) {
	w.log = append(w.log, Event{w.now(), device, fmt.Sprintf(format, args...)})
}

// tell writes the log, and wakes those who look.
func (w *World) tell(device, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bell.Ring()
	w.note(device, "%s", what)
}

// glow is how a bulb shines when it is on.
type glow struct {
	percent float64
	colour  drivers.Colour
	kelvin  float64 // of its white; 0 in a colour
}

// plain is how a new bulb shines.
var plain = glow{100, drivers.Colour{R: 255, G: 244, B: 229}, 4000}

// Shines is how the bulb on a line shines while it is on.
func (w *World) Shines(line string) (percent float64, c drivers.Colour) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.glows(line)
	return g.percent, g.colour
}

// glows is Shines with mu held.
func (w *World) glows(line string) glow {
	if g, set := w.glow[line]; set {
		return g
	}
	return plain
}

// Target is what the thermostat on a line is set to, in °C.
func (w *World) Target(line string) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if celsius, set := w.warmth[line]; set {
		return celsius
	}
	return 18
}

// heat sets a thermostat.
func (w *World) heat(device, line string, celsius float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warmth[line] = celsius
	w.note(device, "set to %g °C", celsius)
	w.bell.Ring()
}

func (w *World) shine(device, line string, percent float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.glows(line)
	g.percent = percent
	w.glow[line] = g
	w.note(device, "%s at %g %%", line, percent)
}

func (w *World) tint(device, line string, c drivers.Colour) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.glows(line)
	g.colour, g.kelvin = c, 0
	w.glow[line] = g
	w.note(device, "%s in %v", line, c)
}

// Whites of a bulb, in kelvin.
const (
	warmest = 2000
	coldest = 6500
)

// warm gives the bulb on a line a white.
func (w *World) warm(device, line string, kelvin float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.glows(line)
	cold := (kelvin - warmest) / (coldest - warmest)
	part := func(from, to float64) uint8 { return uint8(from + (to-from)*cold) }
	g.kelvin, g.colour = kelvin, drivers.Colour{R: 255, G: part(137, 249), B: part(14, 253)}
	w.glow[line] = g
	w.note(device, "%s at %g K", line, kelvin)
}

// Warmth is the white of the bulb on a line, in kelvin; 0 if it shines in a colour.
func (w *World) Warmth(line string) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.glows(line).kelvin
}

// Opening is how far what a line opens is open, in percent.
func (w *World) Opening(line string) (float64, error) {
	on, err := w.level(line)
	if err != nil || !on {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if percent := w.open[line]; percent > 0 {
		return percent, nil
	}
	return 100, nil // a hand has opened it
}

// opens takes what a line opens to where it is so far open.
func (w *World) opens(device, line string, percent float64) error {
	w.mu.Lock()
	w.open[line] = percent
	w.mu.Unlock()
	if err := w.set(device, line, percent > 0); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note(device, "%s %g %% open", line, percent)
	return nil
}

// hand is the Device of an Event that no device did.
const hand = "hand"

// Keep keeps a line in a file, which other processes may switch as well. All
// relays of the line have the same file.
func (w *World) Keep(line, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, kept := w.files[line]; kept && f != file(name) {
		return fmt.Errorf("file: line %s is kept in %s already; use the same file or another line", line, f)
	}
	w.files[line] = file(name)
	return nil
}

// Line reports whether a line is on. One whose file cannot be read is not.
func (w *World) Line(name string) bool {
	on, err := w.level(name)
	return on && err == nil
}

func (w *World) level(line string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, kept := w.files[line]; kept {
		return f.on()
	}
	return w.lines[line], nil
}

// Since is when a line was switched on last.
func (w *World) Since(line string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since[line]
}

// SetLine sets a line as a hand on the wall switch does.
func (w *World) SetLine(name string, on bool) { _ = w.set(hand, name, on) } // a hand sees whether it works

func (w *World) set(device, line string, on bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, kept := w.files[line]; kept {
		if err := f.set(device, on, w.now()); err != nil {
			return err
		}
	}
	if on && !w.lines[line] {
		w.since[line] = w.now()
	}
	w.lines[line] = on
	if device == hand {
		delete(w.open, line)
	}
	w.bell.Ring()
	w.note(device, "%s %s", line, onOff(on))
	return nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// SetFridge changes what is in the fridge, as a hand does.
func (w *World) SetFridge(things ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fridge = slices.Clone(things)
	w.note(hand, "fridge: %q", things)
}

// Spills names what lies on the floor of a room; "" is every room.
func (w *World) Spills(room string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, s := range w.spills {
		if room == "" || s.room == room {
			names = append(names, s.name)
		}
	}
	return names
}

// scene is the world at one moment: what a picture shows.
type scene struct {
	now    time.Time
	lines  map[string]bool
	fridge []string
	spills []spill
	robot  robot
}

func (w *World) scene() scene {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := scene{now: w.now(), lines: maps.Clone(w.lines), fridge: slices.Clone(w.fridge), spills: slices.Clone(w.spills), robot: w.robot}
	s.robot.path = slices.Clone(w.robot.path)
	for line, f := range w.files {
		on, err := f.on()
		s.lines[line] = on && err == nil
	}
	return s
}
