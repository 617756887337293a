package drivers

import "fmt"

// VacuumState is the state of a robot vacuum in words, for an Observation.
type VacuumState struct {
	Activity string   // "cleaning", "in its dock"
	Name     string   // of the activity, for programs
	Battery  *float64 // in percent; nil if unknown
	Charging bool
	Help     *HelpError // problem that a person must solve, or nil
}

// Describe returns the state as text and as facts.
func (s VacuumState) Describe() (string, []Fact) {
	text, facts := "The vacuum is "+s.Activity, []Fact{{Name: "state", Value: s.Name}}
	if s.Battery != nil {
		text += fmt.Sprintf("; its battery level is %v %%", *s.Battery)
		facts = append(facts, Fact{Name: "battery", Value: *s.Battery, Unit: "%"})
	}
	if s.Charging {
		text += " and it is charging"
	}
	text += "."
	if s.Help != nil {
		text += " " + s.Help.Error() + "."
		facts = append(facts, s.Help.Facts()...)
	}
	return text, facts
}
