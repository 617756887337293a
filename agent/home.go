package agent

import (
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// Home resolves requests with the devices as they are now: those that know places
// (spills, rooms) are asked what is there, where a request may hang on that.
type Home struct {
	catalogue *catalog.Catalog
	things    []Thing
	placed    []placed                  // the things that tell their own area
	places    []*places                 // of the things that know places
	setting   capabilities.Home         // all but the devices and the time
	clock     func() (time.Time, error) // the error is why it is not known to be set; nil: there is none

	resolver remembered[*interpret.Interpreter] // its time is that of nobody
	offers   remembered[[]mess.Capability]      // without the places that the devices told
}

// placed is a thing whose driver says in which area it is.
type placed struct {
	thing  int
	driver drivers.Placed
}

// In sets what is known of the home beside its devices: setting, and the clock,
// with why it is not known to be set.
func (h *Home) In(setting capabilities.Home, clock func() (time.Time, error)) *Home {
	h.setting, h.clock = setting, clock
	h.resolver.forget()
	h.offers.forget()
	return h
}

// Thing is a device with what people know of it. Its Commands come from the
// driver, and so do its Spots while it can tell them; those that are given here
// count otherwise.
type Thing struct {
	capabilities.Device
	Driver drivers.Device
}

var _ Resolver = (*Home)(nil)

// NewHome makes a home.
func NewHome(c *catalog.Catalog, things []Thing) *Home {
	h := &Home{catalogue: c}
	for i, t := range things {
		t.Commands = Commands(t.Driver)
		_, t.Maps = t.Driver.(drivers.Mapper)
		t.Within, t.Positions = within(t.Driver)
		t.Quantities = tells(t.Driver)
		if a, ok := t.Driver.(drivers.Areas); ok {
			t.Places = true
			h.places = append(h.places, &places{index: len(h.places), thing: i, name: t.Name, of: a, moved: func() { h.now() }})
		}
		if p, ok := t.Driver.(drivers.Placed); ok && t.Area == "" {
			h.placed = append(h.placed, placed{i, p})
		}
		h.things = append(h.things, t)
	}
	return h
}

// Commands lists what can be done with a device, by its verbs.
func Commands(d drivers.Device) []capabilities.Command {
	var list []capabilities.Command
	add := func(can bool, commands ...capabilities.Command) {
		if can {
			list = append(list, commands...)
		}
	}
	_, photographs := d.(drivers.Photographer)
	_, observes := d.(drivers.Observer)
	_, switches := d.(drivers.Switch)
	_, reads := d.(drivers.SwitchReader)
	_, measures := d.(drivers.Sensor)
	_, cleans := d.(drivers.Cleaner)
	_, lamp := d.(gate.Lamp)
	_, painted := d.(gate.Painted)
	_, moves := d.(drivers.Mover)
	_, pauses := d.(drivers.Pauser)
	_, stops := d.(drivers.Stopper)
	_, warms := d.(gate.Warm)
	_, turns := d.(drivers.Turner)
	_, opens := d.(drivers.Opener)
	_, positions := d.(drivers.Positioner)
	_, locks := d.(drivers.Locker)
	_, heats := d.(drivers.Thermostat)
	_, spots := d.(drivers.Spotter)
	_, prints := d.(drivers.Printer)
	_, presses := d.(drivers.Presser)
	add(photographs, capabilities.TakePhoto)
	add(observes, capabilities.Observe)
	add(switches, capabilities.SetSwitch)
	add(switches && reads, capabilities.Toggle)
	add(lamp, capabilities.Dim)
	add(painted, capabilities.Tint)
	add(warms, capabilities.Warm)
	add(reads || measures, capabilities.ReadState)
	add(cleans, capabilities.Clean, capabilities.Dock)
	add(spots, capabilities.CleanSpot)
	add(opens, capabilities.Open, capabilities.Shut)
	add(positions, capabilities.OpenTo)
	add(locks, capabilities.Lock, capabilities.Unlock)
	add(pauses, capabilities.Pause, capabilities.Resume)
	add(stops, capabilities.Stop)
	add(prints, capabilities.Print)
	add(moves, capabilities.Move)
	add(turns, capabilities.TurnTo)
	add(heats, capabilities.SetTemperature)
	add(presses, capabilities.Press)
	add(watchable(d), capabilities.Watch)
	add(tellsEnd(d), capabilities.Await)
	return list
}

// tells lists what a device can tell that has no Sensor; nil for one that has.
func tells(d drivers.Device) []string {
	if _, measures := d.(drivers.Sensor); measures {
		return nil
	}
	list := []string{}
	if _, opens := d.(drivers.OpeningReader); opens {
		list = append(list, "contact", "opening")
	}
	if _, locks := d.(drivers.LockReader); locks {
		list = append(list, "lock")
	}
	return list
}

// within are the limits that a device has of its own for the parameters of plans,
// and its angles with a name.
func within(d drivers.Device) (map[string]capabilities.Range, []capabilities.Pose) {
	limits := map[string]capabilities.Range{}
	var list []capabilities.Pose
	if t, ok := d.(drivers.Turner); ok {
		turns := t.Turns()
		limits["angle"] = capabilities.Range{Min: turns.Min, Max: turns.Max}
		for _, p := range turns.Positions {
			list = append(list, capabilities.Pose{Name: p.Name, Angle: p.Degrees})
		}
	}
	if w, ok := d.(drivers.Warmer); ok {
		warmest, coldest := w.Whites()
		limits["kelvin"] = capabilities.Range{Min: warmest, Max: coldest}
	}
	if t, ok := d.(drivers.Thermostat); ok {
		targets := t.Targets()
		limits["temperature"] = capabilities.Range{Min: targets.Min, Max: targets.Max}
	}
	return limits, list
}

// Resolve implements Resolver.
func (h *Home) Resolve(req mess.Request) capabilities.Outcome {
	return h.settled(func(r *interpret.Interpreter) capabilities.Outcome { return r.Resolve(req) })
}

// Answer implements Resolver.
func (h *Home) Answer(q capabilities.Question, reply mess.Object, text string, req mess.Request) capabilities.Outcome {
	return h.settled(func(r *interpret.Interpreter) capabilities.Outcome { return r.Answer(q, reply, text, req) })
}

// Now is the resolver of this moment, for many requests.
func (h *Home) Now() *interpret.Interpreter {
	h.waits(capabilities.Outcome{})
	return h.now()
}
