package mqttdevice_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

// Every lamp shines as it is told, tells so, and is not told anything that the
// broker would keep.
func TestLamps(t *testing.T) {
	for name, one := range families {
		if !strings.HasSuffix(name, "-light") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait more than they work
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
			if p, ok := d.(drivers.Tinter); ok {
				want := drivers.Colour{R: 255, G: 136}
				err := p.Tint(t.Context(), want)
				if is, rerr := d.(drivers.ColourReader).Colour(t.Context()); err != nil || rerr != nil || is != want {
					t.Errorf("Tint(%v): %v; it is %v, %v", want, err, is, rerr)
				}
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
			if err := started(t, soon(config(b, name))).(drivers.Dimmer).Dim(t.Context(), 70); err == nil {
				t.Error("a lamp that does nothing has obeyed")
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.retained) != 0 {
				t.Errorf("kept: %q", b.retained)
			}
		})
	}
}
