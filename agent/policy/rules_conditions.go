package policy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// FreshFor is the maximum age of a permission and of other devices' readings when a device acts,
// in monotonic time.
const FreshFor = 2 * time.Second

// look checks the conditions on sensors and other devices. It reads them now, so the caller
// must not hold Gate.mu.
func (g *Policy) look(ctx context.Context, d *device, p capabilities.Plan) error {
	if !p.Actuates() || releases(p) {
		return nil
	}
	for _, n := range d.limits.Requires {
		if err := g.holds(ctx, d, n); err != nil {
			return err
		}
	}
	return g.apart(ctx, d)
}

// holds returns nil if a reading of this moment fulfills the condition.
func (g *Policy) holds(ctx context.Context, d *device, n Condition) error {
	got, err := g.sense(ctx, n)
	no := func(format string, args ...any) error {
		return &Rejection{Device: d.name, Rule: "requires", Text: fmt.Sprintf("%s, and ", n) + fmt.Sprintf(format, args...)}
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return no("nobody knows: %v; look at %s", err, n.Device)
	case got != "":
		return no("%s", got)
	}
	return nil
}

// sense reads the sensor of a condition. It returns "" if the condition holds, else the state
// that it found.
func (g *Policy) sense(ctx context.Context, n Condition) (string, error) {
	dev, driver, err := g.other(n.Device)
	if err != nil {
		return "", err
	}
	if n.reads() {
		s, ok := driver.(drivers.SwitchReader)
		if !ok {
			return "", errors.New("it cannot tell whether it is on")
		}
		on, err := read(ctx, g, dev, s.On)
		if err != nil {
			return "", err
		}
		return n.switched(on), nil
	}
	s, ok := driver.(drivers.Sensor)
	if !ok {
		return "", errors.New("it measures nothing")
	}
	list, err := read(ctx, g, dev, s.Read)
	if err != nil {
		return "", err
	}
	return n.measured(list, g.now())
}

// other returns a device by its name, or an error if nothing has started it.
func (g *Policy) other(name string) (*device, drivers.Device, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.device(name)
	if d.driver == nil {
		return nil, nil, errors.New("it is not started")
	}
	return d, d.driver, g.notHung(d, capabilities.Plan{})
}

// read calls a reading method of another device.
func read[T any](ctx context.Context, g *Policy, d *device, f func(context.Context) (T, error)) (T, error) {
	return run(ctx, g, &call{dev: d, name: "read", limit: d.limits.Timeout, line: d.look}, f)
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

// needs describes in words the conditions that look will check.
func needs(l Limits, p capabilities.Plan) []string {
	if !p.Actuates() || releases(p) {
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
