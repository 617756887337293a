package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
)

// device is a device and whether it is open.
type device struct {
	Device
	mu      sync.Mutex
	started bool
}

// open starts a device that is not started. One that fails is tried again when
// it is next needed: it may have been plugged in meanwhile.
func (a *Agent) open(ctx context.Context, d *device) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.started {
		return nil
	}
	if err := a.gate.Start(ctx, d.Driver, d.Name); err != nil {
		return fmt.Errorf("%s cannot be started: %w", d.Name, err)
	}
	d.started = true
	return nil
}

// openAll starts every device. This comes before any network, since a start
// takes the outputs to their initial state.
func (a *Agent) openAll(ctx context.Context) {
	var g errgroup.Group
	for _, d := range a.devices {
		g.Go(func() error {
			if err := a.open(ctx, d); err != nil {
				a.log.Warn("device not started", "device", d.Name, "err", err)
			}
			return nil
		})
	}
	_ = g.Wait() // each has said its own
}

// haltAll takes every device to its safe state, those too that did not start.
func (a *Agent) haltAll(ctx context.Context) error {
	var g errgroup.Group
	var mu sync.Mutex
	var errs []error
	for _, d := range a.devices {
		g.Go(func() error {
			if err := a.gate.Halt(ctx, d.Driver, d.Name); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, fmt.Errorf("halt %s: %w", d.Name, err))
			}
			return nil
		})
	}
	return errors.Join(append(errs, g.Wait())...)
}
