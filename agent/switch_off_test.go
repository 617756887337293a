package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/device"
	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// deskLamp is a lamp with a safe level, in addition to the harness's lamp.
type deskLamp struct {
	lamp
	safe string
	stop func() // what running calls
}

func (d *deskLamp) StartHaltStates() (initial, safe string) { return "keep", d.safe }

func (d *deskLamp) Halt() error {
	d.set(func(l *lamp) { l.on = d.safe == "on" })
	return nil
}

// withDesk runs a test in a harness with such a lamp, during a command to switch it.
func withDesk(t *testing.T, d *deskLamp, on bool, test func(h *harness, ref string)) {
	t.Helper()
	withHarnessSetup(t, func(h *harness) { h.addDeskLamp(d, on) }, func(h *harness) {
		ref := h.send(requester, "request: {intent: the desk lamp}")
		h.advance(2 * time.Second)
		test(h, ref)
	})
}

func (h *harness) addDeskLamp(d *deskLamp, on bool) {
	h.more = append(h.more, device.Device{Name: "desk-lamp", Label: "desk lamp", Driver: d})
	plan := step("desk-lamp", on)
	h.sentences["the desk lamp"] = capabilities.Outcome{Plan: &plan}
}

// A cancel during the switching causes a command to the safe level, and the report comes after
// the readback.
func TestCancelSwitchesOff(t *testing.T) {
	for name, c := range map[string]struct {
		safe   string
		on     bool // commanded state
		change func(*lamp)
		code   mess.Code
		effect mess.Effect
		know   mess.Evidence
		detail string
		did    string
	}{
		"back":                       {"off", true, nil, mess.Cancelled, mess.EffectPartial, mess.ReadBack, "stopped midway: desk-lamp was switched off, and reads back as off", "on, off"},
		"safe is on":                 {"on", false, nil, mess.Cancelled, mess.EffectPartial, mess.ReadBack, "stopped midway: desk-lamp was switched on, and reads back as on", "off, on"},
		"as it was asked for":        {"off", false, nil, mess.Completed, "", mess.ReadBack, "", "off, off"},
		"it cannot report its state": {"off", true, func(l *lamp) { l.blind = true }, mess.Cancelled, mess.EffectPartial, mess.Acknowledged, "desk-lamp was switched off, and acknowledged that; the agent could not read it back", "on, off"},
		"it ignores the command":     {"off", true, func(l *lamp) { l.stuck, l.on = true, true }, mess.Cancelled, mess.EffectUnknown, mess.EvidenceUnknown, "desk-lamp was switched off, but reads back as on", "on, off, off"},
		"it rejects the command":     {"off", true, func(l *lamp) { l.broken, l.on = errors.New("no route"), true }, mess.Cancelled, mess.EffectUnknown, mess.EvidenceUnknown, "desk-lamp could not be switched off (no route); it read back as on just now, and may still act", "on, off, off, off, off, off"},
		"it may act yet":             {"off", true, func(l *lamp) { l.broken = drivers.ErrMayAct }, mess.Cancelled, mess.EffectUnknown, mess.EvidenceUnknown, "cancelled midway: desk-lamp was switched off, and reads back as off; it has never answered the earlier command, and may still act", "on, off, off, off, off, off"},
		"it is to stay":              {"keep", true, nil, mess.Cancelled, mess.EffectUnknown, mess.EvidenceUnknown, "cancelled midway", "on"},
	} {
		t.Run(name, func(t *testing.T) {
			withDesk(t, &deskLamp{lamp: lamp{takes: 5 * time.Second}, safe: c.safe}, c.on, func(h *harness, ref string) {
				d := h.more[0].Driver.(*deskLamp)
				d.set(func(l *lamp) {
					l.takes = 0
					if c.change != nil {
						c.change(l)
					}
				})
				h.send(requester, "cancel: {re: "+ref+"}")
				h.advance(10 * time.Second)
				s := h.wantStatus(ref, c.code)
				var reason mess.Reason
				if s.Reason != nil {
					reason = *s.Reason
				}
				if s.Evidence != c.know || reason.Effect != c.effect || !strings.Contains(reason.Detail, c.detail) {
					t.Errorf("evidence %q, %+v; want %q, %q, %q", s.Evidence, reason, c.know, c.effect, c.detail)
				}
				if did := d.acts(); did != c.did {
					t.Errorf("acts are %q, want %q", did, c.did)
				}
			})
		})
	}
}

// If the end of the program switches a device off, the report does not claim that it is on.
func TestShutdownSwitchesOff(t *testing.T) {
	for name, takes := range map[string]time.Duration{"in the midst": 5 * time.Second, "as it is looked at": 1500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			d := &deskLamp{lamp: lamp{takes: takes, late: time.Second}, safe: "off"}
			withHarnessSetup(t, func(h *harness) {
				h.addDeskLamp(d, true)
				h.policyCfg.Devices = map[string]settings.Limits{"desk-lamp": {MaxOn: time.Minute}}
			}, func(h *harness) {
				ref := h.send(requester, "request: {intent: the desk lamp}")
				h.advance(2 * time.Second)
				h.stopAgent()
				s := h.wantStatus(ref, mess.Failed)
				if r := h.wantAnswer(ref); strings.Contains(r.Notes, "switched off again") {
					t.Errorf("the lamp is off, and the notes are %q", r.Notes)
				}
				if s.Reason.Type != "interrupted" || s.Reason.Effect != mess.EffectPartial || s.Evidence != mess.ReadBack ||
					!strings.Contains(s.Reason.Detail, "the program ended midway: desk-lamp was switched off, and reads back as off") {
					t.Errorf("%s, %+v", s.Evidence, s.Reason)
				}
				if did := d.acts(); did != "on, off" {
					t.Errorf("acts are %q, want on, off", did)
				}
			})
		})
	}
}

