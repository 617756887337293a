package device

import (
	"context"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/drivers"
)

// readColor returns the color that a light shows, "" if it does not report one.
func (s *Set) readColor(ctx context.Context, d *Handle) string {
	l, ok := d.Driver.(drivers.ColorReader)
	if !ok {
		return ""
	}
	c, known := ReadState(ctx, s, d, func(ctx context.Context, p *policy.Pass) (drivers.Color, error) { return p.Color(ctx, l) })
	if !known {
		return ""
	}
	return c.String()
}

// setColor stores the color that a light shows.
func (b *stateTable) setColor(s *deviceState, color string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.color = color
}

// color returns the last read color of a light, "" for none.
func (b *stateTable) color(device string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.seen[device]; s != nil {
		return s.color
	}
	return ""
}
