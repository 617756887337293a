package action

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// measurementsText returns a sentence such as "The fridge thermometer: temperature 4.5 °C, humidity
// 60 %."
func (run Run) measurementsText(readings []drivers.Reading) string {
	if len(readings) == 0 {
		return fmt.Sprintf("The %s measures nothing now.", run.Device.Label)
	}
	var parts []string
	for _, r := range readings {
		part := wording.Reading(r)
		if r.Estimated {
			part += " (estimated)"
		}
		if age := run.Now().Sub(r.At); !r.At.IsZero() && age >= wording.Stale {
			part += fmt.Sprintf(" (measured %v ago)", age.Round(time.Second))
		}
		if slices.Contains(parts, part) {
			continue // a contact and an opening both say that it is closed
		}
		parts = append(parts, part)
	}
	return fmt.Sprintf("The %s: %s.", run.Device.Label, strings.Join(parts, ", "))
}

// quantities lists the measured quantities.
func quantities(readings []drivers.Reading) string {
	names := make([]string, len(readings))
	for i, r := range readings {
		names[i] = r.Quantity
	}
	return wording.List(names)
}

// measurements returns the measurements as data, each with its time.
func (run Run) measurements(readings []drivers.Reading) mess.Object {
	var o mess.Object
	for _, r := range readings {
		m := mess.Object{{Key: "value", Value: mess.Number(wording.Number(r.Value))}}
		if r.Unit == "" {
			m = mess.Object{{Key: "value", Value: r.Value != 0}}
		} else {
			m = m.Set("unit", r.Unit)
		}
		if r.Estimated {
			m = m.Set("estimated", true)
		}
		o = o.Set(r.Quantity, append(m, wording.Aged(r.At, run.Now(), run.ClockMark)...))
	}
	return o
}

// factsOf converts the facts of a device to data.
func factsOf(list []drivers.Fact) mess.Object {
	var o mess.Object
	for _, f := range list {
		value := plainValue(f.Value)
		if f.Unit != "" {
			value = mess.Object{{Key: "value", Value: value}, {Key: "unit", Value: f.Unit}}
		}
		o = o.Set(f.Name, value)
	}
	return o
}

// plainValue converts a fact's value to a value of package mess.
func plainValue(v any) any {
	switch v := v.(type) {
	case []drivers.Fact:
		return factsOf(v)
	case float64:
		return mess.Number(wording.Number(v))
	}
	return v
}

// knownContents lists the contents that a response_hint may request besides text and images (MESS
// 1.0 section 3.2).
var knownContents = []string{"text", "image", "confirmation", "structured", "location"}

// Locations returns the locations of a plan's devices without duplicates.
func Locations(plan capabilities.Plan, r Result) []mess.Entry {
	if !slices.Contains(plan.Want, "location") {
		return nil
	}
	var list []mess.Entry
	var places []string
	for _, step := range plan.Each() {
		if step.Place != "" && !slices.Contains(places, step.Place) {
			places = append(places, step.Place)
			list = append(list, mess.ObjectEntry("location", mess.Location{Name: step.Place}))
		}
	}
	if room, _ := r.Facts.Get("room"); len(list) == 0 && room != nil { // a mobile robot reports its room
		list = append(list, mess.ObjectEntry("location", mess.Location{Name: fmt.Sprint(room)}))
	}
	return list
}

// Facts returns the facts of an act if the request asks for facts and the device provides none.
func Facts(plan capabilities.Plan, r Result) mess.Object {
	if len(r.Facts) > 0 || !slices.Contains(plan.Want, "structured") {
		return r.Facts
	}
	o := mess.Object{{Key: "device", Value: plan.Device}, {Key: "capability", Value: plan.Capability}}
	if len(r.Done) > 0 {
		o = o.Set("done", wording.AnyList(r.Done))
	}
	return o
}

// MissingContent explains which requested contents are missing, and why.
func MissingContent(plan capabilities.Plan, content []mess.Entry, notes string) string {
	has := func(kind string) bool {
		return slices.ContainsFunc(content, func(e mess.Entry) bool { return e.Type == kind })
	}
	var missing []string
	for _, want := range plan.Want {
		switch {
		case !slices.Contains(knownContents, want):
			missing = append(missing, fmt.Sprintf("no %s: no device here provides it", want))
		case want == "location" && !has("location"):
			missing = append(missing, fmt.Sprintf("no location: the configuration does not say where %s is (area)", plan.Device))
		case want == "confirmation" && !has("confirmation"):
			missing = append(missing, "no confirmation: "+noYesOrNoReason(plan))
		case want == "image" && !has("image") && !strings.Contains(notes, "picture"):
			missing = append(missing, "no image: no device here takes an image of that")
		}
	}
	return strings.Join(missing, "; ")
}

// noYesOrNoReason explains why the answer is neither yes nor no.
func noYesOrNoReason(plan capabilities.Plan) string {
	for _, step := range plan.Each() {
		switch asked, _ := step.QueriedState(); asked {
		case "":
			return "the answer to this is neither yes nor no"
		case capabilities.Present:
			thing, _ := step.Args.Get("thing")
			return fmt.Sprintf("the observations do not say whether there is %v", thing)
		}
	}
	return fmt.Sprintf("%s does not say whether it is so", plan.Device)
}

// setYes sets yes or no if the plan asks a yes-or-no question; is names the state that makes
// it a yes.
func (run Run) setYes(r *Result, is string, so bool) {
	asked, _ := run.Plan.QueriedState()
	if asked == "working" && is == "on" { // "is the fan running?"
		asked = is
	}
	switch asked {
	case is:
		r.Yes = &so
	case opposites[is]:
		r.Yes = new(!so)
	}
}

// opposites holds pairs of states of which exactly one is true: a device is on or off.
var opposites = map[string]string{"on": "off", "closed": "open", "locked": "unlocked"}

// quantityStates names the states that a measurement other than zero means, by quantity.
var quantityStates = map[string]string{
	"contact": "closed", "lock": "locked", "motion": "motion", "presence": "motion", "occupancy": "motion",
}

// yesFromMeasurements answers a question from measurements. Of several measurements of one
// quantity, the first counts.
func (run Run) yesFromMeasurements(r *Result, readings []drivers.Reading) {
	for _, m := range slices.Backward(readings) {
		if is, ok := quantityStates[m.Quantity]; ok && m.Unit == "" {
			run.setYes(r, is, math.Abs(m.Value) >= 1)
		}
	}
}

// yesFromFacts answers a question from a device's observations: a named thing is there, and only
// an explicit statement means that it is not.
func (run Run) yesFromFacts(ctx context.Context, r *Result, facts []drivers.Fact) {
	asked, _ := run.Plan.QueriedState()
	if dev, ok := run.Device.Driver.(drivers.DockReader); ok && asked == "docked" {
		if in, err := run.Pass.Docked(ctx, dev); err == nil {
			r.Yes = &in
		}
	}
	if dev, ok := run.Device.Driver.(drivers.RestReader); ok && asked == "working" {
		if still, err := run.Pass.AtRest(ctx, dev); err == nil {
			r.Yes = new(!still)
		}
	}
	value, _ := run.Plan.Args.Get("thing")
	thing, _ := value.(string)
	if asked != capabilities.Present || thing == "" {
		return
	}
	for _, f := range facts {
		there, isTruth := f.Value.(bool)
		if isTruth && slices.ContainsFunc(strings.Fields(f.Name), func(word string) bool { return interpret.EqualIgnoringPlural(word, thing) }) {
			r.Yes = &there
			return
		}
	}
}
