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

// vacuumWithRooms is a vacuum with a slow answer about its rooms, or none.
type vacuumWithRooms struct {
	fakeDevice

	rooms []string
	takes time.Duration // below 0: it never answers
	deaf  bool          // it ignores its context, too
	asked int
}

func newVacuumWithRooms(rooms ...string) *vacuumWithRooms { return &vacuumWithRooms{rooms: rooms} }

func (m *vacuumWithRooms) Clean(context.Context, []string, func(drivers.Progress)) (drivers.Outcome, error) {
	return drivers.Outcome{}, errors.New("not asked for here")
}
func (m *vacuumWithRooms) Dock(context.Context) error { return nil }

func (m *vacuumWithRooms) Areas(ctx context.Context) ([]drivers.Area, error) {
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

func (m *vacuumWithRooms) set(f func(*vacuumWithRooms)) { m.mu.Lock(); defer m.mu.Unlock(); f(m) }

// A device that hangs when the agent asks for its rooms delays no other request. Its last known
// rooms count; without any, a request for it waits.
func TestKnownRoomsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newVacuumWithRooms("kitchen", "bath")
		light := capabilities.Device{Name: "lamp", Label: "lamp", Class: "light"}
		h := resolver.New(catalog.Default(), []resolver.Device{
			{Device: capabilities.Device{Name: "vacuum", Label: "vacuum", Class: "vacuum"}, Driver: m},
			{Device: light, Driver: new(lamp)},
		})
		wantDevice := func(text, device string, within time.Duration) {
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
		m.set(func(m *vacuumWithRooms) { m.takes = 900 * time.Millisecond })
		wantDevice("turn on the lamp", "lamp", 0)                 // there is no answer yet
		wantDevice("vacuum the kitchen", "vacuum", 2*time.Second) // the request waits
		m.set(func(m *vacuumWithRooms) { m.takes, m.rooms = 0, []string{"kitchen", "hall"} })
		wantDevice("vacuum the hall", "vacuum", 0) // and it is new each time
		wantDevice("vacuum the bath", "", 0)

		for _, hang := range []func(*vacuumWithRooms){func(m *vacuumWithRooms) { m.takes = -1 }, func(m *vacuumWithRooms) { m.deaf = true }} {
			m.set(hang)
			for range 3 {
				wantDevice("turn on the lamp", "lamp", 0)
				wantDevice("vacuum the hall", "vacuum", 2*time.Second)
				time.Sleep(time.Minute)
			}
			wantDevice("frobnicate the lamp", "", 0) // after a slow answer no other request waits
			wantDevice("turn off the lamp", "lamp", 0)
			before := m.count()
			for range 100 {
				wantDevice("turn on the lamp", "lamp", 0)
			}
			synctest.Wait()
			if n := m.count() - before; n > 1 {
				t.Errorf("asked %d times for 100 requests of another device", n)
			}
			m.set(func(m *vacuumWithRooms) { m.takes, m.deaf = 0, false })
			time.Sleep(2 * time.Hour)
			wantDevice("turn on the lamp", "lamp", 0)
			synctest.Wait()
			wantDevice("vacuum the hall", "vacuum", 0) // it answers again
		}
	})
}

func (m *vacuumWithRooms) count() int { m.mu.Lock(); defer m.mu.Unlock(); return m.asked }
