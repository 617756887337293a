package drivers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

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

// CheckSegments returns the errors in the rooms of a robot: a map from the robot's id of a
// room to the name that people use. Each room needs a name of its own. A name that is a
// number is an error, because the id and the name are most likely swapped. Each error
// begins with the key segments.
func CheckSegments(segments map[string]string) (errs []error) {
	first := map[string]string{} // id by name
	for _, id := range slices.Sorted(maps.Keys(segments)) {
		name := strings.TrimSpace(segments[id])
		is := strings.ToLower(name)
		other, taken := first[is]
		switch {
		case name == "":
			errs = append(errs, fmt.Errorf("segments: %q has no name; write the name that people use for that room", id))
		case strings.Trim(name, "0123456789") == "":
			errs = append(errs, fmt.Errorf("segments: %q is a number, not the name of a room; write the robot's id first and the room after it, like 16: kitchen", name))
		case taken:
			errs = append(errs, fmt.Errorf("segments: %q and %q have the same name %q; give each a different name", other, id, name))
		default:
			first[is] = id
		}
	}
	return errs
}

// HelpTimeout is the longest time that a task waits for a person.
const HelpTimeout = 30 * time.Minute

// HelpWait tracks the problem for which the task of a robot waits for a person. The zero
// value belongs to a task that does not wait. It is safe for concurrent use.
type HelpWait struct {
	mu     sync.Mutex
	help   *HelpError
	since  time.Time
	resume func(context.Context) error
}

// Begin begins a task that waits for a person on a problem. resume is the command that lets
// the device continue.
func (w *HelpWait) Begin(resume func(context.Context) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.help, w.resume = nil, resume
}

// End ends the task.
func (w *HelpWait) End() { w.Begin(nil) }

// Update records the present problem, or nil, and whether the device works on its task. A
// problem lasts until the device works again, because a freed robot still needs a command
// to continue. Update returns the problem that the task waits for. It returns the problem as
// an error if the task does not wait, or has waited longer than HelpTimeout.
func (w *HelpWait) Update(now time.Time, problem *HelpError, working bool) (help *HelpError, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case problem != nil && w.resume == nil:
		return nil, problem
	case problem != nil && w.help == nil:
		w.help, w.since = problem, now
	case problem != nil:
		w.help = problem
	case working:
		w.help = nil
	}
	if w.help != nil && now.Sub(w.since) > HelpTimeout {
		return nil, w.help
	}
	return w.help, nil
}

// ResumeCommand returns the command that lets the device continue, or nil if the task does
// not wait for a person.
func (w *HelpWait) ResumeCommand() func(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.help == nil {
		return nil
	}
	return w.resume
}
