package agent_test

import (
	"context"
	"fmt"
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

// states returns the states of the devices that the exchange knows.
func (h *house) states() map[string]string {
	m := map[string]string{}
	for _, s := range h.standing().States {
		m[s.Device] = s.State
	}
	return m
}

// The agent reports states if the exchange wants them: at once after a task, and soon after a
// person uses the wall switch. It never reports more than the device itself.
func TestStatesAreReported(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.close()
		cfg := exchange.DefaultConfig()
		cfg.States = true
		h.openExchange(cfg)
	}, func(h *house) {
		want := func(when, lamp, vacuum string) {
			t.Helper()
			if diff := cmp.Diff(map[string]string{"porch-lamp": lamp, "vacuum": vacuum}, h.states()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		want("after the start", "off", "unknown")
		ref := h.says(claude, "request: {intent: turn on the porch light}")
		h.after(time.Second)
		h.is(ref, mess.Completed)
		want("after a task", "on", "unknown")
		h.lamp.set(func(l *lamp) { l.on = false })
		h.after(11 * time.Second)
		want("after somebody has switched it off by hand", "off", "unknown")
		h.lamp.set(func(l *lamp) { l.blind = true })
		h.after(11 * time.Second)
		want("when it does not tell any more", "unknown", "unknown")
	})
}

// The agent reports no states to an exchange that does not want them.
func TestUnwantedStatesAreNotReported(t *testing.T) {
	inHouse(t, func(h *house) {
		h.after(2 * time.Minute)
		if got := h.standing().States; got != nil {
			t.Errorf("told: %v", got)
		}
	})
}

// deadPlug is a plug that does not answer while its house says so.
type deadPlug struct {
	part
	dead *atomic.Bool
}

func (p *deadPlug) Switch(context.Context, bool) error { return nil }

func (p *deadPlug) On(ctx context.Context) (bool, error) {
	if p.dead.Load() {
		<-ctx.Done()
	}
	return false, ctx.Err()
}

// inHouseOfDead is a house with many plugs that do not answer from the start, or later.
func inHouseOfDead(t *testing.T, n int, dead *atomic.Bool, story func(*house)) {
	t.Helper()
	inHouseWith(t, func(h *house) {
		h.close()
		cfg := exchange.DefaultConfig()
		cfg.States = true
		h.openExchange(cfg)
		for i := range n {
			h.with(fmt.Sprint("plug-", i), &deadPlug{dead: dead}, nil)
		}
	}, story)
}

// Devices that do not answer, however many, do not keep the states of others from the
// exchange.
func TestDeadDevicesDelayNoStates(t *testing.T) {
	var dead atomic.Bool
	dead.Store(true)
	inHouseOfDead(t, 100, &dead, func(h *house) {
		h.after(20 * time.Second) // now the agent knows which are slow
		for _, on := range []bool{true, false} {
			h.lamp.set(func(l *lamp) { l.on = on })
			h.after(11 * time.Second)
			if got, want := h.states()["porch-lamp"], map[bool]string{true: "on", false: "off"}[on]; got != want {
				t.Errorf("the lamp is %s, want %s", got, want)
			}
		}
	})
}

// A state that was not readable for long counts as unknown, even if its next reading is still
// to come.
func TestOldStatesAreUnknown(t *testing.T) {
	var dead atomic.Bool
	inHouseOfDead(t, 600, &dead, func(h *house) {
		h.after(time.Second)
		count := func() (off int) {
			for _, state := range h.states() {
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
		h.after(4 * time.Minute)
		if n := count(); n != 1 {
			t.Errorf("%d devices are off, want the lamp", n)
		}
	})
}

// leisurely takes three seconds to open or to shut.
type leisurely struct {
	part
	open bool
}

func (l *leisurely) Open(ctx context.Context) error { return l.to(ctx, true) }
func (l *leisurely) Shut(ctx context.Context) error { return l.to(ctx, false) }

func (l *leisurely) to(ctx context.Context, open bool) error {
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

func (l *leisurely) Opening(context.Context) (float64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return map[bool]float64{true: 40}[l.open], nil
}

// bolt is a lock.
type bolt struct {
	part
	shot bool
}

func (b *bolt) Lock(context.Context) error   { return b.set(true) }
func (b *bolt) Unlock(context.Context) error { return b.set(false) }

func (b *bolt) set(shot bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shot = shot
	return nil
}

func (b *bolt) Locked(context.Context) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shot, nil
}

// mop is a vacuum with a pause that reports whether it stands still.
type mop struct {
	*vacuum
	mu    sync.Mutex
	still bool
}

func (m *mop) Pause(context.Context) error  { m.stands(true); return nil }
func (m *mop) Resume(context.Context) error { m.stands(false); return nil }

func (m *mop) stands(still bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.still = still
}

func (m *mop) Docked(context.Context) (bool, error) { return false, nil }

func (m *mop) AtRest(context.Context) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.still, nil
}

var (
	_ drivers.Opener     = (*leisurely)(nil)
	_ drivers.Locker     = (*bolt)(nil)
	_ drivers.Pauser     = (*mop)(nil)
	_ drivers.RestReader = (*mop)(nil)
)

// Doors, locks and paused devices report their states, also during a motion.
func TestStatesOfCoversLocksAndPauses(t *testing.T) {
	inHouseWith(t, func(h *house) {
		h.close()
		cfg := exchange.DefaultConfig()
		cfg.States = true
		h.openExchange(cfg)
		plan := func(c capabilities.Command) capabilities.Plan {
			return capabilities.Plan{Command: c, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort}
		}
		h.with("gate", &leisurely{}, map[string]capabilities.Plan{"open": plan(capabilities.Open), "shut": plan(capabilities.Shut)})
		h.with("lock", &bolt{}, map[string]capabilities.Plan{"lock": plan(capabilities.Lock), "unlock": plan(capabilities.Unlock)})
		mopping := plan(capabilities.Clean)
		mopping.Args = mess.Object{{Key: "areas", Value: []any{"stove", "sink"}}}
		h.with("mop", &mop{vacuum: newVacuum()}, map[string]capabilities.Plan{"mop": mopping, "pause": plan(capabilities.Pause), "go on": plan(capabilities.Resume)})
	}, func(h *house) {
		is := func(device, want string) {
			t.Helper()
			if got := h.states()[device]; got != want {
				t.Errorf("%s is %s, want %s", device, got, want)
			}
		}
		is("gate", "closed")
		is("lock", "unlocked")
		for intent, is2 := range map[string][2]string{"open": {"opening", "open"}, "shut": {"closing", "closed"}} {
			h.says(claude, "request: {intent: "+intent+"}")
			h.after(time.Second)
			is("gate", is2[0])
			h.after(10 * time.Second)
			is("gate", is2[1])
		}
		h.says(claude, "request: {intent: lock}")
		h.after(time.Second)
		is("lock", "locked")
		h.says(claude, "request: {intent: mop}")
		h.after(time.Second)
		is("mop", "cleaning")
		h.says(claude, "request: {intent: pause}")
		h.after(time.Second)
		is("mop", "paused")
		h.says(claude, "request: {intent: go on}")
		h.after(time.Second)
		is("mop", "cleaning")
		h.after(time.Minute)
		is("mop", "unknown") // neither in its dock nor still
		h.says(claude, "request: {intent: mop}")
		h.after(time.Second)
		h.says(claude, "request: {intent: pause}")
		h.after(time.Minute)
		is("mop", "idle")
	})
}
