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

// withWatch adds a plan that switches a lamp on, and then waits for a meter.
func (h *house) withWatch(m *meter) {
	h.more = []device.Device{{Name: "meter", SeenBy: "fridge-cam", Driver: m}}
	p := several(capabilities.Several, step("porch-lamp", true), watchPlan(capabilities.Watch, "until", "above", "value", 20.0, "quantity", "temperature", "limit", "default"))
	p.Want = []string{"confirmation", "structured"}
	h.words["on, and tell me"] = capabilities.Outcome{Plan: &p}
}

// lampThenWatch runs a test with a lamp that goes on before the wait for a meter.
func lampThenWatch(t *testing.T, m *meter, story func(h *house, ref string)) {
	t.Helper()
	inHouseWith(t, func(h *house) { h.withWatch(m) }, func(h *house) {
		ref := h.says(claude, `request: {intent: "on, and tell me", response_hint: [confirmation, structured]}`)
		h.after(time.Minute)
		h.is(ref, mess.InProgress)
		if h.lamp.did() != "on" {
			t.Fatalf("before the watch the lamp did %q, want on", h.lamp.did())
		}
		story(h, ref)
	})
}

// After a restart, the completed step does not repeat, the wait continues, and the end reports
// both.
func TestWaitAfterActContinuesInNextRun(t *testing.T) {
	for name, restart := range map[string]func(h *house){
		"told to end": func(h *house) { h.stopAgent(); h.after(time.Minute); h.startAgent() },
		"dead":        func(h *house) { h.line.cutIt(true); h.after(time.Minute); h.reboots() },
		"dead twice":  func(h *house) { h.line.cutIt(true); h.reboots(); h.after(time.Minute); h.line.cutIt(true); h.reboots() },
	} {
		t.Run(name, func(t *testing.T) {
			m := &meter{value: drivers.Reading{Quantity: "temperature", Value: 18, Unit: "°C"}}
			lampThenWatch(t, m, func(h *house, ref string) {
				restart(h)
				h.after(time.Minute)
				h.is(ref, mess.InProgress)
				h.lamp.set(func(l *lamp) { l.on = true })
				m.set(21)
				h.after(10 * time.Second)
				h.is(ref, mess.Completed)
				h.answers(ref, "The porch light is on.", "The meter: temperature 21 °C, seen at", "the program restarted during this watch")
				if h.lamp.did() != "on" {
					t.Errorf("the lamp did %q, want on, once", h.lamp.did())
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
	m := &meter{value: drivers.Reading{Quantity: "temperature", Value: 18, Unit: "°C"}}
	lampThenWatch(t, m, func(h *house, ref string) {
		h.line.cutIt(true)
		h.lamp.set(func(l *lamp) { l.on = false })
		h.reboots()
		h.after(time.Minute)
		m.set(21)
		h.after(10 * time.Second)
		h.is(ref, mess.Completed)
		h.answers(ref, "Before the program restarted: The porch light is on.", ": done before the program restarted; porch-lamp now reads back as off")
	})
}

// A wait that cannot continue, or is cancelled, reports the completed step.
func TestWaitAfterActReportsCompletedStep(t *testing.T) {
	for _, c := range []struct {
		name  string
		story func(h *house, m *meter, ref string)
		code  mess.Code
		kind  string
	}{
		{"cancelled in the next run", func(h *house, _ *meter, ref string) {
			h.line.cutIt(true)
			h.reboots()
			h.after(time.Minute)
			h.says(claude, "cancel: {re: "+ref+"}")
		}, mess.Cancelled, "cancelled"},
		{"in vain in the next run", func(h *house, _ *meter, _ string) {
			h.line.cutIt(true)
			h.reboots()
			h.after(10 * time.Minute)
		}, mess.Partial, "not_happened"},
		{"silent in the next run", func(h *house, m *meter, _ string) {
			h.line.cutIt(true)
			m.fails(errors.New("no answer"))
			h.reboots()
			h.after(20 * time.Minute)
		}, mess.Partial, "device"},
		{"its device is gone", func(h *house, _ *meter, _ string) {
			h.line.cutIt(true)
			h.more = nil
			h.reboots()
		}, mess.Partial, "interrupted"},
		{"in vain, in one run", func(h *house, _ *meter, _ string) { h.after(10 * time.Minute) }, mess.Partial, "not_happened"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &meter{value: drivers.Reading{Quantity: "temperature", Value: 18, Unit: "°C"}}
			lampThenWatch(t, m, func(h *house, ref string) {
				c.story(h, m, ref)
				h.after(10 * time.Second)
				s := h.is(ref, c.code)
				if s.Reason == nil || s.Reason.Type != c.kind || s.Reason.Effect != mess.EffectPartial {
					t.Errorf("%+v, want %s, in part", s.Reason, c.kind)
				}
				if len(s.Completed) != 1 || len(s.Remaining) != 1 || !strings.Contains(s.Remaining[0].(string), "watch") {
					t.Errorf("done %v, not done %v; want the lamp and the watch", s.Completed, s.Remaining)
				}
				if h.lamp.did() != "on" {
					t.Errorf("the lamp did %q, want on, once", h.lamp.did())
				}
			})
		})
	}
}
