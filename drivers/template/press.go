package template

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
	Last func(context.Context) (drivers.PressState, error)
}

// presser implements drivers.Presser.
type presser struct{ d *Device }

// Press triggers the action.
func (p presser) Press(ctx context.Context) error { return p.d.Do(ctx, p.d.verbs.Press.Do) }

// PressState reads back the time of the last press.
func (p presser) PressState(ctx context.Context) (drivers.PressState, error) {
	return drivers.DoValue(ctx, &p.d.Base, p.d.verbs.Press.Last)
}

// Unrepeatable implements drivers.Unrepeatable.
func (presser) Unrepeatable() {}
