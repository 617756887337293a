package resolve

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
	"github.com/messkit/messkit/capabilities/lexicon"
)

// maxPlanSteps is the largest number of steps of a plan without a question, unless the home
// sets another one.
const maxPlanSteps = 12

func (r *Resolver) maxSteps() int {
	if r.Site.MaxSteps > 0 {
		return r.Site.MaxSteps
	}
	return maxPlanSteps
}

// planForAll returns a plan for each device of a hypothesis that is for all of them.
func (x *Request) planForAll(rd *Hypothesis) capabilities.Outcome {
	if m := rd.Slot("device"); m != nil && m.Class != "" {
		if unable := x.unable(rd, m); len(unable) > 0 {
			return x.Reject(fmt.Sprintf("%s cannot do that; name the ones that you mean: %s", strings.Join(x.Resolver.Labels(unable), ", "), strings.Join(x.Resolver.Labels(rd.Devices), ", ")), x.Resolver.Labels(rd.Devices))
		}
	}
	devices := rd.Devices
	if x.Exclusion != nil {
		kept, out, ok := x.withoutExcluded(rd)
		if !ok {
			return out
		}
		devices = kept
	}
	return x.planForEach(rd, devices)
}

// planForEach returns a plan for each of several devices.
func (x *Request) planForEach(rd *Hypothesis, devices []int) capabilities.Outcome {
	var steps []capabilities.Plan
	for _, d := range devices {
		one := *rd
		one.Devices, one.All, one.sole = []int{d}, false, true
		out := x.plan(&one)
		if out.Plan == nil {
			return out
		}
		rd.Args, rd.Doubt = one.Args, one.Doubt // the answer for the first device holds for all
		steps = append(steps, *out.Plan)
	}
	return x.StepsOutcome(capabilities.Sequence(steps), x.IsDoubtful(rd), x.DroppedText()+x.DoubtText(rd))
}

// unable returns the devices of the named class that cannot do it.
func (x *Request) unable(rd *Hypothesis, m *lexicon.SlotValue) []int {
	return slices.DeleteFunc(slices.Clone(m.Devices), func(d int) bool { return slices.Contains(rd.Devices, d) || !x.allows(rd, d) || x.Demand.location != "" })
}

// StepsOutcome returns the outcome of a plan with steps. It asks about a plan with too many
// steps.
func (x *Request) StepsOutcome(p capabilities.Plan, doubtful bool, because string) capabilities.Outcome {
	if n := len(p.Steps); p.Actuates() && n > x.Resolver.maxSteps() {
		return x.AskConfirmation(p, fmt.Sprintf("%sthat is %d things at once, and more than %d need a confirmation: ", because, n, x.Resolver.maxSteps()))
	}
	if doubtful && p.Actuates() {
		return x.AskConfirmation(p, because)
	}
	return capabilities.Outcome{Plan: &p}
}

// Sequence returns the outcome of steps that follow one another. A wait before the first
// step becomes the time when the plan begins.
func (x *Request) Sequence(steps []capabilities.Plan) capabilities.Outcome {
	begin := steps[0].NotBefore
	if wait := steps[0].After; wait > 0 {
		if x.Resolver.Site.Now.IsZero() {
			return x.Reject(fmt.Sprintf("to wait for %s needs a clock; put the time into constraints.timing.not_before", capabilities.DurationText(wait)), nil)
		}
		begin, steps[0].After = x.Resolver.Site.Now.Add(wait), 0
	}
	steps = UntilOff(steps)
	for i := range steps {
		steps[i].NotBefore = time.Time{}
		if i > 0 && steps[i].After > 0 {
			steps[i].Summary = fmt.Sprintf("wait for %s and %s", capabilities.DurationText(steps[i].After), steps[i].Summary)
		}
	}
	p := steps[0]
	if len(steps) > 1 {
		p = capabilities.Sequence(steps)
	}
	p.NotBefore = begin
	return x.StepsOutcome(p, x.IsQuestion || x.InQuotes, x.DoubtText(&Hypothesis{}))
}

