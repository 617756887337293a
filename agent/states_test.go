package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// deviceStates returns the states of the devices that the exchange knows.
func (h *harness) deviceStates() map[string]string {
	m := map[string]string{}
	for _, s := range h.executorInfo().States {
		m[s.Device] = s.State
	}
	return m
}

// wantStates has the exchange ask for the states of devices.
func (h *harness) wantStates() {
	h.close()
	cfg := exchange.DefaultConfig()
	cfg.States = true
	h.openExchange(cfg)
}

// The agent reports states if the exchange wants them: at once after a task, and soon after a
// person uses the wall switch. It never reports more than the device itself.
func TestStatesAreReported(t *testing.T) {
	withHarnessSetup(t, (*harness).wantStates, func(h *harness) {
		want := func(when, lamp, vacuum string) {
			t.Helper()
			if diff := cmp.Diff(map[string]string{"porch-lamp": lamp, "vacuum": vacuum, "fridge-cam": "unknown"}, h.deviceStates()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		h.advance(time.Second)
		want("after the start", "off", "unknown")
		ref := h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(time.Second)
		h.wantStatus(ref, mess.Completed)
		want("after a task", "on", "unknown")
		h.lamp.set(func(l *lamp) { l.on = false })
		h.advance(11 * time.Second)
		want("after somebody has switched it off by hand", "off", "unknown")
		h.lamp.set(func(l *lamp) { l.blind = true })
		h.advance(11 * time.Second)
		want("when it does not tell any more", "unknown", "unknown")
	})
}

// tintedLamp is a lamp with a color, or with a white, which has none.
type tintedLamp struct {
	lamp
	color atomic.Pointer[drivers.Color]
}

func (d *tintedLamp) SetColor(context.Context, drivers.Color) error { return nil }

func (d *tintedLamp) Color(context.Context) (drivers.Color, error) {
	if c := d.color.Load(); c != nil {
		return *c, nil
	}
	return drivers.Color{}, errors.New("it shows a white")
}

// The reports contain the color that a light shows.
func TestColorIsReported(t *testing.T) {
	light := &tintedLamp{}
	withHarnessSetup(t, func(h *harness) {
		h.wantStates()
		h.addDevice("strip", light, nil)
	}, func(h *harness) {
		want := func(when, color string) {
			t.Helper()
			for _, s := range h.executorInfo().States {
				if value, has := s.Extra.Get(mess.ColourField); (s.Device == "strip" && color != "") != has || has && value != color {
					t.Errorf("%s: %s has the color %v, want %q", when, s.Device, value, color)
				}
			}
		}
		h.advance(time.Second)
		want("with a white", "")
		light.color.Store(&drivers.Color{R: 255, G: 136})
		h.advance(time.Minute)
		want("with a color", "#ff8800")
		light.color.Store(nil)
		h.advance(time.Minute)
		want("with a white again", "")
	})
}

// hallThermometer is a sensor whose value follows an address, or that does not answer.
type hallThermometer struct {
	fakeDevice
	celsius float64
	err     error
}

func (d *hallThermometer) Read(context.Context) ([]drivers.Reading, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return []drivers.Reading{{Quantity: "temperature", Value: d.celsius, Unit: "°C"}}, d.err
}

func (d *hallThermometer) set(celsius float64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.celsius, d.err = celsius, err
}

// The reports contain the readings with their times, the name and the limits of each device.
func TestReadingsAreReported(t *testing.T) {
	meter := &hallThermometer{celsius: 21.5}
	withHarnessSetup(t, func(h *harness) {
		h.wantStates()
		h.addDevice("hall-meter", meter, nil)
	}, func(h *harness) {
		state := func(device string) (s mess.DeviceState) {
			for _, s := range h.executorInfo().States {
				if s.Device == device {
					return s
				}
			}
			t.Fatalf("there is no state of %s", device)
			return s
		}
		want := func(when string, s mess.DeviceState, celsius float64) {
			t.Helper()
			if len(s.Readings) != 1 || s.Readings[0].Quantity != "temperature" || s.Readings[0].Value != celsius || s.Readings[0].Unit != "°C" || s.AsOf == "" || s.Readings[0].AsOf != s.AsOf {
				t.Errorf("%s: %+v, want %v °C", when, s, celsius)
			}
		}
		h.advance(time.Second)
		want("after the start", state("hall-meter"), 21.5)
		meter.set(22, nil)
		h.advance(11 * time.Second)
		want("after a change", state("hall-meter"), 22)
		meter.set(99, errors.New("no answer"))
		h.advance(11 * time.Second)
		want("without an answer", state("hall-meter"), 22)
		h.send(requester, "request: {intent: turn on the porch light}")
		h.advance(time.Second)
		lamp := state("porch-lamp")
		if lamp.State != "on" || lamp.Name == "" || len(lamp.Readings) != 1 || lamp.Readings[0].Quantity != "on" || lamp.Readings[0].Value != 1 || lamp.Readings[0].Commanded != nil {
			t.Errorf("the lamp is %+v, want a reading of its switch", lamp)
		}
	})
}

// pushedPlug is a plug that notices when a person switches it.
type pushedPlug struct {
	fakeDevice
	drivers.Signal
	on    bool
	reads int
}

func (p *pushedPlug) Switch(_ context.Context, on bool) error { p.press(on); return nil }

// press switches it by hand.
func (p *pushedPlug) press(on bool) {
	p.mu.Lock()
	p.on = on
	p.mu.Unlock()
	p.Notify()
}

func (p *pushedPlug) On(context.Context) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	return p.on, nil
}

func (p *pushedPlug) readCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads
}

