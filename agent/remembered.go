package agent

import (
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/capabilities/resolve"
	"github.com/messkit/messkit/mess"
)

// remembered caches a value that depends on the devices until one of them reports another area
// or other places. The zero value is empty.
type remembered[T any] struct {
	mu    sync.Mutex // held during build, so that simultaneous requests build once
	value T
	known bool
	areas []string // by Home.placed
	turns []int    // by Home.places
}

// of returns the value for the current devices. build makes it from all devices, with their
// reported places if told is true. No value outlives a change: at each call, of asks every
// device that has an area or places of its own.
func (m *remembered[T]) of(h *Home, told bool, build func([]capabilities.Device) T) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known && m.holds(h, told) {
		return m.value
	}
	devices := make([]capabilities.Device, len(h.things))
	for i, t := range h.things {
		devices[i] = t.Device
	}
	m.areas, m.turns = make([]string, len(h.placed)), make([]int, len(h.places))
	for i, p := range h.placed {
		m.areas[i] = p.driver.Area()
		devices[p.thing].Area = m.areas[i]
	}
	for i, p := range h.places {
		list, known, turn := p.now()
		if m.turns[i] = turn; known && told {
			devices[p.thing].Spots = list
		}
	}
	m.value, m.known = build(devices), true
	return m.value
}

// holds reports whether the devices still report the same as when build ran.
func (m *remembered[T]) holds(h *Home, told bool) bool {
	for i, p := range h.placed {
		if p.driver.Area() != m.areas[i] {
			return false
		}
	}
	return !told || !slices.ContainsFunc(h.places, func(p *places) bool {
		_, _, turn := p.now()
		return turn != m.turns[p.index]
	})
}

func (m *remembered[T]) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = false
}

// now returns the resolver for the known current state.
func (h *Home) now() *interpret.Interpreter {
	var now time.Time
	unset := ""
	if h.clock != nil {
		var err error
		if now, err = h.clock(); err != nil {
			unset = err.Error()
		}
	}
	return h.resolver.of(h, true, func(devices []capabilities.Device) *interpret.Interpreter {
		home := h.setting
		home.Devices = devices
		return interpret.New(h.catalogue, home)
	}).At(now, unset)
}

// Offers implements Resolver. The capabilities do not depend on reported places. An agent calls
// Offers at its start and with its heartbeats. Offers also builds the resolver, so that no
// request waits for that.
func (h *Home) Offers() []mess.Capability {
	for _, p := range h.places {
		p.refresh()
	}
	h.now()
	return slices.Clone(h.offers.of(h, false, func(devices []capabilities.Device) []mess.Capability {
		home := h.setting
		home.Devices = devices
		return resolve.Offers(h.catalogue, home)
	}))
}
