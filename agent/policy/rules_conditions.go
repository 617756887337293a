package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// FreshFor is the maximum age of a permission and of other devices' readings when a device acts,
// in monotonic time.
const FreshFor = 2 * time.Second

// checkConditions checks the conditions on sensors and other devices. It reads them now, so the caller
// must not hold Policy.mu.
func (g *Policy) checkConditions(ctx context.Context, d *device, p capabilities.Plan) error {
	if !p.Actuates() || isDeEnergizing(p) {
		return nil
	}
	for _, n := range d.limits.Requires {
		if err := g.conditionHolds(ctx, d, n); err != nil {
			return err
		}
	}
	return g.noPeerOn(ctx, d)
}

// conditionHolds returns nil if a reading of this moment fulfills the condition.
func (g *Policy) conditionHolds(ctx context.Context, d *device, n settings.Condition) error {
	got, err := g.evaluateCondition(ctx, n)
	no := func(format string, args ...any) error {
		return &Rejection{Device: d.name, Rule: "requires", Text: fmt.Sprintf("%s, but ", n) + fmt.Sprintf(format, args...)}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return no("its state is unknown: %v; check %s", err, n.Device)
	case got != "":
		return no("%s", got)
	}
	return nil
}

// evaluateCondition reads the sensor of a condition. It returns "" if the condition holds, else the state
// that it found.
func (g *Policy) evaluateCondition(ctx context.Context, n settings.Condition) (string, error) {
	dev, driver, err := g.startedDevice(n.Device)
	if err != nil {
		return "", err
	}
	if n.UsesSwitchState() {
		s, ok := driver.(drivers.SwitchReader)
		if !ok {
			return "", errors.New("it cannot report whether it is on")
		}
		on, err := readOther(ctx, g, dev, s.On)
		if err != nil {
			return "", err
		}
		return n.CompareSwitch(on), nil
	}
	s, ok := driver.(drivers.Sensor)
	if !ok {
		return "", errors.New("it measures nothing")
	}
	list, err := readOther(ctx, g, dev, s.Read)
	if err != nil {
		return "", err
	}
	return n.CompareReadings(list, g.now())
}

// startedDevice returns a device by its name, or an error if nothing has started it.
func (g *Policy) startedDevice(name string) (*device, drivers.Device, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.device(name)
	if d.driver == nil {
		return nil, nil, errors.New("it has not started")
	}
	return d, d.driver, g.notQuarantined(d, capabilities.Plan{})
}

// readOther calls a reading method of another device.
func readOther[T any](ctx context.Context, g *Policy, d *device, f func(context.Context) (T, error)) (T, error) {
	return run(ctx, g, &call{dev: d, name: "read", limit: d.limits.Timeout, lock: d.readLock}, f)
}

// DependsOn returns the devices that the safety policy reads before a device acts.
func (g *Policy) DependsOn(device string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.device(device)
	var names []string
	for _, n := range d.limits.Requires {
		names = append(names, n.Device)
	}
	for _, other := range g.peers(d) {
		names = append(names, other.name)
	}
	return names
}

// conditionTexts describes in words the conditions that checkConditions will check.
func conditionTexts(l settings.Limits, p capabilities.Plan) []string {
	if !p.Actuates() || isDeEnergizing(p) {
		return nil
	}
	var list []string
	for _, n := range l.Requires {
		list = append(list, n.String())
	}
	for _, group := range l.Interlock {
		list = append(list, fmt.Sprintf("no other device of group %s may be on", group))
	}
	return list
}

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

// LocalDecisions holds the decisions of the local operator while the agent runs.
type LocalDecisions struct {
	LockedOut       map[string]string            // reason, by device
	Disarmed        map[capabilities.Risk]string // reason, by risk class
	DisarmedDevices map[string]string            // reason, by device
	ArmedDevices    map[string]bool              // devices that act although their class is disarmed
	// Unknown says why these decisions are unknown; "" if they are known. All devices count as
	// locked out while it is set.
	Unknown string
	// Blocked says why no device may act for now; "" if they may.
	Blocked string
}

// updateDecisions reads the local operator's decisions. It reads a file, so the caller must not hold
// Policy.mu: a hanging disk must not delay a stop.
func (g *Policy) updateDecisions() {
	now := g.readDecisions()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.decisions = now
}

// Lockout returns the reason of a device's lockout, "" if there is none. It reads no file.
func (g *Policy) Lockout(name string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	reason, locked := g.decisions.LockedOut[name]
	switch {
	case g.device(name).limits.Locked:
		return "the configuration locks it out"
	case g.decisions.Unknown != "":
		return "the lockouts are unknown: " + g.decisions.Unknown
	case locked:
		return cmp.Or(reason, "by hand")
	}
	return ""
}

func (g *Policy) notLockedOut(d *device, p capabilities.Plan) error {
	if !p.Actuates() {
		return nil
	}
	no := func(text string) error { return &Rejection{Device: d.name, Rule: "locked", Text: text} }
	reason, locked := g.decisions.LockedOut[d.name]
	switch {
	case d.limits.Locked:
		return no("the configuration locks it out (locked: true)")
	case g.decisions.Blocked != "":
		return no(fmt.Sprintf("no device acts now: %s; check the disk", g.decisions.Blocked))
	case g.decisions.Unknown != "":
		return no(fmt.Sprintf("the lockouts are unknown (%s); check the devices, and then run on the host: messkit arm --reset", g.decisions.Unknown))
	case locked && reason != "":
		return no(fmt.Sprintf("a local operator has locked it out (%s); to release it, run on the host: messkit unlock %s", reason, d.name))
	case locked:
		return no(fmt.Sprintf("a local operator has locked it out; to release it, run on the host: messkit unlock %s", d.name))
	}
	return nil
}

// notDisarmed rejects a plan for a disarmed class or device, except for switching off.
func (g *Policy) notDisarmed(d *device, p capabilities.Plan) error {
	if !p.Actuates() || isDeEnergizing(p) {
		return nil
	}
	no := func(what, reason, how string) error {
		return &Rejection{Device: d.name, Rule: "disarmed", Text: fmt.Sprintf("%s (%s); check the devices, and then run on the host: messkit arm %s", what, reason, how)}
	}
	if reason, is := g.decisions.DisarmedDevices[d.name]; is {
		return no("it is disarmed", reason, d.name)
	}
	class, reason := g.disarmedClass(p.Risk)
	if class == "" || g.decisions.ArmedDevices[d.name] {
		return nil
	}
	return no(fmt.Sprintf("risk class %s is disarmed", class), reason, string(class))
}

// disarmedClass returns the disarmed class that blocks a risk, and its reason; "" if none does. An
// unknown class counts as every class.
func (g *Policy) disarmedClass(risk capabilities.Risk) (class capabilities.Risk, reason string) {
	if reason, is := g.decisions.Disarmed[risk]; is {
		return risk, reason
	}
	if !risk.Known() {
		for _, class := range slices.Sorted(maps.Keys(g.decisions.Disarmed)) {
			return class, g.decisions.Disarmed[class]
		}
	}
	return "", ""
}
