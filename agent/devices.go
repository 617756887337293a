package agent

import (
	"context"
	"fmt"

	"github.com/messkit/messkit/agent/device"
)

// AddDevice starts a device, and adds it to those of the executor. The caller has given its limits
// to the safety policy, and gives it to the resolver afterwards. If the start fails, nothing
// changes. It returns the device with its state.
func (a *Agent) AddDevice(ctx context.Context, d device.Device) (device.Device, error) {
	if no := a.gate.StopRejection(); no != nil {
		return d, fmt.Errorf("no device starts during a stop; release the stop first: %w", no)
	}
	d, err := a.devices.Add(ctx, d)
	if err == nil {
		a.log.Info("device added", "device", d.Name)
		a.states.Changed()
	}
	return d, err
}

// KeepDevice keeps new tasks from a device until the caller calls release. The error names the task that
// uses the device or waits for it.
func (a *Agent) KeepDevice(name string) (release func(), err error) { return a.tasks.Keep(name) }

// RemoveDevice takes a device to its safe state, and removes it from those of the executor. The caller
// has it from KeepDevice. If the error is not nil, the device stays.
func (a *Agent) RemoveDevice(ctx context.Context, name string) error {
	if err := a.devices.Remove(ctx, name); err != nil {
		return err
	}
	a.log.Info("device removed", "device", name)
	a.states.Removed(name)
	return nil
}

// RestoreDevice adds a device that RemoveDevice has removed, even if it does not start: the next task
// that needs it tries again.
func (a *Agent) RestoreDevice(ctx context.Context, d device.Device) device.Device {
	d = a.devices.Restore(ctx, d)
	a.states.Changed()
	return d
}

// DescribeDevice gives a device the label, the area and the Hidden of d. Its state and its running task
// stay.
func (a *Agent) DescribeDevice(d device.Device) error {
	if err := a.devices.Describe(d); err != nil {
		return err
	}
	a.states.Changed()
	return nil
}

// ReportCapabilities registers the capabilities that the resolver has now. If the exchange is
// unreachable, the registration after the connection has them.
func (a *Agent) ReportCapabilities(ctx context.Context) error {
	m, acts := a.registration()
	ack, err := a.session.Send(ctx, m)
	if err != nil {
		return err
	}
	a.health.setReported(acts)
	a.applyStops(ack.Stops)
	return nil
}
