package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// dimmer is a lamp that dims.
type dimmer struct {
	lamp
	percent float64
}

func (b *dimmer) Dim(_ context.Context, percent float64) error {
	b.record("dim")
	b.set(func(l *lamp) { l.on, b.percent = percent > 0, percent })
	return nil
}

func (b *dimmer) Level(context.Context) (float64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.percent, nil
}

var _ drivers.Dimmer = (*dimmer)(nil)

func step(device string, on bool) capabilities.Plan {
	return capabilities.Plan{
		Capability: "switch-on", Device: device, Command: capabilities.SetSwitch, Args: mess.Object{{Key: "on", Value: on}},
		Risk: capabilities.RiskComfort, Effect: capabilities.Idempotent, Summary: "switch the " + device,
	}
}

// planWithSteps returns a plan with steps, as the resolver makes it.
func planWithSteps(capability string, steps ...capabilities.Plan) capabilities.Plan {
	return capabilities.Plan{Capability: capability, Risk: capabilities.RiskComfort, Effect: capabilities.Idempotent, Summary: "all of it", Steps: steps}
}

func withSteps(t *testing.T, capability string, isBroken bool, test func(h *harness, second, third *lamp)) {
	second, third := &lamp{}, &lamp{}
	withHarnessSetup(t, func(h *harness) {
		if isBroken {
			second.broken = errors.New("the wire is cut")
		}
		h.addDevice("second", second, nil)
		h.addDevice("third", third, nil)
		plan := planWithSteps(capability, step("porch-lamp", true), step("second", true), step("third", true))
		h.sentences["all on"] = capabilities.Outcome{Plan: &plan}
	}, func(h *harness) { test(h, second, third) })
}

func TestStepsRunInOrder(t *testing.T) {
	withSteps(t, capabilities.SeveralCapabilities, false, func(h *harness, second, third *lamp) {
		ref := h.send(requester, `request: {intent: "all on"}`)
		if s := h.wantStatus(ref, mess.Completed); s.Evidence != mess.ReadBack {
			t.Errorf("evidence %q, want read_back", s.Evidence)
		}
		for _, l := range []*lamp{h.lamp, second, third} {
			if l.acts() != "on" {
				t.Errorf("did %q, want on, once", l.acts())
			}
		}
	})
}

// Of several orders, those after a failure do not begin; of one order for several devices, the
// others proceed.
func TestFailedStep(t *testing.T) {
	for capability, want := range map[string]string{capabilities.SeveralCapabilities: "", "switch-on": "on"} {
		withSteps(t, capability, true, func(h *harness, _, third *lamp) {
			ref := h.send(requester, `request: {intent: "all on"}`)
			s := h.wantStatus(ref, mess.Partial)
			if !strings.Contains(s.Reason.Detail, "the wire is cut") || len(s.Completed) == 0 || s.Completed[0] != "switch the porch-lamp" {
				t.Errorf("%s: %+v, %+v", capability, s, s.Reason)
			}
			if third.acts() != want {
				t.Errorf("%s: the third did %q, want %q", capability, third.acts(), want)
			}
		})
	}
}

// An unknown effect of one step stays unknown, even if the next step did not begin.
func TestUnknownEffectOfStepStays(t *testing.T) {
	second := &lamp{}
	withHarnessSetup(t, func(h *harness) {
		h.lamp.broken = errors.New("no answer")
		second.broken = drivers.MarkNothingDone(errors.New("the wire is cut"))
		h.addDevice("second", second, nil)
		plan := planWithSteps("switch-on", step("porch-lamp", true), step("second", true))
		h.sentences["all on"] = capabilities.Outcome{Plan: &plan}
	}, func(h *harness) {
		ref := h.send(requester, `request: {intent: "all on"}`)
		if s := h.wantStatus(ref, mess.Failed); s.Reason.Effect != mess.EffectUnknown || !strings.Contains(s.Reason.Detail, "the wire is cut") {
			t.Errorf("%+v", s.Reason)
		}
	})
}

