package gate

import (
	"context"

	"github.com/messkit/messkit/drivers"
)

// Start opens a device, within the time of one call.
func (g *Gate) Start(ctx context.Context, d drivers.Device, name string) error {
	return g.life(ctx, name, "start", d.Start)
}

// Halt takes a device to its safe state, within the time of one call, whatever
// else is going on with it.
func (g *Gate) Halt(ctx context.Context, d drivers.Device, name string) error {
	return g.life(ctx, name, "halt", d.Halt)
}

func (g *Gate) life(ctx context.Context, name, what string, f func() error) error {
	g.mu.Lock()
	d := g.device(name)
	g.mu.Unlock()
	c := &call{dev: d, name: what, limit: d.limits.Timeout, line: make(chan struct{}, 1)}
	_, err := run(ctx, g, c, func(context.Context) (struct{}, error) { return struct{}{}, f() })
	return err
}
