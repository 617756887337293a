package agent

import (
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// Home resolves requests with the current state of the devices. It reads the places (spills,
// rooms) from devices that know them, if a request may depend on them.
type Home struct {
	catalogue *catalog.Catalog
	things    []Thing
	placed    []placed                  // devices that report their own area
	places    []*places                 // devices that know places
	setting   capabilities.Home         // the home without devices and time
	clock     func() (time.Time, error) // its error says why the clock may not be set; nil: no clock

	resolver remembered[*interpret.Interpreter] // without a requester's time
	offers   remembered[[]mess.Capability]      // without places that devices have reported
}

// placed is a device whose driver reports its area.
type placed struct {
	thing  int
	driver drivers.Placed
}

// In sets the facts about the home besides its devices: the setting, and the clock with an
// error if it may not be set. It returns h.
func (h *Home) In(setting capabilities.Home, clock func() (time.Time, error)) *Home {
	h.setting, h.clock = setting, clock
	h.resolver.forget()
	h.offers.forget()
	return h
}

// Thing describes a device with the knowledge of people. Its driver determines Commands, and
// Spots while it can report them; the given Spots count otherwise.
type Thing struct {
	capabilities.Device
	Driver drivers.Device
}

var _ Resolver = (*Home)(nil)

// NewHome returns a home with a catalog and devices.
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

// Commands returns the commands that a driver supports.
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
	_, lamp := d.(policy.DimmableLight)
	_, painted := d.(policy.ColorLight)
	_, moves := d.(drivers.Mover)
	_, pauses := d.(drivers.Pauser)
	_, stops := d.(drivers.Stopper)
	_, warms := d.(policy.ColorTemperatureLight)
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

// tells lists the states that a device without a Sensor can report; nil for a Sensor.
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

// within returns the limits of a device for the parameters of plans, and its named angles.
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

// Now returns a resolver with the current state, for many requests.
func (h *Home) Now() *interpret.Interpreter {
	h.waits(capabilities.Outcome{})
	return h.now()
}
