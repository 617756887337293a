package home

import (
	"slices"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// harmless has the classes that a guest may use without Scope.Entry. A guest may use no other class, also
// none that this list does not know. Scenes, scripts and buttons may do anything, so they are not here.
var harmless = map[string]bool{
	"light": true, "plug": true, "switch": true, "relay": true, "fan": true, "heater": true, "air-conditioner": true, "humidifier": true, "dehumidifier": true,
	"kettle": true, "coffee-machine": true, "rice-cooker": true, "tv": true, "pump": true, "camera": true, "fridge": true, "vacuum": true, "rover": true,
	"blind": true, "printer": true, "servo": true, "washer": true, "dryer": true, "dishwasher": true, "oven": true,
	"thermometer": true, "hygrometer": true, "motion-sensor": true, "contact-sensor": true, "moisture-sensor": true, "sensor": true,
}

// entryVerbs let people in, with a device of any class.
var entryVerbs = map[string]bool{"lock": true, "unlock": true, "activate": true}

// seenBy reports whether an actor may see a device. A guest sees the devices of its areas.
func (d *Device) seenBy(actor exchange.Actor) bool {
	s := actor.Scope
	return s == nil || s.Areas == nil || slices.Contains(s.Areas, d.Area)
}

// mayUse reports whether an actor may use a verb of a device that it sees.
func (d *Device) mayUse(actor exchange.Actor, verb string) bool {
	if s := actor.Scope; s != nil {
		return s.Entry || harmless[d.Class] && !entryVerbs[verb]
	}
	return actor.Has(exchange.Requester)
}

// verbsFor returns the verbs that an actor may use.
func (d *Device) verbsFor(actor exchange.Actor) []Verb {
	if actor.Scope == nil && actor.Has(exchange.Requester) {
		return d.Verbs
	}
	return slices.DeleteFunc(slices.Clone(d.Verbs), func(v Verb) bool { return !d.mayUse(actor, v.Verb) })
}

// endsInTime returns until when an executor may begin the order of an actor: a guest's order ends
// with the guest's access.
func endsInTime(actor exchange.Actor, neededBy mess.Time) mess.Time {
	at, err := neededBy.Time()
	if actor.Scope == nil || err != nil || !actor.Scope.Until.Before(at) {
		return neededBy
	}
	return mess.TimeOf(actor.Scope.Until)
}

// documentFor returns the parts of a home that an actor may see. It changes d.
func (d *Document) documentFor(actor exchange.Actor) {
	kept := make([]Device, 0, len(d.Devices))
	for i := range d.Devices {
		if d.Devices[i].seenBy(actor) {
			kept = append(kept, d.Devices[i].visibleTo(actor))
		}
	}
	d.Devices = kept
	if actor.IsGuest() {
		d.Areas = areasOf(kept)
		d.Executors = slices.DeleteFunc(slices.Clone(d.Executors), func(e Executor) bool { return e.Person })
	}
}
