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

// drainedForGuest is what a guest sees of the reason of a drain, which names another person.
const drainedForGuest = "it is drained"

// drainedFor returns the reason of a drain as an actor may see it, "" for none.
func drainedFor(actor exchange.Actor, reason string) string {
	if reason != "" && actor.IsGuest() {
		return drainedForGuest
	}
	return reason
}

// executorFor returns an executor as an actor may see it. It returns false if the actor may not see it.
func executorFor(actor exchange.Actor, e Executor) (Executor, bool) {
	e.Drained = drainedFor(actor, e.Drained)
	return e, !e.Person || !actor.IsGuest()
}

// executorEvent returns the event of an executor as an actor may see it. It returns false if the actor
// may not see it.
func executorEvent(actor exchange.Actor, e Event, data Executor) (Event, bool) {
	seen, ok := executorFor(actor, data)
	e.Data = seen
	return e, ok
}

// ExecutorFor returns an executor as an actor may see it. A guest sees no persons. Of an executor a guest
// sees whether it answers, is stopped or is drained, without the names of persons. A device that the guest
// does not see has no name in the result of a stop. It returns false if the actor may not see the executor.
func ExecutorFor(actor exchange.Actor, e exchange.ExecutorInfo) (exchange.ExecutorInfo, bool) {
	if !actor.IsGuest() {
		return e, true
	}
	if exchange.IsPerson(e.Executor) {
		return exchange.ExecutorInfo{}, false
	}
	seen := exchange.ExecutorInfo{Live: e.Live, LastSeen: e.LastSeen, DrainReason: drainedFor(actor, e.DrainReason)}
	seen.ID, seen.Name = e.ID, e.Name
	for _, s := range e.UnconfirmedStops {
		seen.UnconfirmedStops = append(seen.UnconfirmedStops, mess.Stop{ID: s.ID, Reason: s.Reason, At: s.At})
	}
	if e.Stopped != nil {
		seen.Stopped = &mess.StopState{Reason: e.Stopped.Reason, Devices: stoppedFor(actor, &e)}
	}
	return seen, true
}

// stoppedFor returns the results of a stop for the devices of an executor. Those that the actor does not
// see have no name: the actor still learns that a device is unsafe.
func stoppedFor(actor exchange.Actor, e *exchange.ExecutorInfo) []mess.SafeDevice {
	if len(e.Stopped.Devices) == 0 {
		return nil
	}
	named := map[string]bool{}
	devices := Devices(e)
	for i := range devices {
		named[devices[i].Device] = devices[i].seenBy(actor)
	}
	list := make([]mess.SafeDevice, len(e.Stopped.Devices))
	for i, d := range e.Stopped.Devices {
		list[i] = mess.SafeDevice{State: d.State, Evidence: d.Evidence}
		if named[d.Device] {
			list[i].Device = d.Device
		}
	}
	return list
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
		executors := make([]Executor, 0, len(d.Executors))
		for _, e := range d.Executors {
			if seen, ok := executorFor(actor, e); ok {
				executors = append(executors, seen)
			}
		}
		d.Executors = executors
	}
}