// UntilOff joins "turn it on, wait, turn it off" to one step with a duration, so that the
// watchdog switches the device off whatever happens. The next step waits for it. The steps
// stay if the same device has more of them.
func UntilOff(steps []capabilities.Plan) []capabilities.Plan {
	var list []capabilities.Plan
	var pause time.Duration
	for i, s := range steps {
		more := slices.ContainsFunc(steps[i+1:], func(later capabilities.Plan) bool { return later.Device == s.Device })
		if n := len(list) - 1; n >= 0 && s.After > 0 && s.Device == list[n].Device && list[n].For == 0 && SwitchesTo(list[n], true) && SwitchesTo(s, false) && !more {
			list[n].For = s.After
			list[n].Summary += " for " + capabilities.DurationText(s.After)
			pause = s.After
			continue
		}
		s.After, pause = s.After+pause, 0
		list = append(list, s)
	}
	return list
}

// SwitchesTo reports whether a plan switches something on (want is true) or off.
func SwitchesTo(p capabilities.Plan, want bool) bool {
	on, _ := p.Args.Get("on")
	return p.Command == capabilities.SetSwitch && on == want
}

// RejectMixedTimes refuses orders that do not all begin at the same time. In "turn on the
// lamp and the heater in ten minutes" the time may be for one or for both.
func (x *Request) RejectMixedTimes(steps []capabilities.Plan) (capabilities.Outcome, bool) {
	for _, s := range steps[1:] {
		if !s.NotBefore.Equal(steps[0].NotBefore) {
			return x.Reject("of several things, each begins at another time, or the text does not say it of each; make a request for each", nil), false
		}
	}
	return capabilities.Outcome{}, true
}

// Exclusion holds the things that an order for several things leaves out: "all lights except the
// kitchen".
type Exclusion struct {
	Phrase string // the words of the text, as a question quotes them
	Names  []ExcludedThing
}

// ExcludedThing is one excluded thing, with all possible meanings of its words.
type ExcludedThing struct {
	Phrase  string
	Devices []int
	Areas   []string
}

// has reports whether the exclusion has device d.
func (e ExcludedThing) has(r *Resolver, d int) bool {
	return slices.Contains(e.Devices, d) || slices.ContainsFunc(e.Areas, func(area string) bool { return r.IsIn(d, area) })
}

// withoutExcluded returns the devices of a hypothesis without the excluded ones.
func (x *Request) withoutExcluded(rd *Hypothesis) ([]int, capabilities.Outcome, bool) {
	for _, one := range x.Exclusion.Names {
		if !slices.ContainsFunc(rd.Devices, func(d int) bool { return one.has(x.Resolver, d) }) {
			return nil, x.Reject(fmt.Sprintf("%q: there is none of that among %s", x.Exclusion.Phrase, strings.Join(x.Resolver.Labels(rd.Devices), ", ")), x.Resolver.Labels(rd.Devices)), false
		}
	}
	kept := slices.DeleteFunc(slices.Clone(rd.Devices), func(d int) bool {
		return slices.ContainsFunc(x.Exclusion.Names, func(one ExcludedThing) bool { return one.has(x.Resolver, d) })
	})
	if len(kept) == 0 {
		return nil, x.Reject(fmt.Sprintf("%q leaves nothing to do", x.Exclusion.Phrase), nil), false
	}
	return kept, capabilities.Outcome{}, true
}

// otherRooms returns the rooms that a cleaner knows without the excluded ones.
func (x *Request) otherRooms(d int) ([]string, capabilities.Outcome, bool) {
	kept := entity.Rooms(x.Resolver.Site.Devices[d].WorkAreas)
	known := len(kept)
	for _, one := range x.Exclusion.Names {
		n := len(kept)
		kept = slices.DeleteFunc(kept, func(room string) bool {
			return slices.ContainsFunc(one.Areas, func(a string) bool { return strings.EqualFold(a, room) })
		})
		if len(kept) == n {
			return nil, x.Reject(fmt.Sprintf("%q: the %s knows no room of that name; it knows %s", x.Exclusion.Phrase, x.Resolver.Label(d), listPlaces(entity.Rooms(x.Resolver.Site.Devices[d].WorkAreas))), nil), false
		}
	}
	if known == 0 || len(kept) == 0 {
		return nil, x.Reject(fmt.Sprintf("%q leaves nothing to do", x.Exclusion.Phrase), nil), false
	}
	return kept, capabilities.Outcome{}, true
}