// A change that a device notices reaches the exchange soon, and a device that reports changes all
// the time costs few readings.
func TestNoticedChangesAreReportedSoon(t *testing.T) {
	var plugs []*pushedPlug
	withHarnessSetup(t, func(h *harness) {
		h.wantStates()
		for i := range 300 { // more than one follower has
			plugs = append(plugs, &pushedPlug{})
			h.addDevice(fmt.Sprint("plug-", i), plugs[i], nil)
		}
	}, func(h *harness) {
		h.advance(time.Second)
		for _, on := range []bool{true, false, true} {
			for _, p := range plugs {
				p.press(on)
			}
			h.advance(300 * time.Millisecond)
			for name, state := range h.deviceStates() {
				if want := map[bool]string{true: "on", false: "off"}[on]; strings.HasPrefix(name, "plug-") && state != want {
					t.Fatalf("%s is %s soon after its change, want %s", name, state, want)
				}
			}
			h.advance(2 * time.Second)
		}
		before := plugs[0].readCount()
		for range 1000 {
			plugs[0].press(true)
			h.advance(5 * time.Millisecond)
		}
		if n := plugs[0].readCount() - before; n > 100 {
			t.Errorf("1000 changes in 5 s cost %d readings", n)
		}
	})
}

// The agent reports no states to an exchange that does not want them.
func TestUnwantedStatesAreNotReported(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.advance(2 * time.Minute)
		if got := h.executorInfo().States; got != nil {
			t.Errorf("states are %v, want none", got)
		}
	})
}

// deadPlug is a plug that does not answer while the test wants that.
type deadPlug struct {
	fakeDevice
	dead *atomic.Bool
}

func (p *deadPlug) Switch(context.Context, bool) error { return nil }

func (p *deadPlug) On(ctx context.Context) (bool, error) {
	if p.dead.Load() {
		<-ctx.Done()
	}
	return false, ctx.Err()
}

// withDeadPlugs is a harness with many plugs that do not answer from the start, or later.
func withDeadPlugs(t *testing.T, n int, dead *atomic.Bool, test func(*harness)) {
	t.Helper()
	withHarnessSetup(t, func(h *harness) {
		h.wantStates()
		for i := range n {
			h.addDevice(fmt.Sprint("plug-", i), &deadPlug{dead: dead}, nil)
		}
	}, test)
}

// Devices that do not answer, however many, do not keep the states of others from the
// exchange.
func TestDeadDevicesDelayNoStates(t *testing.T) {
	var dead atomic.Bool
	dead.Store(true)
	withDeadPlugs(t, 100, &dead, func(h *harness) {
		h.advance(20 * time.Second) // now the agent knows which are slow
		for _, on := range []bool{true, false} {
			h.lamp.set(func(l *lamp) { l.on = on })
			h.advance(11 * time.Second)
			if got, want := h.deviceStates()["porch-lamp"], map[bool]string{true: "on", false: "off"}[on]; got != want {
				t.Errorf("the lamp is %s, want %s", got, want)
			}
		}
	})
}

