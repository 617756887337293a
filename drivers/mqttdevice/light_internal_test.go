package mqttdevice

import (
	"testing"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
)

func TestColours(t *testing.T) {
	for payload, want := range map[string]drivers.Color{
		`{"c":[255,136,0,12]}`: {R: 255, G: 136}, `{"c":{"r":255,"g":136,"b":0,"x":1}}`: {R: 255, G: 136}, `{"c":"FF880000"}`: {R: 255, G: 136},
		`{"c":"#ff8800"}`: {R: 255, G: 136}, `{"c":"rgb,255,136,0"}`: {R: 255, G: 136},
	} {
		if got, err := (&Tint{State: &Value{Value: "c"}}).read(nil, []byte(payload)); err != nil || got != want {
			t.Errorf("%s: %v, %v", payload, got, err)
		}
	}
}

// An invalid color or level is an error without a value.
func FuzzLight(f *testing.F) {
	for _, s := range []string{`{"c":[1,2]}`, `{"c":[256,0,0]}`, `{"c":{"r":1.5,"g":0,"b":0}}`, `{"c":"hsv,1,2,3"}`, `{"c":"12345"}`, `{"c":-1}`, `{"c":"50"}`, `x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v := &Value{Value: "c"}
		if c, err := (&Tint{State: v}).read(family.Values{}, data); err != nil && c != (drivers.Color{}) {
			t.Errorf("%v beside %v", c, err)
		}
		l, err := (&Dim{State: v, Full: 254}).read(family.Values{}, data)
		if err != nil && l != 0 || !(l >= 0 && l <= 254) {
			t.Errorf("%v beside %v", l, err)
		}
	})
}
