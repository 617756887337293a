// Package resolver turns requests into plans with the current state of the devices: their areas,
// their rooms and files, and the time. Package interpret does the work; this package gives it a
// home that is up to date, and builds it anew only after a change.
package resolver

import (
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/runtime"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// Resolver resolves requests with the current state of the devices. It reads the places (spills,
// rooms) from devices that know them, if a request may depend on them.
type Resolver struct {
	catalog *catalog.Catalog
	devices []Device
	areas   []areaReader              // devices that report their own area
	spots   []*spotCache              // devices that know places
	setting capabilities.Home         // the home without devices and time
	clock   func() (time.Time, error) // its error says why the clock may not be set; nil: no clock

	interpreter cache[*interpret.Interpreter] // without a requester's time
	offers      cache[[]mess.Capability]      // without places that devices have reported
}

// areaReader is a device whose driver reports its area.
type areaReader struct {
	device int // index in Resolver.devices
	driver drivers.AreaReporter
}

// In sets the facts about the home besides its devices: the setting, and the clock with an
// error if it may not be set. It returns r.
func (r *Resolver) In(setting capabilities.Home, clock func() (time.Time, error)) *Resolver {
	r.setting, r.clock = setting, clock
	r.interpreter.forget()
	r.offers.forget()
	return r
}

// Device describes a device with the knowledge of people. Its driver determines Commands, and
// WorkAreas while it can report them; the given WorkAreas count otherwise.
type Device struct {
	capabilities.Device
	Driver drivers.Device
}

var _ runtime.Resolver = (*Resolver)(nil)

// New returns a resolver with a catalog and devices.
func New(c *catalog.Catalog, devices []Device) *Resolver {
	r := &Resolver{catalog: c}
	for i, t := range devices {
		t.Commands = device.Commands(t.Driver)
		_, t.DrawsMap = t.Driver.(drivers.Mapper)
		t.Limits, t.NamedAngles = device.Limits(t.Driver)
		t.Quantities = readableQuantities(t.Driver)
		if a, ok := t.Driver.(drivers.AreaLister); ok {
			t.ReportsAreas = true
			r.spots = append(r.spots, &spotCache{index: len(r.spots), device: i, name: t.Name, of: a, moved: func() { r.current() }})
		}
		if p, ok := t.Driver.(drivers.AreaReporter); ok && t.Area == "" {
			r.areas = append(r.areas, areaReader{i, p})
		}
		r.devices = append(r.devices, t)
	}
	return r
}

// readableQuantities lists the states that a device without a Sensor can report; nil for a
// Sensor.
func readableQuantities(d drivers.Device) []string {
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

// Resolve implements runtime.Resolver.
func (r *Resolver) Resolve(req mess.Request) capabilities.Outcome {
	return r.resolveCurrent(func(i *interpret.Interpreter) capabilities.Outcome { return i.Resolve(req) })
}

// Answer implements runtime.Resolver.
func (r *Resolver) Answer(q capabilities.Clarification, reply mess.Object, text string, req mess.Request) capabilities.Outcome {
	return r.resolveCurrent(func(i *interpret.Interpreter) capabilities.Outcome { return i.Answer(q, reply, text, req) })
}

// Now returns a resolver with the current state, for many requests.
func (r *Resolver) Now() *interpret.Interpreter {
	r.refreshSpots(capabilities.Outcome{})
	return r.current()
}
