package homeassistant_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/homeassistant"
	"github.com/messkit/messkit/internal/strictyaml"
)

func open(yaml string) (drivers.Device, error) {
	env := drivers.Env{Name: "hall-light", Log: slog.New(slog.DiscardHandler), Now: time.Now, Shared: &drivers.Shared{}}
	return homeassistant.Kind().Open(env, func(out any) error { return strictyaml.Decode("home.yaml", []byte(yaml), out) })
}

func config(h *home, entity string) string {
	return "url: " + h.URL + "\ntoken: " + token + "\nentity: " + entity + "\n"
}

func started(t *testing.T, yaml string) drivers.Device {
	t.Helper()
	d, err := open(yaml)
	if err == nil {
		err = d.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Halt() }) // the entity may be unavailable
	return d
}

func TestConformance(t *testing.T) {
	h := newHome(t)
	for _, c := range []struct{ entity, more string }{
		{"light.hall", "dims: true\ncolours: true"},
		{"light.hall", ""},
		{"light.desk", "dims: true\nwarmest: 2200\ncoldest: 4000"},
		{"switch.pump", ""},
		{"fan.bath", ""},
		{"sensor.balcony", ""},
		{"binary_sensor.front_door", ""},
		{"camera.door", ""},
		{"climate.living", "safe: off"},
		{"climate.living", "safe: off\nlive: false"},
		{"climate.ac", "safe: off\nmode: cool\nlowest: 16\nhighest: 30"},
		{"humidifier.bed", ""},
		{"media_player.tv", ""},
		{"cover.blind", ""},
		{"cover.blind", "positions: true"},
		{"cover.gate", ""},
		{"lock.front", "code: 4711"},
		{"scene.movie", ""},
		{"script.night", "live: false"},
		{"button.bell", ""},
	} {
		t.Run(c.entity+" "+c.more, func(t *testing.T) {
			domain, _, _ := strings.Cut(c.entity, ".")
			switches := !slices.Contains([]string{"scene", "script", "button"}, domain) && !strings.Contains(c.entity, "sensor") && !strings.Contains(c.entity, "camera") && !strings.Contains(c.entity, "cover") && !strings.Contains(c.entity, "lock")
			drivertest.Run(t, func(t *testing.T) drivers.Device {
				h.renew()
				if c.entity == "climate.ac" {
					h.unit = "°F"
				}
				d, err := open(config(h, c.entity) + c.more)
				if err != nil {
					t.Fatal(err)
				}
				return d
			},
				drivertest.Safe(func() error {
					if switches && h.is(c.entity) {
						return errors.New("it is on")
					}
					return nil
				}),
				drivertest.Acts(h.count), drivertest.Level(func() bool { return h.is(c.entity) }),
				drivertest.Force(func(on bool) { h.force(c.entity, on) }),
			)
		})
	}
}

// The driver requests and calls only the configured entity.
func TestOnlyConfiguredEntity(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "switch.pump"))
	if err := d.(drivers.Switch).Switch(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if len(h.asked) != 1 || !slices.Equal(h.calls, []string{"switch/turn_on switch.pump"}) {
		t.Errorf("asked for %v, called %q", h.asked, h.calls)
	}
}

// Home Assistant answers before some devices have acted, and also for devices that never
// act.
func TestWaitsForTheState(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	d := started(t, config(h, "switch.pump")+"timeout: 1m\nsafe: keep")
	h.slow = 3
	if err := d.(drivers.Switch).Switch(t.Context(), true); err != nil || !h.is("switch.pump") {
		t.Error(err)
	}
	d = started(t, config(h, "switch.pump")+"timeout: 3s\nsafe: keep")
	h.dead = true
	err := d.(drivers.Switch).Switch(t.Context(), false)
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), `the driver called turn_off, and the state is "on" after 3s`) {
		t.Error(err)
	}
}

