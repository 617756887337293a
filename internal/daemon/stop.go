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

// ClearStop ends the stop in a folder, and also one that the running program holds in memory
// alone.
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

// NotSafe returns an error that names the devices not known to be safe, with the reasons.
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

// ClearWithin is the longest time that `messkit clear` waits for drivers that have not
// answered the stop. After it they count as unsafe.
const ClearWithin = 10 * time.Second

// AwaitSafe waits until every driver has answered the stop in a folder, or for a time, and
// returns the devices that are not safe. Without a running program it returns the result of
// the last one.
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

// stopDevices returns the results of the devices in the present stop, and whether the program
// that wrote them runs.
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

// newLatch makes the stop latch, the only way to stop this executor.
func newLatch(c *config.Config, g *policy.Policy, log *slog.Logger) *stop.Latch {
	return stop.Open(stop.Config{
		Dir: config.StopFolder(c.Agent.Data), Devices: func() []stop.Device { return stopReport(g) }, Input: stop.NewInput(c.Agent.StopLine),
	}, g, time.Now, log)
}

// stopReport returns the results of the devices in the last stop.
func stopReport(g *policy.Policy) []stop.Device {
	var list []stop.Device
	for _, s := range g.SafeResults() {
		list = append(list, stop.Device{
			Device: s.Device, State: string(s.State), Evidence: string(s.Evidence), TookMS: s.Took.Milliseconds(), Err: s.Err,
		})
	}
	return list
}