// If a stop switches a device off, the report does not claim that it is on.
func TestStopSwitchesOff(t *testing.T) {
	d := &deskLamp{safe: "off"}
	d.running = func() {
		d.set(func(l *lamp) { l.running = nil })
		d.stop()
		time.Sleep(100 * time.Millisecond)
	}
	withHarnessSetup(t, func(h *harness) {
		h.addDeskLamp(d, true)
		d.stop = func() { h.policy.Stop("the cat") }
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: the desk lamp}")
		h.advance(5 * time.Second)
		s := h.wantStatus(ref, mess.Failed)
		if s.Reason.Type != "stop" || !strings.Contains(s.Reason.Detail, "the agent had switched desk-lamp on before, and the stop took it to its safe state, off") {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// The report names the completed steps whose devices the end of the program switches off.
func TestShutdownRevertsCompletedSteps(t *testing.T) {
	d := &deskLamp{safe: "off"}
	withHarnessSetup(t, func(h *harness) {
		h.addDeskLamp(d, true)
		h.lamp.takes = 5 * time.Second
		both := planWithSteps(capabilities.SeveralCapabilities, step("desk-lamp", true), step("porch-lamp", true))
		h.sentences["both"] = capabilities.Outcome{Plan: &both}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: both}")
		h.advance(2 * time.Second)
		h.stopAgent()
		h.wantStatus(ref, mess.Partial)
		h.wantAnswer(ref, "the agent switches the desk lamp off as the program ends")
	})
}

// lampWithTimer is a lamp with its own timer, which counts in steps.
type lampWithTimer struct {
	deskLamp
	step, most time.Duration
}

func (p *lampWithTimer) SwitchFor(ctx context.Context, on bool, _ time.Duration) error {
	return p.Switch(ctx, on)
}

func (p *lampWithTimer) RoundTimer(limit time.Duration) time.Duration {
	if limit > p.most {
		return 0
	}
	return (limit + p.step - 1) / p.step * p.step
}

// fakeWatchdog watches everything.
type fakeWatchdog struct{}

func (fakeWatchdog) Ready(string) error                   { return nil }
func (fakeWatchdog) WillBeOn(string, time.Duration) error { return nil }
func (fakeWatchdog) MayBeOn(string, time.Duration)        {}
func (fakeWatchdog) IsOff(string)                         {}
func (fakeWatchdog) Watches(string) bool                  { return true }

// wantSwitchOffText checks that the confirming person reads what switches the desk lamp off.
func wantSwitchOffText(h *harness, want string) {
	h.t.Helper()
	ref := h.send(requester, "request: {intent: the desk lamp, confirm_before: true}")
	if s := h.wantStatus(ref, mess.NeedsConfirmation); !strings.HasSuffix(s.Consequences, "it is switched off again within 5s, "+want) {
		h.t.Errorf("the person reads %q, want %q", s.Consequences, want)
	}
	h.send(requester, "reply: {re: "+ref+", confirm: false}")
}

// The answer for a device that is on for a time names what switches it off, also if the agent
// has stopped.
func TestAnswerNamesWhatSwitchesOff(t *testing.T) {
	for name, c := range map[string]struct {
		driver drivers.Device
		want   string
	}{
		"nothing else":       {&deskLamp{safe: "off"}, "by this agent; if the agent dies or hangs, nothing does until it runs again"},
		"it is kept on":      {&deskLamp{safe: "keep"}, "by this agent; if the agent stops, nothing does until it runs again"},
		"its own timer":      {&lampWithTimer{deskLamp: deskLamp{safe: "off"}, step: time.Second, most: time.Hour}, "by its own timer, even without this agent"},
		"a timer in minutes": {&lampWithTimer{deskLamp: deskLamp{safe: "off"}, step: time.Minute, most: time.Hour}, "by this agent; if the agent stops, its own timer does in 1m0s"},
		"a short timer":      {&lampWithTimer{deskLamp: deskLamp{safe: "off"}, step: time.Second, most: 3 * time.Second}, "by this agent; if the agent dies or hangs, nothing does until it runs again"},
	} {
		t.Run(name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				h.addDeskLamp(&deskLamp{}, true)
				h.more[0].Driver = c.driver
				h.sentences["the desk lamp"].Plan.For = 5 * time.Second
			}, func(h *harness) {
				ref := h.send(requester, "request: {intent: the desk lamp}")
				h.advance(time.Second)
				h.wantStatus(ref, mess.Completed)
				h.wantAnswer(ref, "it is switched off again in 5s, at ", c.want)
				wantSwitchOffText(h, c.want)
				if name != "nothing else" {
					return
				}
				policy.WithWatchdog(fakeWatchdog{})(h.policy)
				ref = h.send(requester, "request: {intent: the desk lamp}")
				h.advance(time.Second)
				h.wantAnswer(ref, "by this agent; if the agent stops, the watchdog does at that time")
				wantSwitchOffText(h, "by this agent; if the agent stops, the watchdog does at that time")
			})
		})
	}
}
