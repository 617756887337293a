package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// stove is a thermostat without readback.
type stove struct {
	part
	fails error
}

func (s *stove) Targets() drivers.Targets { return drivers.Targets{Min: 5, Max: 30} }

func (s *stove) SetTarget(_ context.Context, celsius float64) error {
	s.note("set to " + fmt.Sprint(celsius))
	return s.fails
}

// boiler is a thermostat with readback and a chosen target.
type boiler struct {
	stove
	is float64
}

func (b *boiler) Target(context.Context) (float64, error) { return b.is, nil }

// The target that a thermostat reports counts more than the driver's answer.
func TestThermostatTargetIsReadBack(t *testing.T) {
	lost := errors.New("it: no answer")
	for name, c := range map[string]struct {
		dev      drivers.Device
		code     mess.Code
		evidence mess.Evidence
		effect   mess.Effect
		says     string
	}{
		"cannot tell":       {&stove{}, mess.Completed, mess.Acknowledged, "", "The it is set to 21 °C."},
		"is set":            {&boiler{is: 21}, mess.Completed, mess.ReadBack, "", "The it is set to 21 °C."},
		"rounds":            {&boiler{is: 21.5}, mess.Completed, mess.ReadBack, "", "The it is set to 21.5 °C."},
		"is set elsewhere":  {&boiler{is: 5}, mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, ""},
		"no answer, is set": {&boiler{stove{fails: lost}, 21}, mess.Completed, mess.ReadBack, "", "the driver reported: it: no answer"},
		"no answer":         {&boiler{stove{fails: lost}, 5}, mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, ""},
		"refused":           {&boiler{stove{fails: drivers.ErrNothingDone}, 5}, mess.Failed, "", mess.EffectNone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inHouseWith(t, func(h *house) {
				h.with("it", c.dev, map[string]capabilities.Plan{"heat it": {
					Command: capabilities.SetTemperature, Args: mess.Object{{Key: "temperature", Value: 21.0}}, Effect: capabilities.Idempotent, Risk: capabilities.RiskAppliance,
				}})
			}, func(h *house) {
				ref := h.ends("request: {intent: heat it}", c.code, c.evidence, c.effect)
				if c.says != "" {
					h.answers(ref, c.says)
				}
			})
		})
	}
}
