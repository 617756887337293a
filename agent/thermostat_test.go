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

// thermostat is a thermostat without readback.
type thermostat struct {
	fakeDevice
	fails error
}

func (s *thermostat) TargetRange() drivers.TargetRange { return drivers.TargetRange{Min: 5, Max: 30} }

func (s *thermostat) SetTarget(_ context.Context, celsius float64) error {
	s.record("set to " + fmt.Sprint(celsius))
	return s.fails
}

// thermostatWithReadback is a thermostat with readback and a chosen target.
type thermostatWithReadback struct {
	thermostat
	is float64
}

func (b *thermostatWithReadback) Target(context.Context) (float64, error) { return b.is, nil }

// The target that a thermostat reports counts more than the driver's answer.
func TestThermostatTargetIsReadBack(t *testing.T) {
	lost := errors.New("it: no answer")
	for name, c := range map[string]struct {
		dev      drivers.Device
		code     mess.Code
		evidence mess.Evidence
		effect   mess.Effect
		wantText string
	}{
		"cannot report its state": {&thermostat{}, mess.Completed, mess.Acknowledged, "", "The it is set to 21 °C."},
		"is set":                  {&thermostatWithReadback{is: 21}, mess.Completed, mess.ReadBack, "", "The it is set to 21 °C."},
		"rounds":                  {&thermostatWithReadback{is: 21.5}, mess.Completed, mess.ReadBack, "", "The it is set to 21.5 °C."},
		"is set elsewhere":        {&thermostatWithReadback{is: 5}, mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, ""},
		"no answer, is set":       {&thermostatWithReadback{thermostat{fails: lost}, 21}, mess.Completed, mess.ReadBack, "", "the driver reported: it: no answer"},
		"no answer":               {&thermostatWithReadback{thermostat{fails: lost}, 5}, mess.Failed, mess.EvidenceUnknown, mess.EffectUnknown, ""},
		"refused":                 {&thermostatWithReadback{thermostat{fails: drivers.ErrNothingDone}, 5}, mess.Failed, "", mess.EffectNone, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withHarnessSetup(t, func(h *harness) {
				h.addDevice("it", c.dev, map[string]capabilities.Plan{"heat it": {
					Command: capabilities.SetTemperature, Args: mess.Object{{Key: "temperature", Value: 21.0}}, Effect: capabilities.Idempotent, Risk: capabilities.RiskAppliance,
				}})
			}, func(h *harness) {
				ref := h.wantResult("request: {intent: heat it}", c.code, c.evidence, c.effect)
				if c.wantText != "" {
					h.wantAnswer(ref, c.wantText)
				}
			})
		})
	}
}
