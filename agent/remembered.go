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

// remembered keeps what was built from the devices until one of them says something else
// of itself: another area, or other places. The zero value holds nothing yet.
type remembered[T any] struct {
	mu    sync.Mutex // held while it is built, so that requests at one time build it once
	value T
	known bool
	areas []string // by Home.placed
	turns []int    // by Home.places
}

// of returns the value for the devices as they are now. build makes it of all devices,
// with the places that they told if told is true. No value outlives a change: of asks every
// device that has an area or places of its own what they are, at each call.
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

// holds reports whether the devices say of themselves what they said when the value was
// built.
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

// now returns the resolver of this moment, with what is known.
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

// Offers implements Resolver. They do not depend on what lies about. An agent asks for them
// when it starts and with its heartbeats, so that Offers also builds the resolver: no request
// waits for that then.
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
