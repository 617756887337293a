package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/camera"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
)

// deviceTime is how long one device may take to be looked at. A camera that has
// to warm up takes some seconds.
const deviceTime = 15 * time.Second

// checkDevices uses every device without changing anything. Those that a running
// messkit has are left to it.
func (c *config) checkDevices(ctx context.Context, k *client) []finding {
	if c.runs() {
		return c.askRunning(ctx, k)
	}
	found := make([]finding, len(c.home.devices))
	var g errgroup.Group
	for i, d := range c.home.devices {
		g.Go(func() error {
			found[i] = d.examine(ctx)
			return nil
		})
	}
	_ = g.Wait() // it has none: each says what is wrong with it
	return found
}

// runs reports whether a messkit has the devices of this configuration.
func (c *config) runs() bool {
	name := filepath.Join(c.Agent.Data, "run.lock")
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	lock, err := journal.Lock(name)
	if err != nil {
		return errors.Is(err, journal.ErrInUse)
	}
	_ = lock.Close() // nothing was written
	return false
}

// askRunning asks the messkit that has the devices how they are.
func (c *config) askRunning(ctx context.Context, k *client) []finding {
	found := []finding{{What: "devices", OK: true, Says: "messkit runs and has them; nothing here touches them"}}
	x, err := k.open()
	if err != nil || c.Exchange == nil {
		return found
	}
	ctx, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	var s statusJSON
	if err := x.Status(ctx, &s); err != nil || s.Executor == nil {
		return found
	}
	for _, d := range s.Executor.Devices {
		f := finding{What: d.Name, OK: d.Started, Says: "ready"}
		if !d.Started {
			f.Says = "not started: its log says why; if a stop holds, messkit clear lets it start"
		}
		found = append(found, f)
	}
	return found
}

// examine looks at one device, for deviceTime at most.
func (d device) examine(ctx context.Context) finding {
	ctx, cancel := context.WithTimeout(ctx, deviceTime)
	defer cancel()
	answer := make(chan finding, 1)
	go func() { answer <- d.use(ctx) }() // a driver that hangs keeps nobody
	select {
	case f := <-answer:
		return f
	case <-ctx.Done():
		return finding{What: d.name, Says: fmt.Sprintf("it has not answered within %v; is it switched on and connected?", deviceTime)}
	}
}

// use uses a device as far as nothing can come of it.
func (d device) use(ctx context.Context) finding {
	says, err := "", error(nil)
	switch v := d.dev.(type) {
	case drivers.Inspector: // who holds a line sets it
		says, err = v.Inspect(ctx)
	default:
		if d.harmless() {
			says, err = d.started(ctx)
			break
		}
		says, err = d.asHalted(ctx)
	}
	if strange, ok := errors.AsType[doubt](err); ok {
		return finding{What: d.name, OK: true, Note: true, Says: string(strange)}
	}
	if err != nil {
		return finding{What: d.name, Says: strings.TrimPrefix(err.Error(), d.name+": ")}
	}
	if says == "" {
		return finding{What: d.name, OK: true, Note: true, Says: "was not used: there is nothing that can be read from it without setting it"}
	}
	return finding{What: d.name, OK: true, Says: says}
}

// harmless reports whether neither its start nor its end changes anything: it
// only looks, or is left as it is.
func (d device) harmless() bool {
	if l, ok := d.dev.(drivers.Levels); ok {
		initial, safe := l.Levels()
		return initial == "keep" && safe == "keep"
	}
	for _, c := range agent.Commands(d.dev) {
		if (capabilities.Plan{Command: c, Effect: capabilities.Query}).Actuates() {
			return false
		}
	}
	return true
}

// started starts a harmless device, uses it, and ends it.
func (d device) started(ctx context.Context) (says string, err error) {
	if err := d.dev.Start(); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, d.dev.Halt()) }()
	switch v := d.dev.(type) {
	case drivers.Photographer:
		return d.look(ctx, v)
	case drivers.Sensor:
		readings, err := v.Read(ctx)
		words := make([]string, len(readings))
		for i, r := range readings {
			words[i] = strings.TrimSpace(fmt.Sprintf("%s %v %s", r.Quantity, r.Value, r.Unit))
		}
		return "reads " + strings.Join(words, ", "), err
	case drivers.SwitchReader:
		on, err := v.On(ctx)
		return map[bool]string{true: "is on", false: "is off"}[on], err
	case drivers.Observer:
		_, err := v.Observe(ctx)
		return "answers", err
	}
	return "starts", nil
}

// look takes a picture as a request does, and throws it away.
func (d device) look(ctx context.Context, c drivers.Photographer) (string, error) {
	room := camera.NewRoom(picture.Fit, time.Now)
	room.Know(d.name, d.gone)
	shot, err := room.Shoot(ctx, d.name, picture.Limits{}, c.Photo)
	if err != nil {
		return "", err
	}
	says := fmt.Sprintf("takes pictures (%d KB)", (len(shot.Data)+1023)>>10) // raw ones of a sensor
	if info, err := picture.Inspect(shot.Data); err == nil {
		says = fmt.Sprintf("takes pictures of %d by %d pixels", info.Width, info.Height)
	}
	if shot.Unseen != "" {
		return "", doubt(says + ", and nothing can be seen on them: " + shot.Unseen)
	}
	return says, nil
}

// doubt is what somebody should look at, and may be as it is to be: a dark room.
type doubt string

func (d doubt) Error() string { return string(d) }

// asHalted asks a device that acts for what it tells while it is halted; "" where
// it tells nothing.
func (d device) asHalted(ctx context.Context) (string, error) {
	if r, ok := d.dev.(drivers.RestReader); ok {
		still, err := r.AtRest(ctx)
		return map[bool]string{true: "answers, and stands still", false: "answers, and moves"}[still], err
	}
	s, ok := d.dev.(drivers.SafeReader)
	if !ok {
		return "", nil
	}
	if l, ok := d.dev.(drivers.Levels); ok {
		if _, safe := l.Levels(); safe == "keep" {
			return "", nil // then it is safe as it is, and nobody asks it
		}
	}
	safe, err := s.Safe(ctx)
	return map[bool]string{true: "answers, and is in its safe state", false: "answers, and is not in its safe state"}[safe], err
}
