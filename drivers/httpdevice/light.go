package httpdevice

import (
	"context"

	"github.com/messkit/messkit/drivers/template"
)

// light returns the light of the template, or nil.
func (d *device) light() *template.Light {
	s := d.template.Switch
	l := template.Lamp{Values: d.values, On: d.on}
	if s.Dim != nil {
		l.Dim, l.Full = d.setting(s.Dim.Calls, s.Dim.Get, s.Dim.Value), s.Dim.Full
	}
	if s.White != nil {
		l.White, l.Warmth = d.setting(s.White.Calls, s.White.Get, s.White.Value), s.White.Warmth
	}
	if s.Tint != nil {
		l.Tint = d.setting(s.Tint.Calls, s.Tint.Get, s.Tint.Value)
	}
	return l.Light()
}

// setting returns a value that calls set, and that is at a path in the answer of get. The
// answer to the calls confirms the value.
func (d *device) setting(calls []Call, get, path string) *template.Setting {
	return &template.Setting{
		Path: path,
		Read: func(ctx context.Context) ([]byte, error) { return d.ask(ctx, Call{Get: get}, d.values) },
		Set: func(ctx context.Context, values template.Values, _ template.Want) error {
			return d.act(ctx, calls, values)
		},
	}
}
