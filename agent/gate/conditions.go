package gate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Fresh is how old a permission and what was seen of other devices may be when
// the world is touched, in monotonic time.
const Fresh = 2 * time.Second

// look tells whether the sensors and the other devices allow it. They are read
// now, and so Gate.mu is not held.
func (g *Gate) look(ctx context.Context, d *device, p capabilities.Plan) error {
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

// holds returns nil if a condition is fulfilled now, and is known to be.
func (g *Gate) holds(ctx context.Context, d *device, n Need) error {
	got, err := g.sense(ctx, n)
	no := func(format string, args ...any) error {
		return &Refusal{Device: d.name, Rule: "requires", Text: fmt.Sprintf("%s, and ", n) + fmt.Sprintf(format, args...)}
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

// sense reads what a condition is about: "" if it holds, else what is instead.
func (g *Gate) sense(ctx context.Context, n Need) (string, error) {
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

// other is a device by its name, if it has been started.
func (g *Gate) other(name string) (*device, drivers.Device, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.device(name)
	if d.driver == nil {
		return nil, nil, errors.New("it is not started")
	}
	return d, d.driver, g.notHung(d, capabilities.Plan{})
}

// read calls a verb of another device that reads.
func read[T any](ctx context.Context, g *Gate, d *device, f func(context.Context) (T, error)) (T, error) {
	return run(ctx, g, &call{dev: d, name: "read", limit: d.limits.Timeout, line: d.look}, f)
}

// Needs are the devices that are looked at before a device acts.
func (g *Gate) Needs(device string) []string {
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

// needs says in words what look will look at.
func needs(l Device, p capabilities.Plan) []string {
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
