package action

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/agent/wording"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// wished lists the contents that a response_hint may request besides text and images (MESS 1.0
// section 3.2).
var wished = []string{"text", "image", "confirmation", "structured", "location"}

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
	var why []string
	for _, want := range plan.Want {
		switch {
		case !slices.Contains(wished, want):
			why = append(why, fmt.Sprintf("no %s: nothing here gives that", want))
		case want == "location" && !has("location"):
			why = append(why, fmt.Sprintf("no location: the configuration does not say where %s is (area)", plan.Device))
		case want == "confirmation" && !has("confirmation"):
			why = append(why, "no confirmation: "+unanswered(plan))
		case want == "image" && !has("image") && !strings.Contains(notes, "picture"):
			why = append(why, "no image: nothing here takes one of that")
		}
	}
	return strings.Join(why, "; ")
}

// unanswered explains why the answer is neither yes nor no.
func unanswered(plan capabilities.Plan) string {
	for _, step := range plan.Each() {
		switch asked, _ := step.AsksFor(); asked {
		case "":
			return "this is not answered with yes or no"
		case capabilities.Seen:
			thing, _ := step.Args.Get("thing")
			return fmt.Sprintf("what was seen does not say whether there is %v", thing)
		}
	}
	return fmt.Sprintf("%s does not say whether it is so", plan.Device)
}
