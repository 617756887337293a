package interpret_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// kitchenOf is a home with the devices of the examples in the specifications. Its vacuum
// knows only rooms.
func kitchenOf() *interpret.Interpreter {
	cover := []capabilities.Command{capabilities.Open, capabilities.Close}
	return interpret.New(catalog.Default(), capabilities.Home{Now: sunday, Devices: []capabilities.Device{
		{Name: "cooker", Label: "rice cooker", Class: "rice-cooker", Area: "kitchen", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState}},
		{Name: "main-water-valve", Class: "valve", Commands: cover},
		{Name: "fridge-camera", Class: "camera", Area: "kitchen", FieldOfView: []string{"fridge"}, Commands: []capabilities.Command{capabilities.TakePhoto, capabilities.Observe}},
		{Name: "vacuum", Class: "vacuum", Commands: []capabilities.Command{capabilities.Clean}, WorkAreas: []capabilities.WorkArea{{Name: "kitchen", Room: "kitchen"}, {Name: "living room", Room: "living room"}}},
	}})
}

// Each example of the specifications leads to a plan or to a question.
func TestExamplesOfSpecifications(t *testing.T) {
	r := kitchenOf()
	say(t, r, [][2]string{
		{"check what ingredients we have", "check-visual"},
		{"check what ingredients we have for dinner", "check-visual"},
		{"start rice cooker with 2 cups rice", "asks: the filling of the machine sets how much it makes, and not the number 2: shall I turn on the rice cooker?"},
		{"Turn off the main water valve", "close"},
		{"turn on the main water valve", "open"},
		{"vacuum the rice spill in front of the kitchen sink", `asks: this home knows only rooms, and not where "rice spill in front of sink" is: shall I vacuum the kitchen?`},
		{"vacuum the rice spill in the kitchen", `asks: this home knows only rooms, and not where "rice spill" is: shall I vacuum the kitchen?`},
		{"vacuum the rice spill in the garage", "no: "},
		{"is the rice spill in the kitchen?", "no: "},
	})
	exact := mess.Request{Intent: "vacuum the rice spill in front of the kitchen sink", Precision: mess.Exact, Requires: []mess.Capability{{ID: "vacuum-floor"}}}
	if o := r.Resolve(exact); o.Question == nil || !strings.Contains(o.Question.Text, "rice spill in front of sink") {
		t.Errorf("exactly: %s", got(o))
	}
	if o := interpret.New(catalog.Default(), exampleHome()).Resolve(exact); o.Plan == nil || got(o) != "vacuum-floor vacuum" && o.Plan.Capability != "vacuum-floor" {
		t.Errorf("with a vacuum that lists the spill: %s", got(o))
	}
}

// The tags of MESS 1.0 section 8.6 find the capabilities.
func TestTagsOfSpecification(t *testing.T) {
	tags := map[string][]string{}
	for _, d := range catalog.Default().Definitions() {
		for _, tag := range d.Tags {
			tags[tag] = append(tags[tag], d.ID)
		}
	}
	for tag, want := range map[string][]string{
		"visual": {"take-photo", "check-visual"}, "attachments": {"take-photo"}, "inspection": {"check-visual"},
		"cleaning": {"vacuum-floor"}, "maintenance": {"vacuum-floor"}, "access": {"open", "unlock"},
	} {
		for _, id := range want {
			if !slices.Contains(tags[tag], id) {
				t.Errorf("tag %s finds %v, want %s in it", tag, tags[tag], id)
			}
		}
	}
}
