package interpret_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// An interpreter from At answers like a new one for that moment.
func TestAtEqualsANewInterpreter(t *testing.T) {
	home := exampleHome()
	r := interpret.New(catalog.Default(), home)
	for _, c := range []struct {
		now   time.Time
		unset string
	}{{}, {now: sunday}, {now: sunday.Add(9 * time.Hour)}, {now: sunday, unset: "the clock was never set"}} {
		home.Now, home.ClockDoubt = c.now, c.unset
		made := interpret.New(catalog.Default(), home)
		for _, intent := range []string{"turn on the porch light", "turn on the porch light at 7 pm", "turn off the heater in ten minutes", "turn on the porch light until 20:00"} {
			if got, want := r.At(c.now, c.unset).Resolve(ask(intent)), made.Resolve(ask(intent)); !reflect.DeepEqual(got, want) {
				t.Errorf("%q at %v (%q): %+v, want %+v", intent, c.now, c.unset, got, want)
			}
		}
	}
	if o := r.Resolve(ask("turn on the porch light at 7 pm")); o.Plan != nil {
		t.Errorf("the resolver without a clock has one now: %+v", o.Plan)
	}
}

// Area names ignore case by the rules of Unicode.
func TestAreaNamesIgnoreCase(t *testing.T) {
	for _, areas := range [][]string{{"kitchen", "KITCHEN", "\u212aitchen"}, {"Küche", "KÜCHE", "küche"}, {"house 1", "House 1", "hou\u017fe 1"}} {
		var home capabilities.Home
		for i, area := range areas {
			home.Devices = append(home.Devices, capabilities.Device{
				Name: "lamp-" + string(rune('a'+i)), Class: "light", Area: area, Commands: []capabilities.Command{capabilities.SetSwitch},
			})
		}
		o := interpret.New(catalog.Default(), home).Resolve(ask("turn on the lights in the " + areas[0]))
		if o.Plan == nil || len(o.Plan.Each()) != len(areas) {
			t.Errorf("areas %q: %+v %+v, want %d lights", areas, o.Plan, o.Refusal, len(areas))
		}
	}
}
