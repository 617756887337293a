package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/config"
)

// ClearStop ends the stop of a folder, and what the program that runs there holds in
// memory alone.
func ClearStop(dir, by string) ([]stop.Order, error) {
	orders, err := stop.Reset(dir, by, time.Now())
	if h, unasked := stop.ResetUnsaved(dir, by); unasked == nil && len(h.Cleared) > 0 {
		orders = append(orders, h.Cleared...)
		if errors.Is(err, stop.ErrNotStopped) {
			err = nil
		}
	}
	return orders, err
}

// NotSafe names devices that are not known to be safe, and why.
func NotSafe(devices []stop.Device) error {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = output.Printable(d.Device)
		switch {
		case d.State == string(policy.StatePending):
			names[i] += " (its driver has not answered yet)"
		case d.Err != "":
			names[i] += " (" + output.Printable(d.Err) + ")"
		}
	}
	return fmt.Errorf("not known to be safe: %s", strings.Join(names, "; "))
}

// ClearWithin is how long drivers that have not answered to a stop are waited for
// before it is cleared; after that time they count as unsafe by themselves.
const ClearWithin = 10 * time.Second

// AwaitSafe are the devices that a stop which holds in a folder has not made safe, once
// every driver has answered, or after a time. Where no program runs, it is what the
// last one has written; a folder that says nothing names none.
func AwaitSafe(ctx context.Context, dir string, within time.Duration) []stop.Device {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		devices, runs := stopDevices(dir)
		devices = slices.DeleteFunc(devices, func(d stop.Device) bool { return d.State == string(policy.StateSafe) })
		if !runs || ctx.Err() != nil || !slices.ContainsFunc(devices, func(d stop.Device) bool { return d.State == string(policy.StatePending) }) {
			return devices
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// stopDevices is what the devices have done in a stop that holds, and whether the
// program runs that says so.
func stopDevices(dir string) (devices []stop.Device, runs bool) {
	if h, err := stop.Query(dir); err == nil {
		if len(h.Orders) == 0 {
			return nil, true
		}
		return h.Devices, true
	}
	r, err := stop.ReadReport(dir)
	if err != nil || !slices.ContainsFunc(stop.ReadOrders(dir), func(o stop.Order) bool { return r.Covers(o.ID) }) {
		return nil, false
	}
	return r.Devices, false
}

// newStopper is the one way to stop this executor.
func newStopper(c *config.Config, g *policy.Policy, log *slog.Logger) *stop.Latch {
	return stop.Open(stop.Config{
		Dir: config.StopFolder(c.Agent.Data), Devices: func() []stop.Device { return stopReport(g) }, Input: stop.NewInput(c.Agent.StopLine),
	}, g, time.Now, log)
}

// stopReport is what the devices of a gate did in the last stop.
func stopReport(g *policy.Policy) []stop.Device {
	var list []stop.Device
	for _, s := range g.SafeResults() {
		list = append(list, stop.Device{
			Device: s.Device, State: string(s.State), Evidence: string(s.Evidence), TookMS: s.Took.Milliseconds(), Err: s.Err,
		})
	}
	return list
}
