package policy

import (
	"context"
	"errors"
	"fmt"
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