// A delayed plan begins at its time, and not after an earlier cancel.
func TestDelayedPlan(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		withHarnessSetup(t, func(h *harness) {}, func(h *harness) {
			p := step("porch-lamp", true)
			p.NotBefore = time.Now().Add(10 * time.Minute)
			h.sentences["later"] = capabilities.Outcome{Plan: &p}
			ref := h.send(requester, `request: {intent: later}`)
			h.advance(9 * time.Minute)
			h.wantStatus(ref, mess.Waiting)
			if h.lamp.acts() != "" {
				t.Fatalf("did %q before its time", h.lamp.acts())
			}
			if cancelled {
				if _, err := h.post(requester, "cancel: {re: "+ref+"}"); err != nil {
					t.Fatal(err)
				}
			}
			h.advance(2 * time.Minute)
			if want := map[bool]string{false: "on", true: ""}[cancelled]; h.lamp.acts() != want {
				t.Errorf("cancelled=%t: did %q, want %q", cancelled, h.lamp.acts(), want)
			}
		})
	}
}

// A dimmed light goes off at the end of its time like a switched one, and a change counts from
// its current brightness.
func TestDimmedLightGoesOff(t *testing.T) {
	b := &dimmer{}
	withHarnessSetup(t, func(h *harness) {
		d := h.policyCfg.Defaults
		d.MaxOn = time.Hour
		h.policyCfg.Defaults = d
		dim := capabilities.Plan{
			Command: capabilities.Dim, Capability: "dim", Risk: capabilities.RiskComfort, Effect: capabilities.Once,
			Args: mess.Object{{Key: "level", Value: 40.0}},
		}
		less := dim
		less.Args = mess.Object{{Key: "change", Value: -25.0}}
		h.addDevice("bulb", b, map[string]capabilities.Plan{"to 40": dim, "less": less})
	}, func(h *harness) {
		for intent, want := range map[string]float64{"to 40": 40} {
			h.wantStatus(h.send(requester, "request: {intent: "+intent+"}"), mess.Completed)
			if b.percent != want {
				t.Errorf("%s: %v percent, want %v", intent, b.percent, want)
			}
		}
		h.wantStatus(h.send(requester, "request: {intent: less}"), mess.Completed)
		if b.percent != 15 {
			t.Errorf("less: %v percent, want 15", b.percent)
		}
		h.advance(61 * time.Minute)
		if !strings.HasSuffix(b.acts(), "off") {
			t.Errorf("did %q; it is on for longer than max_on", b.acts())
		}
	})
}

// The agent asks again once after an unsuitable answer; then nothing happens.
func TestUnsuitableAnswer(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.send(requester, `request: {intent: "vacuum the kitchen"}`)
		h.wantStatus(ref, mess.NeedsInput)
		for _, want := range []mess.Code{mess.NeedsInput, mess.Failed} {
			if _, err := h.post(requester, "reply: {re: "+ref+", answers: {area: the moon}}"); err != nil {
				t.Fatal(err)
			}
			h.wantStatus(ref, want)
		}
		if h.vacuum.acts() != "" {
			t.Errorf("did %q", h.vacuum.acts())
		}
	})
}

// A delayed step begins that long after the previous one; a cancel before that ends it without
// an act.
func TestDelayedStep(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		second := &lamp{}
		withHarnessSetup(t, func(h *harness) {
			h.addDevice("second", second, nil)
			later := step("second", true)
			later.After = 10 * time.Minute
			plan := planWithSteps(capabilities.SeveralCapabilities, step("porch-lamp", true), later)
			h.sentences["one, then the other"] = capabilities.Outcome{Plan: &plan}
		}, func(h *harness) {
			ref := h.send(requester, `request: {intent: "one, then the other"}`)
			time.Sleep(9 * time.Minute)
			synctest.Wait()
			if h.lamp.acts() != "on" || second.acts() != "" {
				t.Fatalf("after nine minutes: %q and %q, want on and nothing", h.lamp.acts(), second.acts())
			}
			if cancel {
				h.send(requester, `cancel: {re: `+ref+`}`)
			}
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			if want := map[bool]string{false: "on", true: ""}[cancel]; second.acts() != want {
				t.Errorf("cancelled %v: the second did %q, want %q", cancel, second.acts(), want)
			}
			if !cancel {
				h.wantStatus(ref, mess.Completed)
			}
		})
	}
}

