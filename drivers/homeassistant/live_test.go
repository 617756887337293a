package homeassistant_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/homeassistant"
	"github.com/messkit/messkit/internal/strictyaml"
)

// live opens an entity of a program with other entities, and waits for live states.
func live(t *testing.T, h *home, shared *drivers.Shared, yaml string) drivers.Device {
	t.Helper()
	env := drivers.Env{Name: "it", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: shared}
	d, err := homeassistant.Kind().Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(yaml), out) })
	if err == nil {
		err = d.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Halt() }) // the entity may be unavailable
	settled(t, h, d)
	return d
}

// settled waits until a read needs no REST request.
func settled(t *testing.T, h *home, d drivers.Device) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		h.mu.Lock()
		h.asked = map[string]bool{}
		h.mu.Unlock()
		var err error
		switch d := d.(type) {
		case drivers.PressReader:
			_, err = d.PressState(t.Context())
		case drivers.DockReader:
			_, err = d.Docked(t.Context())
		default:
			_, err = d.(drivers.SwitchReader).On(t.Context())
		}
		h.mu.Lock()
		n := len(h.asked)
		h.mu.Unlock()
		if err == nil && n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the driver still reads over REST: %v", err)
		}
	}
}

// With WebSocket a read returns the present state, a service gets one call, and the driver
// sends no REST request.
func TestLiveStates(t *testing.T) {
	h := newHome(t)
	d := live(t, h, &drivers.Shared{}, config(h, "switch.pump")+"safe: keep")
	for _, on := range []bool{true, false, true} {
		h.force("switch.pump", on)
		if is, err := d.(drivers.SwitchReader).On(t.Context()); err != nil || is != on {
			t.Errorf("on=%t, %v; it is %t", is, err, on)
		}
	}
	if err := d.(drivers.Switch).Switch(t.Context(), false); err != nil || h.is("switch.pump") {
		t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asked) != 0 || !slices.Equal(h.calls, []string{"switch/turn_off switch.pump"}) {
		t.Errorf("asked for %v over REST, called %q", h.asked, h.calls)
	}
}

