package mqttdevice_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

// Each lamp takes the requested state and reports it, and the driver sends no retained
// message.
func TestLamps(t *testing.T) {
	for name, one := range families {
		if !shines(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // these tests mostly wait
			b := newBroker(t, nil)
			f := b.device(t, one.device)
			d := started(t, config(b, name))
			for _, percent := range []float64{40, 1, 100} {
				err := d.(drivers.Dimmer).Dim(t.Context(), percent)
				is, rerr := d.(drivers.LevelReader).Level(t.Context())
				if err != nil || rerr != nil || is < percent-1 || is > percent+1 || !f.is() {
					t.Errorf("Dim(%v): %v; it is at %v, %v", percent, err, is, rerr)
				}
			}
			if p, ok := d.(drivers.ColorSetter); ok {
				want := drivers.Color{R: 255, G: 136}
				err := p.SetColor(t.Context(), want)
				if is, rerr := d.(drivers.ColorReader).Color(t.Context()); err != nil || rerr != nil || is != want {
					t.Errorf("Tint(%v): %v; it is %v, %v", want, err, is, rerr)
				}
			}
			if w, ok := d.(drivers.ColorTemperatureSetter); ok {
				warmest, coldest := w.ColorTemperatureRange()
				for _, kelvin := range []float64{warmest, 4000, coldest} {
					err := w.SetColorTemperature(t.Context(), kelvin)
					if is, rerr := d.(drivers.ColorTemperatureReader).ColorTemperature(t.Context()); err != nil || rerr != nil || math.Abs(1e6/is-1e6/kelvin) > 3 || !f.is() {
						t.Errorf("Warm(%v): %v; it is %v, %v", kelvin, err, is, rerr)
					}
				}
				acts := f.count()
				if err := w.SetColorTemperature(t.Context(), coldest+1); !errors.Is(err, drivers.ErrNothingDone) || f.count() != acts {
					t.Errorf("whiter than white: %v", err)
				}
			} else if !strings.HasSuffix(name, "-light") {
				t.Error("the lamp has no color temperatures")
			}
			if err := d.(drivers.Dimmer).Dim(t.Context(), 0); err != nil || f.is() {
				t.Errorf("Dim(0): on=%t, %v", f.is(), err)
			}
			if is, err := d.(drivers.LevelReader).Level(t.Context()); err != nil || is != 0 {
				t.Errorf("off, and at %v: %v", is, err)
			}
			f.mu.Lock()
			f.wrong = true
			f.mu.Unlock()
			d = started(t, soon(config(b, name)))
			if err := d.(drivers.Dimmer).Dim(t.Context(), 70); err == nil {
				t.Error("a lamp that does nothing has obeyed")
			}
			if w, ok := d.(drivers.ColorTemperatureSetter); ok {
				if err := w.SetColorTemperature(t.Context(), 3000); err == nil {
					t.Error("a lamp that does nothing has another white")
				}
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.retained) != 0 {
				t.Errorf("kept: %q", b.retained)
			}
		})
	}
}

// Invalid color temperature limits are an error before any command.
func TestInvalidColorTemperatureLimits(t *testing.T) {
	for _, with := range []string{"warmest: \"6500\", coldest: \"2700\"", "coldest: \"90000\"", "warmest: warm"} {
		if _, err := open("family: zigbee2mqtt-white\nbroker: mqtt://127.0.0.1:1\nwith: {name: bulb, " + with + "}\n"); err == nil {
			t.Errorf("%s can be", with)
		}
	}
}
