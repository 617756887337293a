package family

import (
	"context"

	"github.com/messkit/messkit/drivers"
)

var (
	_ drivers.Presser      = presser{}
	_ drivers.PressReader  = presser{}
	_ drivers.Unrepeatable = presser{}
)

// Press is what is set off, and does one thing by itself.
type Press struct {
	Do   func(context.Context) error
	Last func(context.Context) (drivers.Pressed, error)
}

// presser is the part of a device that is set off.
type presser struct{ d *Device }

// Press sets it off.
func (p presser) Press(ctx context.Context) error { return does(ctx, p.d, p.d.verbs.Press.Do) }

// Pressed reads back when it was set off last.
func (p presser) Pressed(ctx context.Context) (drivers.Pressed, error) {
	return drivers.During(ctx, &p.d.Life, p.d.verbs.Press.Last)
}

// Unrepeatable implements drivers.Unrepeatable.
func (presser) Unrepeatable() {}