// A later entity uses the existing connection, which does not end, and neither do its
// commands.
func TestLaterEntityUsesTheConnection(t *testing.T) {
	h, shared := newHome(t), &drivers.Shared{}
	live(t, h, shared, config(h, "switch.pump")+"safe: keep")
	for _, entity := range []string{"light.hall", "fan.bath"} {
		d := live(t, h, shared, config(h, entity)+"safe: keep")
		h.force(entity, true)
		if is, err := d.(drivers.SwitchReader).On(t.Context()); err != nil || !is {
			t.Errorf("%s is on: %t, %v", entity, is, err)
		}
		if err := d.Halt(); err != nil {
			t.Error(err)
		}
		h.force(entity, false) // a change of an entity that the hub does not watch
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		if is, err := d.(drivers.SwitchReader).On(t.Context()); err != nil || is {
			t.Errorf("%s is on when it is opened again: %t, %v", entity, is, err)
		}
		settled(t, h, d)
		if is, err := d.(drivers.SwitchReader).On(t.Context()); err != nil || is {
			t.Errorf("%s is on by the connection: %t, %v", entity, is, err)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.joined != 1 {
		t.Errorf("%d connections, want 1", h.joined)
	}
}

// A caller that waits for a change need not poll.
func TestChanges(t *testing.T) {
	h := newHome(t)
	d := live(t, h, &drivers.Shared{}, config(h, "switch.pump")+"safe: keep")
	for on := true; ; on = !on { // the connection itself counts as a change
		changed := d.(drivers.Notifier).Changes()
		h.force("switch.pump", on)
		<-changed
		if is, err := d.(drivers.SwitchReader).On(t.Context()); err != nil || is != on {
			t.Errorf("on=%t, %v; it is %t", is, err, on)
		}
		if !on {
			return
		}
	}
}

// One connection serves all entities. The area of an entity is its own in Home Assistant,
// or that of its device.
func TestAreas(t *testing.T) {
	h, shared := newHome(t), &drivers.Shared{}
	all := map[string]string{"light.hall": "Hall", "fan.bath": "Bath", "switch.pump": ""}
	opened := map[string]drivers.Device{}
	for entity := range all {
		opened[entity] = live(t, h, shared, config(h, entity)+"safe: keep")
	}
	for entity, want := range all {
		settled(t, h, opened[entity])
		if got := opened[entity].(drivers.AreaReporter).Area(); got != want {
			t.Errorf("%s is in %q, want %q", entity, got, want)
		}
	}
	h.mu.Lock()
	n := 0
	for _, s := range h.sits {
		s.mu.Lock()
		if s.conn.WriteControl(9, nil, time.Now().Add(time.Second)) == nil {
			n++
		}
		s.mu.Unlock()
	}
	h.mu.Unlock()
	if n == 0 || n > 3 { // each new entity repeats the sequence
		t.Errorf("%d connections", n)
	}
}

// If the connection ends during a call, the outcome is unknown, and the driver does not
// repeat the call. The next connection follows by itself.
func TestConnectionLost(t *testing.T) {
	h := newHome(t)
	d := live(t, h, &drivers.Shared{}, config(h, "switch.pump")+"safe: keep")
	h.mu.Lock()
	h.deaf = true
	h.mu.Unlock()
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || h.count() != 1 {
		t.Errorf("%v, and %d calls", err, h.count())
	}
	if on, err := d.(drivers.SwitchReader).On(t.Context()); err != nil || !on {
		t.Errorf("on=%t, %v", on, err) // over REST
	}
	h.mu.Lock()
	h.deaf = false
	h.mu.Unlock()
	if !h.has(func(h *home) bool { return h.joined >= 2 }) {
		t.Fatal("the driver has not subscribed again")
	}
	h.force("switch.pump", false)
	settled(t, h, d)
	h.hangUp()
	if err := d.(drivers.Switch).Switch(t.Context(), true); err != nil || !h.is("switch.pump") || h.count() != 2 {
		t.Errorf("%v, and %d calls", err, h.count())
	}
}

// Without a WebSocket, or if the configuration excludes it, the driver uses REST.
func TestWithoutWebSocket(t *testing.T) {
	for _, c := range []struct {
		more string
		shut bool
	}{{"", true}, {"live: false\n", false}} {
		h := newHome(t)
		h.shut = c.shut
		d := started(t, config(h, "switch.pump")+c.more+"safe: keep")
		if err := d.(drivers.Switch).Switch(t.Context(), true); err != nil || !h.is("switch.pump") {
			t.Error(err)
		}
		if len(h.sits) != 0 || !h.asked["switch.pump"] {
			t.Errorf("%+v: %d sockets, asked for %v", c, len(h.sits), h.asked)
		}
	}
}

// A command that Home Assistant rejects is ErrNothingDone, and its error contains no token.
func TestRejectedByWebSocket(t *testing.T) {
	h := newHome(t)
	d := live(t, h, &drivers.Shared{}, config(h, "switch.pump")+"safe: keep")
	h.mu.Lock()
	h.states["switch.pump"]["state"] = "unavailable"
	h.publish("switch.pump")
	h.mu.Unlock()
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), `"unavailable"`) || h.count() != 0 {
		t.Error(err)
	}
	h.mu.Lock()
	h.states["switch.pump"]["state"] = "off"
	h.publish("switch.pump")
	delete(h.states, "switch.pump") // deleted without an event
	h.mu.Unlock()
	if err := d.(drivers.Switch).Switch(t.Context(), true); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "Service not found") || strings.Contains(err.Error(), "sesame") {
		t.Error(err)
	}
}

// An entity that disappears while Home Assistant lists the states does not exist
// afterwards, even if the list contains it.
func TestEntityDisappearsDuringTheList(t *testing.T) {
	h := newHome(t)
	h.leaves = "switch.pump"
	shared := &drivers.Shared{}
	env := drivers.Env{Name: "it", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: shared}
	text := config(h, "switch.pump") + "safe: keep"
	pump, err := homeassistant.Kind().Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(text), out) })
	if err == nil {
		err = pump.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pump.Halt() }) // the entity does not exist
	for end := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		_, err := pump.(drivers.SwitchReader).On(t.Context())
		if err != nil && strings.Contains(err.Error(), "no longer exists in Home Assistant") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the entity is still present, or its error is %v", err)
		}
	}
}
