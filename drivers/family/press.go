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

// Press contains the functions of a device with one action.
type Press struct {
	Do   func(context.Context) error
	Last func(context.Context) (drivers.Pressed, error)
}

// presser implements drivers.Presser.
type presser struct{ d *Device }

// Press triggers the action.
func (p presser) Press(ctx context.Context) error { return does(ctx, p.d, p.d.verbs.Press.Do) }

// Pressed reads back the time of the last press.
func (p presser) Pressed(ctx context.Context) (drivers.Pressed, error) {
	return drivers.During(ctx, &p.d.Life, p.d.verbs.Press.Last)
}

// Unrepeatable implements drivers.Unrepeatable.
func (presser) Unrepeatable() {}
