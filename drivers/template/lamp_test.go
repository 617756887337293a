package template_test

import (
	"context"
	"testing"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/template"
)

// lit returns the light of a lamp that is on and gives this answer.
func lit(answer []byte) *template.Light {
	c := &template.Setting{Path: "c", Read: func(context.Context) ([]byte, error) { return answer, nil }}
	return template.Lamp{Values: template.Values{}, On: func(context.Context) (bool, error) { return true, nil }, Dim: c, Full: 254, Tint: c}.Light()
}

func TestColors(t *testing.T) {
	for answer, want := range map[string]drivers.Color{
		`{"c":[255,136,0,12]}`: {R: 255, G: 136}, `{"c":{"r":255,"g":136,"b":0,"x":1}}`: {R: 255, G: 136}, `{"c":"FF880000"}`: {R: 255, G: 136},
		`{"c":"#ff8800"}`: {R: 255, G: 136}, `{"c":"rgb,255,136,0"}`: {R: 255, G: 136},
	} {
		if got, err := lit([]byte(answer)).Color(t.Context()); err != nil || got != want {
			t.Errorf("%s: %v, %v", answer, got, err)
		}
	}
}

// An invalid color or level is an error without a value.
func FuzzLight(f *testing.F) {
	for _, s := range []string{`{"c":[1,2]}`, `{"c":[256,0,0]}`, `{"c":{"r":1.5,"g":0,"b":0}}`, `{"c":"hsv,1,2,3"}`, `{"c":"12345"}`, `{"c":-1}`, `{"c":"50"}`, `x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		light := lit(data)
		if c, err := light.Color(t.Context()); err != nil && c != (drivers.Color{}) {
			t.Errorf("%v beside %v", c, err)
		}
		l, err := light.Level(t.Context())
		if err != nil && l != 0 || !(l >= 0 && l <= 100) {
			t.Errorf("%v beside %v", l, err)
		}
	})
}
