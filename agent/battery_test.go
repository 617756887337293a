package agent_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// The exchange knows the battery of the executor's machine: from the registration, and after a change
// from a heartbeat. A battery that is removed disappears, and an empty one does not.
func TestBatteryIsReported(t *testing.T) {
	type charge struct {
		mess.Battery

		has bool
	}
	var now atomic.Pointer[charge]
	var readings atomic.Int64
	set := func(percent float64, charging, has bool) {
		now.Store(&charge{mess.Battery{Percent: percent, Charging: charging}, has})
	}
	set(80, false, true)
	withHarnessSetup(t, func(h *harness) {
		h.cfg.Battery = func() (mess.Battery, bool) {
			readings.Add(1)
			c := now.Load()
			return c.Battery, c.has
		}
	}, func(h *harness) {
		want := func(when string, want *mess.Battery) {
			t.Helper()
			if got := h.executorInfo().Battery(); (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("%s: the battery is %+v, want %+v", when, got, want)
			}
		}
		h.advance(time.Second)
		want("after the start", &mess.Battery{Percent: 80})
		set(81, true, true)
		h.advance(2 * time.Minute)
		want("after a change", &mess.Battery{Percent: 81, Charging: true})
		set(0, false, true)
		h.advance(2 * time.Minute)
		want("when it is empty", &mess.Battery{})
		set(0, false, false)
		h.advance(2 * time.Minute)
		want("without it", nil)
		before := readings.Load()
		h.advance(10 * time.Minute)
		if n := readings.Load() - before; n < 8 || n > 10 {
			t.Errorf("%d readings in ten minutes, want one a minute", n)
		}
	})
}

// An executor without a reader of batteries registers none.
func TestNoBattery(t *testing.T) {
	withHarness(t, func(h *harness) {
		h.advance(time.Second)
		if value, has := h.executorInfo().Extra.Get(mess.BatteryField); has {
			t.Errorf("the registration has a battery: %v", value)
		}
	})
}