// A state that was not readable for long counts as unknown, even if its next reading is still
// to come.
func TestOldStatesAreUnknown(t *testing.T) {
	var dead atomic.Bool
	withDeadPlugs(t, 600, &dead, func(h *harness) {
		h.advance(time.Second)
		count := func() (off int) {
			for _, state := range h.deviceStates() {
				if state == "off" {
					off++
				}
			}
			return off
		}
		if n := count(); n != 601 {
			t.Errorf("%d devices are off, want 601", n)
		}
		dead.Store(true)
		h.advance(4 * time.Minute)
		if n := count(); n != 1 {
			t.Errorf("%d devices are off, want the lamp", n)
		}
	})
}

// slowGate takes three seconds to open or to shut.
type slowGate struct {
	fakeDevice
	open bool
}

func (l *slowGate) Open(ctx context.Context) error  { return l.to(ctx, true) }
func (l *slowGate) Close(ctx context.Context) error { return l.to(ctx, false) }

func (l *slowGate) to(ctx context.Context, open bool) error {
	select {
	case <-time.After(3 * time.Second): // fake time
	case <-ctx.Done():
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = open
	return nil
}

func (l *slowGate) Opening(context.Context) (float64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return map[bool]float64{true: 40}[l.open], nil
}

// slowLock is a lock.
type slowLock struct {
	fakeDevice
	shot bool
}

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

// pausableMop is a vacuum with a pause that reports whether it stands still.
type pausableMop struct {
	*vacuum
	mu    sync.Mutex
	still bool
}

func (m *pausableMop) Pause(context.Context) error  { m.setStill(true); return nil }
func (m *pausableMop) Resume(context.Context) error { m.setStill(false); return nil }

func (m *pausableMop) setStill(still bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.still = still
}

func (m *pausableMop) Docked(context.Context) (bool, error) { return false, nil }

func (m *pausableMop) AtRest(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.still, nil
}

var (
	_ drivers.Opener     = (*slowGate)(nil)
	_ drivers.Locker     = (*slowLock)(nil)
	_ drivers.Pauser     = (*pausableMop)(nil)
	_ drivers.RestReader = (*pausableMop)(nil)
)

// Doors, locks and paused devices report their states, also during a motion.
func TestStatesOfCoversLocksAndPauses(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.wantStates()
		plan := func(c capabilities.Command) capabilities.Plan {
			return capabilities.Plan{Command: c, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort}
		}
		h.addDevice("gate", &slowGate{}, map[string]capabilities.Plan{"open": plan(capabilities.Open), "shut": plan(capabilities.Close)})
		h.addDevice("lock", &slowLock{}, map[string]capabilities.Plan{"lock": plan(capabilities.Lock), "unlock": plan(capabilities.Unlock)})
		mopping := plan(capabilities.Clean)
		mopping.Args = mess.Object{{Key: "areas", Value: []any{"stove", "sink"}}}
		h.addDevice("mop", &pausableMop{vacuum: newVacuum()}, map[string]capabilities.Plan{"mop": mopping, "pause": plan(capabilities.Pause), "go on": plan(capabilities.Resume)})
	}, func(h *harness) {
		is := func(device, want string) {
			t.Helper()
			if got := h.deviceStates()[device]; got != want {
				t.Errorf("%s is %s, want %s", device, got, want)
			}
		}
		h.advance(time.Second)
		is("gate", "closed")
		is("lock", "unlocked")
		for intent, is2 := range map[string][2]string{"open": {"opening", "open"}, "shut": {"closing", "closed"}} {
			h.send(requester, "request: {intent: "+intent+"}")
			h.advance(time.Second)
			is("gate", is2[0])
			h.advance(10 * time.Second)
			is("gate", is2[1])
		}
		h.send(requester, "request: {intent: lock}")
		h.advance(time.Second)
		is("lock", "locked")
		h.send(requester, "request: {intent: mop}")
		h.advance(time.Second)
		is("mop", "cleaning")
		h.send(requester, "request: {intent: pause}")
		h.advance(time.Second)
		is("mop", "paused")
		h.send(requester, "request: {intent: go on}")
		h.advance(time.Second)
		is("mop", "cleaning")
		h.advance(time.Minute)
		is("mop", "unknown") // neither in its dock nor still
		h.send(requester, "request: {intent: mop}")
		h.advance(time.Second)
		h.send(requester, "request: {intent: pause}")
		h.advance(time.Minute)
		is("mop", "idle")
	})
}
