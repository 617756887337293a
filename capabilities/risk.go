package capabilities

// Risk is the effect of being wrong, mildest first.
type Risk string

// The risk classes of a plan.
const (
	RiskObserve      Risk = "observe"      // camera, sensor
	RiskComfort      Risk = "comfort"      // lamp
	RiskAppliance    Risk = "appliance"    // heat, motor, pump
	RiskAccess       Risk = "access"       // lock, garage, valve
	RiskMotion       Risk = "motion"       // something that moves about
	RiskIrreversible Risk = "irreversible" // cannot be undone
)

// Known reports whether r is one of the classes.
func (r Risk) Known() bool {
	switch r {
	case RiskObserve, RiskComfort, RiskAppliance, RiskAccess, RiskMotion, RiskIrreversible:
		return true
	}
	return false
}

// Effect says what doing a thing twice means.
type Effect string

// Values of Effect.
const (
	Query      Effect = "query"      // reads; changes nothing
	Idempotent Effect = "idempotent" // twice is as once
	Once       Effect = "once"       // must not happen twice
)

// AllRisks lists the risk classes, the mildest first.
var AllRisks = []string{
	string(RiskObserve), string(RiskComfort), string(RiskAppliance), string(RiskAccess), string(RiskMotion), string(RiskIrreversible),
}
