package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// roomy is a vacuum with a slow answer about its rooms, or none.
type roomy struct {
	part

	rooms []string
	takes time.Duration // below 0: it never answers
	deaf  bool          // it ignores its context, too
	asked int
}

func newRoomy(rooms ...string) *roomy { return &roomy{rooms: rooms} }

func (m *roomy) Clean(context.Context, []string, func(drivers.Progress)) (drivers.Outcome, error) {
	return drivers.Outcome{}, errors.New("not asked for here")
}
func (m *roomy) Dock(context.Context) error { return nil }

func (m *roomy) Areas(ctx context.Context) ([]drivers.Area, error) {
	m.mu.Lock()
	m.asked++
	takes, deaf, rooms := m.takes, m.deaf, m.rooms
	m.mu.Unlock()
	switch {
	case deaf:
		time.Sleep(time.Hour)
	case takes < 0:
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(takes)
	list := make([]drivers.Area, len(rooms))
	for i, r := range rooms {
		list[i] = drivers.Area{Name: r, Room: r}
	}
	return list, nil
}

func (m *roomy) set(f func(*roomy)) { m.mu.Lock(); defer m.mu.Unlock(); f(m) }

// A device that hangs when the agent asks for its rooms delays no other request. Its last known
// rooms count; without any, a request for it waits.
func TestKnownRoomsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newRoomy("kitchen", "bath")
		light := capabilities.Device{Name: "lamp", Label: "lamp", Class: "light"}
		h := resolver.New(catalog.Default(), []resolver.Device{
			{Device: capabilities.Device{Name: "vacuum", Label: "vacuum", Class: "vacuum"}, Driver: m},
			{Device: light, Driver: new(lamp)},
		})
		says := func(text, device string, within time.Duration) {
			t.Helper()
			began := time.Now()
			out := h.Resolve(mess.Request{Intent: text})
			if took := time.Since(began); took > within {
				t.Errorf("%q took %v, want %v at most", text, took, within)
			}
			if out.Plan == nil && device != "" || out.Plan != nil && out.Plan.Device != device {
				t.Errorf("%q: %+v, refusal %+v, want a plan of %q", text, out.Plan, out.Refusal, device)
			}
		}
		m.set(func(m *roomy) { m.takes = 900 * time.Millisecond })
		says("turn on the lamp", "lamp", 0)                 // there is no answer yet
		says("vacuum the kitchen", "vacuum", 2*time.Second) // the request waits
		m.set(func(m *roomy) { m.takes, m.rooms = 0, []string{"kitchen", "hall"} })
		says("vacuum the hall", "vacuum", 0) // and it is new each time
		says("vacuum the bath", "", 0)

		for _, hang := range []func(*roomy){func(m *roomy) { m.takes = -1 }, func(m *roomy) { m.deaf = true }} {
			m.set(hang)
			for range 3 {
				says("turn on the lamp", "lamp", 0)
				says("vacuum the hall", "vacuum", 2*time.Second)
				time.Sleep(time.Minute)
			}
			says("frobnicate the lamp", "", 0) // after a slow answer no other request waits
			says("turn off the lamp", "lamp", 0)
			before := m.count()
			for range 100 {
				says("turn on the lamp", "lamp", 0)
			}
			synctest.Wait()
			if n := m.count() - before; n > 1 {
				t.Errorf("asked %d times for 100 requests of another device", n)
			}
			m.set(func(m *roomy) { m.takes, m.deaf = 0, false })
			time.Sleep(2 * time.Hour)
			says("turn on the lamp", "lamp", 0)
			synctest.Wait()
			says("vacuum the hall", "vacuum", 0) // it answers again
		}
	})
}

func (m *roomy) count() int { m.mu.Lock(); defer m.mu.Unlock(); return m.asked }
