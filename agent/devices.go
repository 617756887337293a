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

// DescribeDevice gives a device another label and another area. Its state and its running task
// stay.
func (a *Agent) DescribeDevice(name, label, area string) error {
	if err := a.devices.Describe(name, label, area); err != nil {
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
