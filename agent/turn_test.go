package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// turnable is a servo without readback.
type turnable struct{ fakeDevice }

func (a *turnable) AngleLimits() drivers.AngleLimits { return drivers.AngleLimits{Max: 180} }

func (a *turnable) TurnTo(_ context.Context, degrees float64) error {
	a.record("turn to " + fmt.Sprint(degrees))
	return nil
}

// turnableWithReadback is a servo with readback that does not move.
type turnableWithReadback struct {
	turnable
	is float64
}

func (s *turnableWithReadback) Angle(context.Context) (float64, error) { return s.is, nil }

// The answer claims no position without a readback, and a different position is a failure.
func TestTurnReportsReadback(t *testing.T) {
	for name, c := range map[string]struct {
		dev      drivers.Device
		code     mess.Code
		evidence mess.Evidence
		effect   mess.Effect
		wantText string
	}{
		"cannot report its state": {&turnable{}, mess.Completed, mess.Acknowledged, "", "it does not report its angle"},
		"is there":                {&turnableWithReadback{is: 44}, mess.Completed, mess.ReadBack, "", "The it has turned to 45 degrees."},
		"sticks":                  {&turnableWithReadback{is: 10}, mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				h.addDevice("it", c.dev, map[string]capabilities.Plan{"turn it": {
					Command: capabilities.TurnTo, Args: mess.Object{{Key: "angle", Value: 45.0}}, Effect: capabilities.Idempotent, Risk: capabilities.RiskComfort,
				}})
			}, func(h *harness) {
				ref := h.wantResult("request: {intent: turn it}", c.code, c.evidence, c.effect)
				if c.wantText != "" {
					h.wantAnswer(ref, c.wantText)
				}
			})
		})
	}
}