// A toggle switches to the opposite of the reported state, and does nothing without one.
func TestToggle(t *testing.T) {
	toggle := step("porch-lamp", true)
	toggle.Command, toggle.Args, toggle.Effect, toggle.Capability = capabilities.Toggle, nil, capabilities.Once, "toggle"
	withHarnessSetup(t, func(h *harness) {
		h.sentences["toggle"] = capabilities.Outcome{Plan: &toggle}
	}, func(h *harness) {
		for _, want := range []bool{true, false, true} {
			if s := h.wantStatus(h.send(requester, `request: {intent: toggle}`), mess.Completed); s.Evidence != mess.ReadBack {
				t.Errorf("evidence %q, want read_back", s.Evidence)
			}
			if is := h.lamp.get().on; is != want {
				t.Errorf("the lamp is on=%v, want %v", is, want)
			}
		}
	})
}

// slowSwitch is slow and unreachable.
type slowSwitch struct {
	fakeDevice
	gone bool
	at   *concurrentCalls
}

// concurrentCalls counts simultaneous calls.
type concurrentCalls struct {
	mu        sync.Mutex
	now, most int
}

func (a *concurrentCalls) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now += n
	a.most = max(a.most, a.now)
}

func (s *slowSwitch) Switch(context.Context, bool) error {
	s.at.add(1)
	defer s.at.add(-1)
	time.Sleep(3 * time.Second) // fake time
	if s.gone {
		return drivers.MarkNothingDone(errors.New("it does not answer in 3s"))
	}
	s.record("on")
	return nil
}

// One order for many devices runs on several at a time and lists the failures briefly; several
// orders run in sequence.
func TestOrderForManyDevices(t *testing.T) {
	const many = 20
	for capability, c := range map[string]struct {
		most int
		took time.Duration
	}{"switch-on": {8, 9 * time.Second}, capabilities.SeveralCapabilities: {1, 3 * time.Second}} {
		t.Run(capability, func(t *testing.T) {
			at := &concurrentCalls{}
			var lamps []*slowSwitch
			withHarnessSetup(t, func(h *harness) {
				var steps []capabilities.Plan
				for i := range many {
					name := fmt.Sprintf("lamp-%d", i)
					lamps = append(lamps, &slowSwitch{gone: i != 12, at: at})
					h.addDevice(name, lamps[i], nil)
					steps = append(steps, step(name, true))
				}
				plan := planWithSteps(capability, steps...)
				h.sentences["all on"] = capabilities.Outcome{Plan: &plan}
			}, func(h *harness) {
				ref := h.send(requester, `request: {intent: "all on"}`)
				h.advance(c.took + time.Second)
				s, _ := h.last(ref)
				if at.most != c.most || s.Reason == nil {
					t.Fatalf("%d at a time, and after %v: %+v", at.most, c.took, s)
				}
				if capability == capabilities.SeveralCapabilities {
					h.wantStatus(ref, mess.Failed)
					return
				}
				h.wantStatus(ref, mess.Partial)
				if lamps[12].log[0] != "on" || len(s.Remaining) != many-1 || len(s.Reason.Detail) > 300 ||
					!strings.Contains(s.Reason.Detail, "16 more have failed; messkit status shows why; done: switch the lamp-12; not done: 19 of them") {
					t.Errorf("%d not done: %s", len(s.Remaining), s.Reason.Detail)
				}
			})
		})
	}
}

// A plan with steps reports its progress: the completed and the remaining steps.
func TestStepsAreReported(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.addDevice("second", &lamp{}, nil)
		h.addDevice("third", &lamp{}, nil)
		later, last := step("second", true), step("third", true)
		later.After, last.After = 2*time.Second, 2*time.Second
		plan := planWithSteps(capabilities.SeveralCapabilities, step("porch-lamp", true), later, last)
		h.sentences["all on"] = capabilities.Outcome{Plan: &plan}
	}, func(h *harness) {
		ref := h.send(requester, `request: {intent: "all on"}`)
		time.Sleep(10 * time.Second) // fake time
		h.wantStatus(ref, mess.Completed)
		var reported []string
		for _, m := range h.thread(ref).Messages {
			for _, item := range m.Items {
				if s, ok := item.(*mess.Status); ok && s.Code == mess.InProgress {
					reported = append(reported, fmt.Sprint(len(s.Completed), "+", len(s.Remaining)))
				}
			}
		}
		if got := strings.Join(slices.Compact(reported), " "); got != "0+3 1+2 2+1" {
			t.Errorf("reported %q, want 0+3 1+2 2+1", got)
		}
	})
}
