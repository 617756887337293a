package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// trigger is a button without readback.
type trigger struct {
	fakeDevice
	fails error
	then  func()
}

func (k *trigger) Press(context.Context) error {
	k.record("press")
	if k.then != nil {
		k.then()
	}
	return k.fails
}

func (*trigger) Unrepeatable() {}

// readableTrigger reports its last trigger; last is the time of Press.
type readableTrigger struct {
	trigger
	is, last drivers.PressState
	dumb     error
}

func (s *readableTrigger) PressState(context.Context) (drivers.PressState, error) {
	return s.is, s.dumb
}

func newReadableTrigger(fails error, last drivers.PressState) *readableTrigger {
	s := &readableTrigger{trigger: trigger{fails: fails}, is: drivers.PressState{At: pressedBefore}, last: last}
	s.then = func() { s.is = s.last }
	return s
}

var pressedBefore = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// The reported time of a trigger is the readback. Without an acknowledgement that time proves
// nothing about the effect, and in each case the trigger happens once.
func TestTriggerIsReadBack(t *testing.T) {
	lost := errors.New("it: no answer")
	now := drivers.PressState{At: pressedBefore.Add(time.Hour)}
	runs := drivers.PressState{At: now.At, Running: true}
	before := drivers.PressState{At: pressedBefore}
	unavailable := newReadableTrigger(nil, now)
	unavailable.dumb = errors.New("it is unavailable")
	for name, c := range map[string]struct {
		dev      drivers.Device
		code     mess.Code
		evidence mess.Evidence
		effect   mess.Effect
		wantText string
		did      string
	}{
		"cannot report its state": {&trigger{}, mess.Completed, mess.Acknowledged, "", "The it has been activated.", "press"},
		"reports a later time":    {newReadableTrigger(nil, now), mess.Completed, mess.ReadBack, "", "The it has been activated.", "press"},
		"runs":                    {newReadableTrigger(nil, runs), mess.Completed, mess.ReadBack, "", "it still runs", "press"},
		"reports the same time":   {newReadableTrigger(nil, before), mess.Completed, mess.Acknowledged, "", "it does not report this trigger", "press"},
		"no answer":               {newReadableTrigger(lost, before), mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, "", "press"},
		"no answer, later":        {newReadableTrigger(lost, now), mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, "not how far it went", "press"},
		"refused":                 {newReadableTrigger(drivers.ErrNothingDone, before), mess.Failed, "", mess.EffectNone, "", "press"},
		"is not there":            {unavailable, mess.Failed, "", mess.EffectNone, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				h.addDevice("it", c.dev, map[string]capabilities.Plan{"set it off": {Command: capabilities.Press, Effect: capabilities.Once, Risk: capabilities.RiskComfort}})
			}, func(h *harness) {
				ref := h.wantResult("request: {intent: set it off}", c.code, c.evidence, c.effect)
				if c.wantText != "" {
					h.wantAnswer(ref, c.wantText)
				}
				if did := c.dev.(interface{ acts() string }).acts(); did != c.did {
					t.Errorf("acts are %q, want %q", did, c.did)
				}
			})
		})
	}
}
