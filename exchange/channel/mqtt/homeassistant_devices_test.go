package mqtt_test

import (
	"context"
	"strings"
	"sync"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/drivers"
)

// plug is a device that keeps its own log.
type plug struct {
	mu  sync.Mutex
	on  bool
	log []string
}

func (r *plug) Name() string                 { return "plug" }
func (r *plug) SetName(string)               {}
func (r *plug) Connection() gobot.Connection { return nil }
func (r *plug) Start() error                 { return nil }
func (r *plug) Halt() error                  { r.set(false); return nil }

func (r *plug) set(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.on = on
}

func (r *plug) Switch(_ context.Context, on bool) error {
	r.set(on)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, map[bool]string{true: "on", false: "off"}[on])
	return nil
}

func (r *plug) On(context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.on, nil
}

func (r *plug) did() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, " ")
}

// blind is a relay without state readback.
type blind struct{ plug *plug }

func (b blind) Name() string                              { return "blind" }
func (b blind) SetName(string)                            {}
func (b blind) Connection() gobot.Connection              { return nil }
func (b blind) Start() error                              { return nil }
func (b blind) Halt() error                               { return nil }
func (b blind) Switch(ctx context.Context, on bool) error { return b.plug.Switch(ctx, on) }
func (b *camera) Name() string                            { return "camera" }
func (b *camera) SetName(string)                          {}
func (b *camera) Connection() gobot.Connection            { return nil }
func (b *camera) Start() error                            { return nil }
func (b *camera) Halt() error                             { return nil }
func (b *camera) Photo(context.Context) (drivers.Photo, error) {
	return drivers.Photo{Data: []byte("\xff\xd8\xff the fridge"), MIME: "image/jpeg", CapturedAt: time.Now()}, nil
}

type camera struct{}

// robot cleans until it gets a stop.
type robot struct {
	camera
	mu     sync.Mutex
	docked bool
	still  bool
	stop   chan struct{}
	log    []string
}

func (r *robot) Clean(ctx context.Context, _ []string, _ func(drivers.Progress)) (drivers.Outcome, error) {
	r.is(false, false, "clean")
	select {
	case <-r.stop:
		return drivers.Outcome{}, drivers.ErrStopped
	case <-ctx.Done():
		return drivers.Outcome{}, ctx.Err()
	}
}

func (r *robot) is(docked, still bool, did string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.docked, r.still, r.log = docked, still, append(r.log, did)
}

func (r *robot) did() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.log, " ")
}

func (r *robot) Dock(context.Context) error   { r.is(true, true, "dock"); return nil }
func (r *robot) Pause(context.Context) error  { r.is(false, true, "pause"); return nil }
func (r *robot) Resume(context.Context) error { r.is(false, false, "resume"); return nil }

func (r *robot) Stop(context.Context) (string, error) {
	r.is(false, true, "stop")
	close(r.stop)
	return "", nil
}

// Photo hides the camera's: a robot has no eye.
func (r *robot) Photo() {}

func (r *robot) Docked(context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.docked, nil
}

func (r *robot) AtRest(context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.still, nil
}

// shutter opens at once. If slow, it opens to 40 percent, and then waits for a stop.
type shutter struct {
	camera
	slow bool
	mu   sync.Mutex
	open float64
	log  []string
}

func (s *shutter) Photo() {}

func (s *shutter) Open(ctx context.Context) error {
	s.to(map[bool]float64{true: 40, false: 100}[s.slow], "open")
	if s.slow {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (s *shutter) Close(context.Context) error { s.to(0, "shut"); return nil }

func (s *shutter) to(percent float64, did string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.log = percent, append(s.log, did)
}

func (s *shutter) did() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, " ")
}

func (s *shutter) Opening(context.Context) (float64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open, nil
}

// slowLock is a lock.
type slowLock struct {
	camera
	mu   sync.Mutex
	shot bool
}

func (b *slowLock) Photo()                       {}
func (b *slowLock) Lock(context.Context) error   { return b.set(true) }
func (b *slowLock) Unlock(context.Context) error { return b.set(false) }

func (b *slowLock) set(shot bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shot = shot
	return nil
}

func (b *slowLock) Locked(context.Context) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shot, nil
}

// devices of the board that Home Assistant finds.
type devices struct {
	lamp, heater, garage, bell *plug
	robot                      *robot
	door, blinds               *shutter
	bolt                       *slowLock
}

// runDevices runs a real agent over a way to the exchange.
func (h *harness) runDevices(id string, x agent.Exchange) *devices {
	h.Helper()
	d := &devices{&plug{}, &plug{}, &plug{}, &plug{}, &robot{docked: true, stop: make(chan struct{})}, &shutter{}, &shutter{slow: true}, &slowLock{}}
	thing := func(name, class string, risk capabilities.Risk, dev drivers.Device) resolver.Device {
		return resolver.Device{Device: capabilities.Device{Name: name, Class: class, Risk: risk}, Driver: dev}
	}
	things := []resolver.Device{
		thing("porch-light", "light", "", d.lamp), thing("heater", "plug", "", d.heater), thing("garage", "light", capabilities.RiskAccess, d.garage),
		thing("bell", "plug", capabilities.RiskComfort, blind{d.bell}), thing("fridge-camera", "camera", "", &camera{}), thing("robot", "vacuum", capabilities.RiskComfort, d.robot),
		thing("garage-door", "garage-door", "", d.door), thing("blinds", "blind", "", d.blinds), thing("front-door", "lock", "", d.bolt),
	}
	cfg := settings.DefaultConfig()
	cfg.Confirm = map[capabilities.Risk]settings.Confirm{capabilities.RiskAppliance: settings.ConfirmRequester}
	cfg.Risks = map[string]capabilities.Risk{"garage": capabilities.RiskAccess}
	var list []device.Device
	for _, t := range things {
		list = append(list, device.Device{Name: t.Name, Driver: t.Driver})
	}
	j, err := journal.Open(h.TempDir())
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = j.Close() })
	a := agent.DefaultConfig()
	a.ID, a.Heartbeat, a.Fit = id, time.Second, nil
	ag := agent.New(a, x, resolver.New(catalog.Default(), things), list, policy.New(cfg, time.Now, quiet), j, time.Now, quiet)
	runUntilStopped(h.T, ag.Run)
	return d
}
