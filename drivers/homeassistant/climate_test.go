package homeassistant_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

// The driver uses °C, no matter which unit Home Assistant uses, by WebSocket and over REST.
func TestClimateUnits(t *testing.T) {
	h := newHome(t)
	for _, live := range []string{"live: true", "live: false"} {
		h.renew()
		h.mu.Lock()
		h.unit = "°F"
		h.mu.Unlock()
		d := started(t, config(h, "climate.ac")+"mode: cool\nlowest: 16\n"+live)
		if is, err := d.(drivers.TargetReader).Target(t.Context()); err != nil || is != 22.2 {
			t.Errorf("%s: %v, %v", live, is, err)
		}
		list, err := d.(drivers.Sensor).Read(t.Context())
		if err != nil || len(list) != 2 || list[0].Quantity != "temperature" || list[0].Value != 25 || list[0].Unit != "°C" || !list[0].At.Equal(reportedAt) {
			t.Errorf("%s: %+v, %v", live, list, err)
		}
		if err := d.(drivers.Thermostat).SetTarget(t.Context(), 20); err != nil {
			t.Errorf("%s: %v", live, err)
		}
		h.mu.Lock()
		if is := h.states["climate.ac"]["temperature"]; is != 68.0 || !slices.Equal(h.calls, []string{"climate/set_temperature climate.ac"}) {
			t.Errorf("%s: it is set to %v by %q", live, is, h.calls)
		}
		h.mu.Unlock()
	}
}

// The driver sends no unsupported command to a climate entity, and its error gives the
// reason.
func TestUnsupportedClimateCommands(t *testing.T) {
	h := newHome(t)
	for _, c := range []struct {
		entity, more, unit string
		celsius            float64
		want               string
	}{
		{"climate.living", "lowest: 5", "°C", 6, "climate.living does not accept 6 °C: its range in Home Assistant is 7 °C to 35 °C; set lowest and highest to that range"},
		{"climate.ac", "", "°F", 12, "its range in Home Assistant is 15.6 °C to 30 °C"},
		{"climate.living", "", "°C", 31, "31 °C is outside of the range of the device, 7 to 30"},
		{"climate.range", "", "°C", 20, "climate.range has a target range from 19 to 24 °C, not one temperature"},
		{"climate.valve", "", "°C", 20, "climate.valve is off and has no target temperature; turn it on first"},
		{"climate.fan", "", "°C", 20, "climate.fan has no target temperature according to Home Assistant (supported_features 8)"},
		{"climate.odd", "", "°C", 20, "the state does not have the attributes of a climate entity"},
		{"climate.living", "", "degrees", 20, `the temperature unit of Home Assistant is "degrees", neither °C nor °F`},
	} {
		h.renew()
		h.mu.Lock()
		h.unit = c.unit
		h.mu.Unlock()
		err := started(t, config(h, c.entity)+c.more).(drivers.Thermostat).SetTarget(t.Context(), c.celsius)
		if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), c.want) || h.count() != 0 {
			t.Errorf("%s: %v, %d calls", c.entity, err, h.count())
		}
	}
	h.renew()
	err := started(t, config(h, "climate.ac")).(drivers.Switch).Switch(t.Context(), true)
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "climate.ac has no mode heat; it has: off, cool, heat_cool") || h.count() != 0 {
		t.Error(err)
	}
	for _, entity := range []string{"climate.valve", "climate.range"} {
		if is, err := started(t, config(h, entity)).(drivers.TargetReader).Target(t.Context()); err == nil {
			t.Errorf("%s is set to %v", entity, is)
		}
	}
	if list, err := started(t, config(h, "climate.fan")).(drivers.Sensor).Read(t.Context()); err == nil {
		t.Errorf("readings are %+v, want an error", list)
	}
}

// The shutdown of messkit does not change a climate entity, unless the configuration says
// so.
func TestHaltKeepsClimate(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "climate.living"))
	if err := d.(drivers.Switch).Switch(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if err := d.Halt(); err != nil || !h.is("climate.living") {
		t.Errorf("the climate entity is off after Halt: %v", err)
	}
}

// The driver does not send turn_on to a player without that feature.
func TestPlayers(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "media_player.radio")+"safe: keep")
	if on, err := d.(drivers.SwitchReader).On(t.Context()); err != nil || !on {
		t.Errorf("a player that plays is on=%t, %v", on, err)
	}
	err := d.(drivers.Switch).Switch(t.Context(), true)
	if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "does not support turn on") || h.count() != 0 {
		t.Error(err)
	}
	if err := d.(drivers.Switch).Switch(t.Context(), false); err != nil || h.is("media_player.radio") {
		t.Error(err)
	}
}
