package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// Rooms in one order are one plan with all of them, in the order of the text.
func TestSeveralRoomsAreOnePlan(t *testing.T) {
	r := lamps()
	for intent, want := range map[string]string{
		"vacuum the kitchen and the hall":                         "kitchen,hall",
		"Vacuum the hall and the kitchen.":                        "hall,kitchen",
		"vacuum kitchen, hall and bedroom":                        "kitchen,hall,bedroom",
		"vacuum the kitchen, the hall, and the bedroom please":    "kitchen,hall,bedroom",
		"please vacuum kitchen, hall, bedroom":                    "kitchen,hall,bedroom",
		"clean the kitchen and then the hall":                     "kitchen,hall",
		"clean the kitchen, then the hall, then the bedroom":      "kitchen,hall,bedroom",
		"hoover the kitchen as well as the hall":                  "kitchen,hall",
		"clean kitchen & hall":                                    "kitchen,hall",
		"vacuum both the kitchen and the hall":                    "kitchen,hall",
		"vacuum in the kitchen and in the hall":                   "kitchen,hall",
		"send the vacuum to the kitchen and the hall":             "kitchen,hall",
		"start the vacuum in the kitchen and the hall":            "kitchen,hall",
		"vacuum the kitchen and the kitchen and the hall":         "kitchen,hall",
		"the kitchen and the hall need vacuuming":                 "kitchen,hall",
		"I want the kitchen and the hall vacuumed":                "kitchen,hall",
		"have the vacuum clean the kitchen, followed by the hall": "kitchen,hall",
		"vacuum the kitchen and the hall in ten minutes":          "kitchen,hall",
	} {
		o := r.Resolve(ask(intent))
		if o.Plan == nil || o.Plan.Command != capabilities.Clean {
			t.Errorf("Resolve(%q) = %q, want one plan", intent, got(o))
			continue
		}
		areas, _ := o.Plan.Args.Get("areas")
		if list, _ := areas.([]string); strings.Join(list, ",") != want {
			t.Errorf("Resolve(%q): areas %v, want %s", intent, areas, want)
		}
	}
}

// constraints.location does not fit rooms that are elsewhere.
func TestLocationMustHaveTheRooms(t *testing.T) {
	r := lamps()
	for place, want := range map[string]string{
		"kitchen": `no: the request is for "hall", but constraints.location says "kitchen"; make them agree`,
		"home":    "vacuum-floor vacuum",
	} {
		req := ask("vacuum the kitchen and the hall")
		req.Constraints = &mess.Constraints{Location: &mess.TargetArea{Name: place}}
		if o := r.Resolve(req); got(o) != want {
			t.Errorf("in %s: %q, want %q", place, got(o), want)
		}
	}
}

// Words that are no list of known rooms are no such plan.
func TestOnlyListsOfRoomsAreOnePlan(t *testing.T) {
	r := lamps()
	for intent, want := range map[string]string{
		"vacuum the kitchen and the porch":                      "no: the vacuum does not know the way to the porch; it knows kitchen, hall, bedroom",
		"vacuum the porch and the kitchen":                      "no: the vacuum does not know the way to the porch; it knows kitchen, hall, bedroom",
		"vacuum both the kitchen, the hall and the bedroom":     "",
		"vacuum the kitchen and the attic":                      "? go_ahead: yes, no",
		"don't vacuum the kitchen and the hall":                 "",
		"did you vacuum the kitchen and the hall":               "",
		"I vacuumed the kitchen and the hall":                   "",
		"the kitchen and the hall":                              "",
		"vacuum the kitchen or the hall":                        "?",
		"vacuum the kitchen and turn off the hall light":        "several vacuum,hall-light",
		"vacuum the kitchen and the hall and turn off the pump": "several vacuum,pump",
		"vacuum the kitchen, then the hall and then dock":       "several vacuum,vacuum",
		"can you vacuum the kitchen and the hall?":              "? go_ahead: yes, no",
		"vacuum the kitchen and the hall twice":                 "several vacuum,vacuum",
		"turn on the kitchen and the hall light":                "switch-on kitchen-light,hall-light",
	} {
		o := r.Resolve(ask(intent))
		if is := got(o); want == "" && o.Plan != nil || want == "?" && o.Question == nil || want != "?" && want != "" && is != want {
			t.Errorf("Resolve(%q) = %q, want %q", intent, is, want)
		}
	}
}

// The refusal of an unknown room lists the rooms that the cleaner knows.
func TestUnknownRoomListsKnownRooms(t *testing.T) {
	r := lamps()
	for _, intent := range []string{
		"vacuum the attic", "please vacuum the attic", "could you clean the attic?", "hoover the attic and the kitchen", "send the vacuum to the attic",
	} {
		if o := r.Resolve(ask(intent)); o.Refusal == nil || o.Refusal.Reason != `not understood: "attic"; the vacuum knows these rooms: kitchen, hall, bedroom` {
			t.Errorf("Resolve(%q) = %q", intent, got(o))
		}
	}
	o := r.Resolve(ask("clean the attic with the vacuum"))
	if o.Question == nil || !strings.Contains(o.Question.Text, "the vacuum knows these rooms: kitchen, hall, bedroom") {
		t.Errorf("asked %+v, want the rooms in it", o.Question)
	}
	for _, intent := range []string{"is the attic clean?", "tell the vacuum to frobnicate", "turn on the attic"} {
		if o := r.Resolve(ask(intent)); o.Plan != nil || strings.Contains(got(o), "knows these rooms") {
			t.Errorf("Resolve(%q) = %q", intent, got(o))
		}
	}
	for places, why := range map[bool]string{true: "the robot has no known rooms; check whether it answers", false: "the robot knows no rooms: it cleans everything"} {
		home := capabilities.Home{Devices: []capabilities.Device{{Name: "robot", Class: "vacuum", ReportsAreas: places, Commands: []capabilities.Command{capabilities.Clean}}}}
		o = interpret.New(catalog.Default(), home).Resolve(ask("vacuum the attic"))
		if o.Refusal == nil || !strings.Contains(o.Refusal.Reason, `not understood: "attic"; `+why) {
			t.Errorf("without rooms, Places: %t: %q", places, got(o))
		}
	}
}
