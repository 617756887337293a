package sim

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/sim/scene"
)

// Lines that appear in the images. A relay may use a line with any other name, which is
// invisible.
const (
	PorchLamp      = scene.PorchLamp
	CoffeeMachine  = scene.CoffeeMachine
	LivingRoomLamp = scene.LivingRoomLamp
)

// World is one simulated home. It is safe for concurrent use.
type World struct {
	now func() time.Time

	mu     sync.Mutex
	lines  map[string]bool    // relay lines that are on, by name
	files  map[string]file    // files of the lines that outlive the program
	glow   map[string]glow    // light of the bulbs by line, if set
	open   map[string]float64 // positions of covers in percent by line, if set
	warmth map[string]float64 // target temperatures in °C by line, if set
	fridge []string
	spills []scene.Spill
	robot  scene.Vacuum
	log    []Event
	since  map[string]time.Time // time of the last switch-on by line

	signal drivers.Signal // signals each change of a line
}

// Event is one change of the world.
type Event struct {
	At     time.Time
	Device string // "hand" for a change without a device
	What   string
}

// NewWorld returns a home in the evening: food in the fridge, all lamps off, dirt in the
// kitchen.
func NewWorld(now func() time.Time) *World {
	s := scene.Evening(now())
	return &World{
		now: now, lines: s.Lines, files: map[string]file{}, glow: map[string]glow{}, open: map[string]float64{}, warmth: map[string]float64{}, since: map[string]time.Time{},
		fridge: s.Fridge, spills: s.Spills, robot: s.Vacuum,
	}
}

// WorldOf returns the home that the devices of one program share.
func WorldOf(env drivers.Env) (*World, error) {
	w, err := env.Shared.Get("sim-home", func() (any, error) { return NewWorld(env.Now), nil })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", env.Name, err)
	}
	return w.(*World), nil
}

// Log returns all changes in order.
func (w *World) Log() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

// note adds to the log. The caller holds mu.
func (w *World) note(device, format string, args ...any) {
	w.log = append(w.log, Event{w.now(), device, fmt.Sprintf(format, args...)})
}

// record adds to the log, and signals a change.
func (w *World) record(device, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.signal.Notify()
	w.note(device, "%s", what)
}

// glow is the light of a bulb while it is on.
type glow struct {
	percent float64
	color   drivers.Color
	kelvin  float64 // color temperature; 0 for a color
}

// plain is the light of a new bulb.
var plain = glow{100, drivers.Color{R: 255, G: 244, B: 229}, 4000}

// Shines returns the light of the bulb on a line while it is on.
func (w *World) Shines(line string) (percent float64, c drivers.Color) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.glows(line)
	return g.percent, g.color
}

// glows implements Shines. The caller holds mu.
func (w *World) glows(line string) glow {
	if g, set := w.glow[line]; set {
		return g
	}
	return plain
}

// Target returns the target temperature of the thermostat on a line, in °C.
func (w *World) Target(line string) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if celsius, set := w.warmth[line]; set {
		return celsius
	}
	return 18
}

// heat sets the target temperature of a thermostat.
func (w *World) heat(device, line string, celsius float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warmth[line] = celsius
	w.note(device, "set to %g °C", celsius)
	w.signal.Notify()
}

func (w *World) shine(device, line string, percent float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.glows(line)
	g.percent = percent
	w.glow[line] = g
	w.note(device, "%s at %g %%", line, percent)
}

func (w *World) tint(device, line string, c drivers.Color) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.glows(line)
	g.color, g.kelvin = c, 0
	w.glow[line] = g
	w.note(device, "%s in %v", line, c)
}

// Limits for the color temperature of a bulb, in kelvin.
const (
	warmest = 2000
	coldest = 6500
)

// warm sets the color temperature of the bulb on a line.
func (w *World) warm(device, line string, kelvin float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g := w.glows(line)
	cold := (kelvin - warmest) / (coldest - warmest)
	part := func(from, to float64) uint8 { return uint8(from + (to-from)*cold) }
	g.kelvin, g.color = kelvin, drivers.Color{R: 255, G: part(137, 249), B: part(14, 253)}
	w.glow[line] = g
	w.note(device, "%s at %g K", line, kelvin)
}

// Warmth returns the color temperature of the bulb on a line in kelvin; 0 for a color.
func (w *World) Warmth(line string) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.glows(line).kelvin
}

// Opening returns the position of the cover on a line in percent.
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
	return 100, nil // opened by hand
}

// opens sets the position of the cover on a line.
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

// hand is the Device of an Event without a device.
const hand = "hand"

// worldWith returns the world of the program, which stores a line in the file of a
// configuration, if there is one. Other processes may switch the line in the file as well,
// and all relays of the line use the same file. worldWith makes the name absolute, because a
// command of the watchdog may reach a process with another working folder.
func worldWith(env drivers.Env, line string, name *string) (*World, error) {
	w, err := WorldOf(env)
	if err != nil || *name == "" {
		return w, err
	}
	if *name, err = filepath.Abs(*name); err == nil {
		err = w.keep(line, *name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", env.Name, err)
	}
	return w, nil
}

func (w *World) keep(line, name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f, kept := w.files[line]; kept && f != file(name) {
		return fmt.Errorf("file: line %s already has the file %s; use the same file or another line", line, f)
	}
	w.files[line] = file(name)
	return nil
}

// Line reports whether a line is on. It returns false for an unreadable file.
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

// Since returns the time of the last switch-on of a line.
func (w *World) Since(line string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.since[line]
}

// SetLine sets a line by hand, like a wall switch.
func (w *World) SetLine(name string, on bool) { _ = w.set(hand, name, on) } // a person sees the result

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
	w.signal.Notify()
	w.note(device, "%s %s", line, scene.OnOff(on))
	return nil
}

// SetFridge changes the contents of the fridge by hand.
func (w *World) SetFridge(things ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fridge = slices.Clone(things)
	w.note(hand, "fridge: %q", things)
}

// Spills names the dirt on the floor of a room; "" means every room.
func (w *World) Spills(room string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for _, s := range w.spills {
		if room == "" || s.Room == room {
			names = append(names, s.Name)
		}
	}
	return names
}

// scene returns the state of the world at this moment.
func (w *World) scene() scene.Scene {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := scene.Scene{Now: w.now(), Lines: maps.Clone(w.lines), Fridge: slices.Clone(w.fridge), Spills: slices.Clone(w.spills), Vacuum: w.robot.Clone()}
	for line, f := range w.files {
		on, err := f.on()
		s.Lines[line] = on && err == nil
	}
	return s
}

// setOut records that the vacuum begins to move.
func (w *World) setOut(device, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robot.SetOut(w.now())
	w.note(device, "%s", what)
}

// standStill records that the vacuum has stopped.
func (w *World) standStill(device string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robot.StandStill(w.now())
	w.note(device, standsStill)
}

const standsStill = "stands still"

// move moves the vacuum along one leg.
func (w *World) move(leg []scene.Point) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.robot.Move(leg)
}

// cleaned removes the dirt in an area.
func (w *World) cleaned(device, area string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spills = slices.DeleteFunc(w.spills, func(s scene.Spill) bool { return s.Name == area || s.Room == area })
	w.note(device, "cleaned %s", area)
}

// Moving reports whether the vacuum moves.
func (w *World) Moving() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.robot.Moving
}

// swept removes the dirt on a part of the floor.
func (w *World) swept(device string, floor scene.Rect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spills = slices.DeleteFunc(w.spills, func(s scene.Spill) bool { return s.On(floor) })
	w.note(device, "cleaned the spot")
}
