package policy

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// switchLevel records the last known switch state of a device.
type switchLevel int

const (
	levelUnknown switchLevel = iota // no command has switched it yet
	levelOn
	levelOff
)

// sharedGroup returns the first group that two devices have in common, "" if none.
func sharedGroup(a, b *device) string {
	for _, group := range a.limits.Interlock {
		if slices.Contains(b.limits.Interlock, group) {
			return group
		}
	}
	return ""
}

// noPeerActs rejects an act while another device of the same group acts. A pass takes the
// group when it begins, so of two simultaneous tasks one is first.
func (g *Policy) noPeerActs(d *device, p capabilities.Plan) error {
	if !p.Actuates() || isDeEnergizing(p) {
		return nil
	}
	for _, other := range g.peers(d) {
		if other.active {
			return interlockRejection(d, other, "acts: "+other.holder)
		}
	}
	return nil
}

// peers returns the other devices of its groups, by name. The caller holds Policy.mu.
func (g *Policy) peers(d *device) []*device {
	if len(d.limits.Interlock) == 0 {
		return nil
	}
	for name := range g.cfg.Devices {
		g.device(name) // so that unused devices count, too
	}
	var list []*device
	for _, name := range slices.Sorted(maps.Keys(g.devices)) {
		if other := g.devices[name]; other != d && sharedGroup(d, other) != "" {
			list = append(list, other)
		}
	}
	return list
}

// noPeerOn returns nil if no other device of its groups is on.
func (g *Policy) noPeerOn(ctx context.Context, d *device) error {
	g.mu.Lock()
	peers := g.peers(d)
	g.mu.Unlock()
	for _, other := range peers {
		on, err := g.isDeviceOn(ctx, other)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return interlockRejection(d, other, fmt.Sprintf("may be on (%v)", err))
		case on:
			return interlockRejection(d, other, "is on")
		}
	}
	return nil
}

func interlockRejection(d, other *device, is string) error {
	return &Rejection{Device: d.name, Rule: "interlock", Text: fmt.Sprintf(
		"it never acts with %s at the same time (group %s), which %s; switch %s off first", other.name, sharedGroup(d, other), is, other.name)}
}

// isDeviceOn reports whether a device is on. It reads the device if it can, because people may
// switch it manually; otherwise the last command counts.
func (g *Policy) isDeviceOn(ctx context.Context, d *device) (on bool, err error) {
	d, driver, err := g.startedDevice(d.name)
	if err != nil {
		return false, err
	}
	if r, ok := driver.(drivers.SwitchReader); ok {
		return readOther(ctx, g, d, r.On)
	}
	if _, ok := driver.(drivers.Switch); !ok {
		return false, nil // it has no state of being on
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if d.level == levelUnknown {
		return false, fmt.Errorf("it cannot report its state, and messkit has not switched it since the start")
	}
	return d.level == levelOn, nil
}
