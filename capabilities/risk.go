package capabilities

// Risk is the effect of a wrong interpretation, the mildest first.
type Risk string

// The risk classes of a plan.
const (
	RiskObserve      Risk = "observe"      // camera, sensor
	RiskComfort      Risk = "comfort"      // lamp
	RiskAppliance    Risk = "appliance"    // heat, motor, pump
	RiskAccess       Risk = "access"       // lock, garage, valve
	RiskMotion       Risk = "motion"       // something that moves around
	RiskIrreversible Risk = "irreversible" // nothing undoes it
)

// Known reports whether r is one of the classes.
func (r Risk) Known() bool {
	switch r {
	case RiskObserve, RiskComfort, RiskAppliance, RiskAccess, RiskMotion, RiskIrreversible:
		return true
	}
	return false
}

// Effect is the effect of a repetition.
type Effect string

// Values of Effect.
const (
	Query      Effect = "query"      // reads; changes nothing
	Idempotent Effect = "idempotent" // a repetition changes nothing more
	Once       Effect = "once"       // must not repeat
)

// AllRisks lists the risk classes, the mildest first.
var AllRisks = []string{
	string(RiskObserve), string(RiskComfort), string(RiskAppliance), string(RiskAccess), string(RiskMotion), string(RiskIrreversible),
}
