package policy

import (
	"fmt"
	"slices"

	"github.com/messkit/messkit/capabilities"
)

// mildness lists the risk classes, mildest first.
var mildness = []capabilities.Risk{
	capabilities.RiskObserve, capabilities.RiskComfort, capabilities.RiskAppliance,
	capabilities.RiskAccess, capabilities.RiskMotion, capabilities.RiskIrreversible,
}

// trueRisk rejects a plan with a milder risk class than the device has.
func (g *Gate) trueRisk(d *device, p capabilities.Plan) error {
	least := g.cfg.Risks[d.name]
	says, known := slices.Index(mildness, p.Risk), p.Risk.Known()
	if !p.Actuates() || !known || says >= slices.Index(mildness, least) {
		return nil
	}
	return &Refusal{Device: d.name, Rule: "risk", Text: fmt.Sprintf("it is of class %s, and the plan says %s; make a plan anew", least, p.Risk)}
}
