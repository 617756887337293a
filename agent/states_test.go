package agent_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// states are what the exchange has been told of the devices.
func (h *house) states() map[string]string {
	m := map[string]string{}
	for _, s := range h.standing().States {
		m[s.Device] = s.State
	}
	return m
}

// How the devices are is told where the exchange asks for it: at once after a
// task, soon after somebody has used the switch on the wall, and never more than
// the device itself says.
func TestStatesAreTold(t *testing.T) {
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

// An exchange that does not ask is told nothing.
func TestStatesAreNotToldUnasked(t *testing.T) {
	inHouse(t, func(h *house) {
		h.after(2 * time.Minute)
		if got := h.standing().States; got != nil {
			t.Errorf("told: %v", got)
		}
	})
}
