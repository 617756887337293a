package gate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/drivers"
)

// outlet is a plug whose next switching ends as it says, and that is left as it says.
type outlet struct {
	plug
	ends          error
	initial, safe string
}

func (o *outlet) Switch(context.Context, bool) error { return o.ends }
func (o *outlet) Levels() (initial, safe string)     { return o.initial, o.safe }

// What was used and is not known to be inert since may be left as it must not stay;
// what was never used is not.
func TestLeft(t *testing.T) {
	deaf, nothing := errors.New("no answer"), fmt.Errorf("%w: no route", drivers.ErrNothingDone)
	halted := fmt.Errorf("%w: %w", drivers.ErrHalted, drivers.ErrNotStarted)
	type act struct {
		on   bool
		ends error
	}
	for name, c := range map[string]struct {
		initial, safe string
		starts        error
		acts          []act
		want          bool
	}{
		"never used":                    {safe: "off"},
		"never used, and never started": {safe: "off", starts: deaf},
		"on":                            {safe: "off", acts: []act{{true, nil}}, want: true},
		"on and off":                    {safe: "off", acts: []act{{true, nil}, {false, nil}}},
		"may be on":                     {safe: "off", acts: []act{{true, deaf}}, want: true},
		"has not heard":                 {safe: "off", acts: []act{{true, nothing}}},
		"on, and has not heard off":     {safe: "off", acts: []act{{true, nil}, {false, nothing}}, want: true},
		"on, and may be off":            {safe: "off", acts: []act{{true, nil}, {false, deaf}}, want: true},
		"cut short by a halt":           {safe: "off", acts: []act{{true, halted}}, want: true},
		"off, and is to be on":          {safe: "on", acts: []act{{true, nil}, {false, nil}}, want: true},
		"on from the start":             {initial: "on", safe: "off", want: true},
		"may be on from the start":      {initial: "on", safe: "off", starts: deaf, want: true},
		"not on from the start":         {initial: "on", safe: "off", starts: nothing},
	} {
		t.Run(name, func(t *testing.T) {
			inHouse(t, gate.Device{}, func(t *testing.T, g *gate.Gate, l *lamp) {
				d := &outlet{plug: plug{lamp: l, startErr: c.starts}, initial: c.initial, safe: c.safe}
				_ = g.Start(t.Context(), d, "lamp") // some fail
				for _, a := range c.acts {
					d.ends = a.ends
					_ = turns(t, g, "lamp", d, a.on)
				}
				if got := g.Left("lamp"); got != c.want {
					t.Errorf("left: %t, want %t", got, c.want)
				}
				if err := g.Halt(t.Context(), d, "lamp"); err != nil || g.Left("lamp") {
					t.Errorf("after a halt: %t, %v", g.Left("lamp"), err)
				}
			})
		})
	}
}
