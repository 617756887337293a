package resolver

import (
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// cache holds a value that depends on the devices until one of them reports another area
// or other places. The zero value is empty.
type cache[T any] struct {
	mu        sync.Mutex // held during build, so that simultaneous requests build once
	value     T
	known     bool
	areas     []string // by Resolver.areas
	revisions []int    // by Resolver.spots
}

// of returns the value for the current devices. build makes it from all devices, with their
// reported places if withPlaces is true. No value outlives a change: at each call, of asks every
// device that has an area or places of its own.
func (c *cache[T]) of(r *Resolver, withPlaces bool, build func([]capabilities.Device) T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known && c.holds(r, withPlaces) {
		return c.value
	}
	devices := make([]capabilities.Device, len(r.devices))
	for i, t := range r.devices {
		devices[i] = t.Device
	}
	c.areas, c.revisions = make([]string, len(r.areas)), make([]int, len(r.spots))
	for i, p := range r.areas {
		c.areas[i] = p.driver.Area()
		devices[p.device].Area = c.areas[i]
	}
	for i, p := range r.spots {
		list, known, revision := p.now()
		if c.revisions[i] = revision; known && withPlaces {
			devices[p.device].WorkAreas = list
		}
	}
	c.value, c.known = build(devices), true
	return c.value
}

// holds reports whether the devices still report the same as when build ran.
func (c *cache[T]) holds(r *Resolver, withPlaces bool) bool {
	for i, p := range r.areas {
		if p.driver.Area() != c.areas[i] {
			return false
		}
	}
	return !withPlaces || !slices.ContainsFunc(r.spots, func(p *spotCache) bool {
		_, _, revision := p.now()
		return revision != c.revisions[p.index]
	})
}

func (c *cache[T]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = false
}

// current returns the resolver for the known current state.
func (r *Resolver) current() *interpret.Interpreter {
	var now time.Time
	unset := ""
	if r.clock != nil {
		var err error
		if now, err = r.clock(); err != nil {
			unset = err.Error()
		}
	}
	return r.interpreter.of(r, true, func(devices []capabilities.Device) *interpret.Interpreter {
		home := r.setting
		home.Devices = devices
		return interpret.New(r.catalog, home)
	}).At(now, unset)
}

// Offers implements runtime.Resolver. The capabilities do not depend on reported places. An agent
// calls Offers at its start and with its heartbeats. Offers also builds the resolver, so that no
// request waits for that.
func (r *Resolver) Offers() []mess.Capability {
	for _, p := range r.spots {
		p.refresh()
	}
	r.current()
	return slices.Clone(r.offers.of(r, false, func(devices []capabilities.Device) []mess.Capability {
		home := r.setting
		home.Devices = devices
		return resolve.Offers(r.catalog, home)
	}))
}
