package mqttdevice

import (
	"context"

	"github.com/messkit/messkit/drivers/template"
)

// light returns the light of the template, or nil.
func (d *device) light() *template.Light {
	s := d.template.Switch
	l := template.Lamp{Values: d.values, On: d.on}
	if s.Dim != nil {
		l.Dim, l.Full = d.setting(s.Dim.Messages, *s.Dim.State), s.Dim.Full
	}
	if s.White != nil {
		l.White, l.Warmth = d.setting(s.White.Messages, *s.White.State), s.White.Warmth
	}
	if s.Tint != nil {
		l.Tint = d.setting(s.Tint.Messages, *s.Tint.State)
	}
	return l.Light()
}

// setting returns a value that messages set, and that the device reports on v.
func (d *device) setting(messages []Message, v Value) *template.Setting {
	return &template.Setting{
		Path: v.Value,
		Read: func(ctx context.Context) ([]byte, error) {
			h, err := d.readValue(ctx, v)
			return h.Payload, err
		},
		Set: func(ctx context.Context, values template.Values, want template.Want) error {
			return d.order(ctx, messages, values, v, want)
		},
	}
}
