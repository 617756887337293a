package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// What counts out, asks about the past or takes an order back is none, and nobody is
// asked whether the rest of it is meant.
func TestWhatIsNoOrderIsNotAskedAbout(t *testing.T) {
	r := interpret.New(catalog.Default(), house())
	for _, intent := range []string{
		"turn on none of the lights",
		"turn on neither light",
		"nobody turn on the porch light",
		"turn on all the lights minus the porch light",
		"turn on any light other than the porch light",
		"turn on the porch light rather than the hall light",
		"turn on half of the lights",
		"undo turn on the porch light",
		"ignore this: turn on the porch light",
	} {
		if o := r.Resolve(ask(intent)); !strings.Contains(got(o), "excludes something") {
			t.Errorf("Resolve(%q) = %q", intent, got(o))
		}
	}
	for _, intent := range []string{"would you have turned on the porch light", "have you turned on the porch light", "had you turned on the porch light"} {
		if o := r.Resolve(ask(intent)); o.Plan != nil && o.Plan.Actuates() {
			t.Errorf("Resolve(%q) = %q", intent, got(o))
		}
	}
}

// Where a word says to end something, the rest is not offered as a beginning.
func TestAStopIsNotAskedAboutAsAStart(t *testing.T) {
	r := interpret.New(catalog.Default(), house())
	for _, intent := range []string{
		"stop the vacuum cleaning the kitchen", "pause the vacuum, then go on", "quit the vacuum cleaning the kitchen", "send the vacuum away", "stop turning the hall light on",
	} {
		if o := r.Resolve(ask(intent)); o.Question != nil || o.Plan != nil {
			t.Errorf("Resolve(%q) = %q", intent, got(o))
		}
	}
}