func TestReadings(t *testing.T) {
	h := newHome(t)
	for _, c := range []struct {
		entity string
		want   drivers.Reading
	}{
		{"sensor.balcony", drivers.Reading{Quantity: "temperature", Value: 21.5, Unit: "°C", At: reportedAt}},
		{"sensor.visits", drivers.Reading{Quantity: "visits", Value: 7, Unit: "units", At: reportedAt}},
		{"binary_sensor.front_door", drivers.Reading{Quantity: "contact", Value: 0, At: reportedAt}}, // the door is open
		{"binary_sensor.hall", drivers.Reading{Quantity: "motion", Value: 1, At: reportedAt}},
	} {
		got, err := started(t, config(h, c.entity)).(drivers.Sensor).Read(t.Context())
		if err != nil || len(got) != 1 || !cmp.Equal(c.want, got[0]) {
			t.Errorf("%s: %+v, %v", c.entity, got, err)
		}
	}
	_, err := started(t, config(h, "sensor.words")).(drivers.Sensor).Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), `sensor.words reports "fine", which is not a number`) {
		t.Error(err)
	}
	if _, err = started(t, config(h, "sensor.asleep")).(drivers.Sensor).Read(t.Context()); !errors.Is(err, drivers.ErrNoReadingYet) {
		t.Errorf("a sensor without a reading: %v, want ErrNoReadingYet", err)
	}
}

// An unavailable entity has no state, accepts no command, and its last image does not
// count.
func TestUnavailable(t *testing.T) {
	h := newHome(t)
	d := started(t, config(h, "switch.gone")+"safe: keep")
	if err := d.(drivers.Switch).Switch(t.Context(), true); !errors.Is(err, drivers.ErrNothingDone) || h.count() != 0 {
		t.Error(err)
	}
	if on, err := d.(drivers.SwitchReader).On(t.Context()); err == nil {
		t.Errorf("On = %t, want an error", on)
	}
	if p, err := started(t, config(h, "camera.gone")).(drivers.Photographer).Photo(t.Context()); err == nil || len(p.Data) > 0 {
		t.Error(err)
	}
	_, err := started(t, config(h, "switch.no_such_thing")).(drivers.SwitchReader).On(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Home Assistant has no entity switch.no_such_thing; check its spelling in the settings of Home Assistant") {
		t.Error(err)
	}
}

func TestTokenStaysSecret(t *testing.T) {
	h := newHome(t)
	d := started(t, strings.Replace(config(h, "switch.pump"), "sesame", "secret", 1))
	_, err := d.(drivers.SwitchReader).On(t.Context())
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "the device rejects the login: check the token and its permissions") {
		t.Error(err)
	}
}

func TestConfigMistakes(t *testing.T) {
	const place = "url: http://x\ntoken: a\n"
	for _, c := range []struct{ config, want string }{
		{place, "entity: is missing"},
		{place + "entity: hall", "entity: \"hall\" is not an entity id"},
		{place + "entity: light.Hall/../x", "is not an entity id"},
		{place + "entity: lawn_mower.door", "entity: messkit does not support the domain lawn_mower; known: binary_sensor, button, camera, climate, cover, fan"},
		{place + "entity: light.a\nsegments: {a: b}", "segments: only for a vacuum"},
		{place + "entity: vacuum.a\nsegments: {a: b, c: b}", `segments: "a" and "c" have the same name "b"`},
		{place + "entity: vacuum.a\nsegments: {a: ''}", `segments: "a" has no name`},
		{place + "entity: vacuum.a\npoll: 1ms", "poll: 1ms is not between 50ms and 1m"},
		{place + "entity: vacuum.a\nsafe: 'on'", "safe: a vacuum has no switch; write stop or keep"},
		{place + "entity: vacuum.a\ninitial: 'off'", "safe: a vacuum has no switch; write stop or keep"},
		{place + "entity: switch.a\ndims: true", "dims: only for a light"},
		{place + "entity: light.a\nlowest: 12", "mode: only for a climate"},
		{place + "entity: climate.a\nmode: warm", `mode: "warm" is unknown; write the mode that means on: heat, cool`},
		{place + "entity: climate.a\nlowest: 30\nhighest: 12", "lowest: the range from 30 to 12 °C is invalid"},
		{place + "entity: climate.a\nlowest: .nan", "lowest: is text; write a number"},
		{place + "entity: light.a\ncode: 1", "code: only for a lock"},
		{place + "entity: light.a\ncolours: true", "colours: needs dims"},
		{place + "entity: light.a\nsafe: maybe", `safe: "maybe" is unknown`},
		{"url: http://x\nentity: light.a", "token_file: is missing"},
		{"token: a\nentity: light.a", "url: is missing"},
		{place + "entity: light.a\nusername: me\npassword: b", "username: Home Assistant accepts only a token"},
	} {
		if _, err := open(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v", c.config, err)
		}
	}
}
