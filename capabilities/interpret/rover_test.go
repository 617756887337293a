package interpret_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// A rover drives for the duration of the text, at its own pace.
func TestDriving(t *testing.T) {
	r := interpret.New(catalog.Default(), capabilities.Home{Devices: []capabilities.Device{
		{Name: "rover", Label: "rover", Class: "rover", Commands: []capabilities.Command{capabilities.Move}},
	}})
	for text, want := range map[string]struct {
		arg   string
		value string
		lasts time.Duration
	}{
		"drive the rover forward for 3 seconds": {"forward", "0.2", 3 * time.Second},
		"move the rover back for two seconds":   {"forward", "-0.2", 2 * time.Second},
		"turn the rover left for 1 second":      {"turn", "0.5", time.Second},
		"rotate the rover to the right for 1 s": {"turn", "-0.5", time.Second},
		"drive the rover ahead":                 {"forward", "0.2", 0},
	} {
		o := r.Resolve(ask(text))
		if o.Plan == nil {
			t.Errorf("%s: %+v", text, o.Refusal)
			continue
		}
		v, _ := o.Plan.Args.Get(want.arg)
		if o.Plan.Command != capabilities.Move || o.Plan.For != want.lasts || fmt.Sprint(v) != want.value || o.Plan.Risk != capabilities.RiskMotion || !o.Plan.Actuates() {
			t.Errorf("%s: %+v", text, o.Plan)
		}
	}
	for _, text := range []string{"drive the rover to the kitchen", "drive the rover forward until it is at the wall", "drive forward 3 metres"} {
		if o := r.Resolve(ask(text)); o.Plan != nil {
			t.Errorf("%s: %+v", text, o.Plan)
		}
	}
}
