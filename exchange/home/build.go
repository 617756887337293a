package home

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// build returns the whole home, as an operator who may make requests sees it.
func (h *Home) build(ctx context.Context) (*Document, error) {
	executors := h.x.Executors()
	d := &Document{Exchange: h.x.ID(), Now: timeText(h.now()), Devices: []Device{}, Executors: make([]Executor, len(executors))}
	for i := range executors {
		d.Executors[i] = executorOf(&executors[i])
		d.Devices = append(d.Devices, Devices(&executors[i])...)
	}
	slices.SortFunc(d.Devices, func(a, b Device) int { return cmp.Compare(a.ID, b.ID) })
	d.Areas = areasOf(d.Devices)
	tasks, err := h.tasks(ctx)
	if err != nil {
		return nil, err
	}
	for i := range d.Devices {
		one := &d.Devices[i]
		if one.Task = tasks.of(one); one.Task != nil {
			h.await(one.ID, threadOf(one.Task))
		}
		one.Last = h.lastResult(ctx, one.ID)
	}
	return d, nil
}

// timeText prints a time like the HTTP API: UTC with milliseconds.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

func executorOf(e *exchange.ExecutorInfo) Executor {
	return Executor{
		ID: e.ID, Name: e.Name, Person: exchange.IsPerson(e.Executor), Live: e.Live, LastSeen: timeText(e.LastSeen),
		Stopped: stopReason(e), Drained: e.DrainReason,
	}
}

// stopReason returns the reason of the stop of an executor, "" for none.
func stopReason(e *exchange.ExecutorInfo) string {
	switch n := len(e.UnconfirmedStops); {
	case e.Stopped != nil && e.Stopped.Reason != "":
		return e.Stopped.Reason
	case n > 0:
		return cmp.Or(e.UnconfirmedStops[n-1].Reason, "it has not confirmed the stop")
	}
	return ""
}

// Devices returns the devices of an executor: those of its registration and of its report. They have
// all verbs, and neither tasks nor results.
func Devices(e *exchange.ExecutorInfo) []Device {
	devices := map[string]*Device{}
	at := func(name string) *Device {
		if devices[name] == nil {
			devices[name] = &Device{
				ID: e.ID + ":" + name, Executor: e.ID, Device: name, Name: strings.ReplaceAll(name, "-", " "), State: mess.StateUnknown,
				Reachable: true, Stopped: stopReason(e), Drained: e.DrainReason, Verbs: []Verb{},
			}
		}
		return devices[name]
	}
	for i := range e.States {
		if e.States[i].Device != "" {
			at(e.States[i].Device).setState(&e.States[i])
		}
	}
	for _, c := range e.Capabilities {
		meta, _ := c.Meta.(mess.Object)
		classes, _ := meta.Get("classes")
		byName, _ := classes.(mess.Object)
		for _, name := range meta.Texts("devices") {
			if name == "" {
				continue
			}
			d := at(name)
			d.Class = cmp.Or(d.Class, byName.Text(name))
			if !needsSentence[c.ID] && d.verb(c.ID) == nil {
				d.Verbs = append(d.Verbs, verbOf(d, c.ID, meta))
			}
		}
	}
	list := make([]Device, 0, len(devices))
	for _, name := range slices.Sorted(maps.Keys(devices)) {
		d := devices[name]
		d.mergeVerbs()
		if !e.Live {
			d.Reachable, d.Unreachable = false, &Unreachable{mess.Time(timeText(e.LastSeen)), "the executor " + e.ID + " does not answer"}
		}
		list = append(list, *d)
	}
	return list
}

// hasDevice reports whether an executor has registered or reported a device of this name.
func hasDevice(e *exchange.ExecutorInfo, name string) bool {
	return slices.ContainsFunc(e.States, func(s mess.DeviceState) bool { return s.Device == name }) ||
		slices.ContainsFunc(e.Capabilities, func(c mess.Capability) bool {
			meta, _ := c.Meta.(mess.Object)
			return slices.Contains(meta.Texts("devices"), name)
		})
}

// setState takes the report about a device.
func (d *Device) setState(s *mess.DeviceState) {
	d.Name, d.Area, d.Class = cmp.Or(s.Name, d.Name), s.Area, s.Class
	d.State, d.AsOf, d.Doing, d.Limits, d.Locked = s.State, s.AsOf, s.Doing, s.Limits, s.Locked
	d.Places = s.Extra.Texts(mess.PlacesField)
	if d.Colour = s.Extra.Text(mess.ColourField); !hexColor.MatchString(d.Colour) {
		d.Colour = ""
	}
	hidden, _ := s.Extra.Get(mess.HiddenField)
	d.Hidden = hidden == true
	for _, r := range s.Readings {
		d.addReading(Reading{
			Quantity: QuantityName(r.Quantity), Value: r.Value, Unit: r.Unit, AsOf: r.AsOf,
			Commanded: r.Commanded != nil && *r.Commanded, Estimated: r.Estimated != nil && *r.Estimated,
		})
	}
	if s.Failing != nil {
		d.Reachable, d.Unreachable = false, &Unreachable{s.Failing.Since, s.Failing.Reason}
	}
}

// sameQuantity maps the name of a quantity among the sensor values of some devices to its name as a
// state.
var sameQuantity = map[string]string{"target temperature": "target"}

// QuantityName returns the name under which a home shows a quantity of an executor.
func QuantityName(quantity string) string { return cmp.Or(sameQuantity[quantity], quantity) }

// addReading adds a reading. A device may report one quantity as a state and as a sensor value: the
// newer one counts, and one that was read before one that was only commanded.
func (d *Device) addReading(r Reading) {
	i := slices.IndexFunc(d.Readings, func(old Reading) bool { return old.Quantity == r.Quantity })
	if i < 0 {
		d.Readings = append(d.Readings, r)
		return
	}
	old := &d.Readings[i]
	at, _ := r.AsOf.Time()
	before, _ := old.AsOf.Time()
	if at.After(before) || at.Equal(before) && old.Commanded {
		r.Unit = cmp.Or(r.Unit, old.Unit)
		*old = r
		return
	}
	old.Unit = cmp.Or(old.Unit, r.Unit)
}

// sameVerb maps a verb to another one that a device with both shows instead, because both ask for the
// same. Requests for either remain possible.
var sameVerb = map[string]string{"read-switch": "read-sensor"}

// mergeVerbs removes the verbs that say the same as another verb of the device.
func (d *Device) mergeVerbs() {
	d.merged = slices.DeleteFunc(slices.Clone(d.Verbs), func(v Verb) bool { return d.verb(sameVerb[v.Verb]) == nil })
	d.Verbs = slices.DeleteFunc(d.Verbs, func(v Verb) bool { return slices.ContainsFunc(d.merged, func(m Verb) bool { return m.Verb == v.Verb }) })
}

// verb returns a verb of the device, or nil.
func (d *Device) verb(id string) *Verb {
	if i := slices.IndexFunc(d.Verbs, func(v Verb) bool { return v.Verb == id }); i >= 0 {
		return &d.Verbs[i]
	}
	return nil
}

// number returns a number in metadata.
func number(meta mess.Object, key string) *float64 {
	switch v, _ := meta.Get(key); v := v.(type) {
	case float64:
		return &v
	case mess.Number:
		if f, err := v.Float64(); err == nil {
			return &f
		}
	}
	return nil
}
