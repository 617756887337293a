package agent_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// addLampThenWait adds a plan that switches a lamp on, and then waits for a meter.
func (h *harness) addLampThenWait(m *fakeMeter) {
	h.more = []device.Device{{Name: "meter", SeenBy: "fridge-cam", Driver: m}}
	p := planWithSteps(capabilities.SeveralCapabilities, step("porch-lamp", true), waitPlan(capabilities.WaitForCondition, "until", "above", "value", 20.0, "quantity", "temperature", "limit", "default"))
	p.Want = []string{"confirmation", "structured"}
	h.sentences["on, and tell me"] = capabilities.Outcome{Plan: &p}
}

// withLampThenWait runs a test with a lamp that goes on before the wait for a meter.
func withLampThenWait(t *testing.T, m *fakeMeter, test func(h *harness, ref string)) {
	t.Helper()
	withHarnessSetup(t, func(h *harness) { h.addLampThenWait(m) }, func(h *harness) {
		ref := h.send(requester, `request: {intent: "on, and tell me", response_hint: [confirmation, structured]}`)
		h.advance(time.Minute)
		h.wantStatus(ref, mess.InProgress)
		if h.lamp.acts() != "on" {
			t.Fatalf("before the watch the lamp did %q, want on", h.lamp.acts())
		}
		test(h, ref)
	})
}

// After a restart, the completed step does not repeat, the wait continues, and the end reports
// both.
func TestWaitAfterActContinuesInNextRun(t *testing.T) {
	for name, restart := range map[string]func(h *harness){
		"graceful shutdown": func(h *harness) { h.stopAgent(); h.advance(time.Minute); h.startAgent() },
		"dead":              func(h *harness) { h.connection.setCut(true); h.advance(time.Minute); h.restart() },
		"dead twice": func(h *harness) {
			h.connection.setCut(true)
			h.restart()
			h.advance(time.Minute)
			h.connection.setCut(true)
			h.restart()
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &fakeMeter{value: drivers.Reading{Quantity: "temperature", Value: 18, Unit: "°C"}}
			withLampThenWait(t, m, func(h *harness, ref string) {
				restart(h)
				h.advance(time.Minute)
				h.wantStatus(ref, mess.InProgress)
				h.lamp.set(func(l *lamp) { l.on = true })
				m.set(21)
				h.advance(10 * time.Second)
				h.wantStatus(ref, mess.Completed)
				h.wantAnswer(ref, "The porch light is on.", "The meter: temperature 21 °C, seen at", "the program restarted during this watch")
				if h.lamp.acts() != "on" {
					t.Errorf("the lamp did %q, want on, once", h.lamp.acts())
				}
				if left := h.journal.Tasks(); len(left) > 0 {
					t.Errorf("left in the journal: %+v", left)
				}
			})
		})
	}
}

// The end reports a completed step whose effect is no longer there.
func TestWaitAfterActReportsLostEffect(t *testing.T) {
	m := &fakeMeter{value: drivers.Reading{Quantity: "temperature", Value: 18, Unit: "°C"}}
	withLampThenWait(t, m, func(h *harness, ref string) {
		h.connection.setCut(true)
		h.lamp.set(func(l *lamp) { l.on = false })
		h.restart()
		h.advance(time.Minute)
		m.set(21)
		h.advance(10 * time.Second)
		h.wantStatus(ref, mess.Completed)
		h.wantAnswer(ref, "Before the program restarted: The porch light is on.", ": done before the program restarted; porch-lamp now reads back as off")
	})
}

// A wait that cannot continue, or is cancelled, reports the completed step.
func TestWaitAfterActReportsCompletedStep(t *testing.T) {
	for _, c := range []struct {
		name  string
		story func(h *harness, m *fakeMeter, ref string)
		code  mess.Code
		kind  string
	}{
		{"cancelled in the next run", func(h *harness, _ *fakeMeter, ref string) {
			h.connection.setCut(true)
			h.restart()
			h.advance(time.Minute)
			h.send(requester, "cancel: {re: "+ref+"}")
		}, mess.Cancelled, "cancelled"},
		{"in vain in the next run", func(h *harness, _ *fakeMeter, _ string) {
			h.connection.setCut(true)
			h.restart()
			h.advance(10 * time.Minute)
		}, mess.Partial, "not_happened"},
		{"silent in the next run", func(h *harness, m *fakeMeter, _ string) {
			h.connection.setCut(true)
			m.setError(errors.New("no answer"))
			h.restart()
			h.advance(20 * time.Minute)
		}, mess.Partial, "device"},
		{"its device is gone", func(h *harness, _ *fakeMeter, _ string) {
			h.connection.setCut(true)
			h.more = nil
			h.restart()
		}, mess.Partial, "interrupted"},
		{"in vain, in one run", func(h *harness, _ *fakeMeter, _ string) { h.advance(10 * time.Minute) }, mess.Partial, "not_happened"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &fakeMeter{value: drivers.Reading{Quantity: "temperature", Value: 18, Unit: "°C"}}
			withLampThenWait(t, m, func(h *harness, ref string) {
				c.story(h, m, ref)
				h.advance(10 * time.Second)
				s := h.wantStatus(ref, c.code)
				if s.Reason == nil || s.Reason.Type != c.kind || s.Reason.Effect != mess.EffectPartial {
					t.Errorf("%+v, want %s, in part", s.Reason, c.kind)
				}
				if len(s.Completed) != 1 || len(s.Remaining) != 1 || !strings.Contains(s.Remaining[0].(string), "watch") {
					t.Errorf("done %v, not done %v; want the lamp and the watch", s.Completed, s.Remaining)
				}
				if h.lamp.acts() != "on" {
					t.Errorf("the lamp did %q, want on, once", h.lamp.acts())
				}
			})
		})
	}
}
