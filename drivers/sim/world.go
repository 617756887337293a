package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
)

// World is one simulated home. It is safe for concurrent use.
type World struct {
	now func() time.Time

	mu     sync.Mutex
	lines  map[string]byte // levels of relay lines, by name
	fridge []string
	spills []spill
	robot  robot
	log    []Event
}

// Event is one thing that was done to the world.
type Event struct {
	At     time.Time
	Device string
	What   string
}

// spill is something on the floor.
type spill struct {
	name string // "near sink"
	room string
	what string // "rice"
	at   point
}

// point on the floor in metres, from the north-west corner.
type point struct{ x, y float64 }

// robot is the vacuum as the world has it.
type robot struct {
	at      point
	heading float64 // radians, 0 is east
	battery float64 // %
	moving  bool
	path    []point
}

// dock is where the vacuum lives.
var dock = point{7.55, 0.35}

// room is a rectangle of the floor.
type room struct {
	name       string
	x, y, w, h float64 // metres
}

var rooms = []room{
	{"kitchen", 0, 0, 4.2, 4.8},
	{"living room", 4.2, 0, 3.8, 4.8},
}

// NewWorld makes a home as it is in the evening: the fridge is stocked, the
// lamp is off, and somebody has cooked.
func NewWorld(now func() time.Time) *World {
	return &World{
		now: now, lines: map[string]byte{},
		fridge: []string{"milk", "6 eggs", "butter", "cheddar", "yoghurt", "half a lemon", "carrots", "broccoli", "leftover soup"},
		spills: []spill{
			{"near sink", "kitchen", "rice", point{1.0, 1.15}},
			{"by stove", "kitchen", "crumbs", point{3.1, 1.1}},
		},
		robot: robot{at: dock, heading: 3.1416, battery: 100},
	}
}

// worldOf is the home that the devices of one program share.
func worldOf(env drivers.Env) (*World, error) {
	w, err := env.Shared.Get("sim-world", func() (any, error) { return NewWorld(env.Now), nil })
	if err != nil {
		return nil, err
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

// Line is the level of a relay line: 1 is on.
func (w *World) Line(name string) byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lines[name]
}

// SetLine sets the level of a line, as a relay does, or a hand on the switch.
func (w *World) SetLine(name string, level byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines[name] = level
	w.note(name, "%s", onOff[level == 1])
}

var onOff = map[bool]string{true: "on", false: "off"}

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

// scene is a copy of what a picture shows.
type scene struct {
	now    time.Time
	lines  map[string]byte
	fridge []string
	spills []spill
	robot  robot
}

func (w *World) scene() scene {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := scene{now: w.now(), lines: map[string]byte{}, fridge: slices.Clone(w.fridge), spills: slices.Clone(w.spills), robot: w.robot}
	s.robot.path = slices.Clone(w.robot.path)
	for k, v := range w.lines {
		s.lines[k] = v
	}
	return s
}

// says is a room in words.
func (s scene) says(room string) (string, []drivers.Fact) {
	switch room {
	case "fridge":
		facts := make([]drivers.Fact, len(s.fridge))
		for i, f := range s.fridge {
			facts[i] = drivers.Fact{Name: f, Value: true}
		}
		if len(s.fridge) == 0 {
			return "The fridge is empty.", nil
		}
		return "In the fridge: " + strings.Join(s.fridge, ", ") + ".", facts
	case "porch":
		on := s.lines[porchLine] == 1
		return "The porch light is " + onOff[on] + ". Nobody is at the door.",
			[]drivers.Fact{{Name: "porch light", Value: onOff[on]}, {Name: "person at the door", Value: false}}
	}
	return s.floor(room)
}

// floor is what lies on the floor of a room.
func (s scene) floor(room string) (string, []drivers.Fact) {
	var words []string
	facts := []drivers.Fact{}
	for _, one := range s.spills {
		if one.room == room {
			words = append(words, one.what+" "+one.name)
			facts = append(facts, drivers.Fact{Name: one.name, Value: one.what})
		}
	}
	text := "The floor of the " + room + " is clean."
	if len(words) > 0 {
		text = "On the floor of the " + room + ": " + strings.Join(words, " and ") + "."
	}
	if s.robot.moving {
		text += " The vacuum is moving."
	}
	return text, facts
}
