package interpret_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// stage is a home with a scene, a script and a button, some of which share a name.
func stage() capabilities.Home {
	press := []capabilities.Command{capabilities.Press}
	return capabilities.Home{Devices: []capabilities.Device{
		{Name: "movie", Label: "movie night", Class: "scene", Commands: press},
		{Name: "night", Label: "good night", Class: "script", Commands: press},
		{Name: "bell", Label: "doorbell test", Class: "button", Area: "hall", Commands: press},
		{Name: "dinner", Label: "dinner", Class: "scene", Commands: press, Risk: capabilities.RiskComfort, Effect: capabilities.Once},
		{Name: "lamp", Label: "hall light", Class: "light", Area: "hall", Commands: []capabilities.Command{capabilities.SetSwitch}},
	}}
}

// A scene, script or button has the effect once and the risk access, unless its device has
// a lower one.
func TestSceneRunsOnceWithRiskAccess(t *testing.T) {
	r := interpret.New(catalog.Default(), stage())
	for text, want := range map[string]string{
		"activate movie night":                   "activate movie",
		"activate the movie night scene":         "activate movie",
		"start movie night":                      "activate movie",
		"turn on movie night":                    "activate movie",
		"run the script good night":              "activate night",
		"please run the good night script":       "activate night",
		"press the doorbell test":                "activate bell",
		"press the doorbell test button":         "activate bell",
		"push the doorbell test in the hall":     "activate bell",
		"activate dinner":                        "activate dinner",
		"turn on the hall light":                 "switch-on lamp",
		"could you activate movie night, please": "activate movie",
	} {
		o := r.Resolve(ask(text))
		if got(o) != want {
			t.Errorf("%q: %q, want %q", text, got(o), want)
			continue
		}
		p := o.Plan
		risk := map[string]capabilities.Risk{"dinner": capabilities.RiskComfort, "lamp": capabilities.RiskComfort}[p.Device]
		if risk == "" {
			risk = capabilities.RiskAccess
		}
		if p.Risk != risk || p.Device != "lamp" && (p.Effect != capabilities.Once || p.Command != capabilities.Press) {
			t.Errorf("%q: %s, %s, %s", text, p.Command, p.Risk, p.Effect)
		}
	}
	for _, text := range []string{
		"turn off movie night", "activate movie night for an hour", "is movie night on?", "did you activate movie night?", "movie night",
		"good night", "do not activate movie night", "activate everything", "press the hall light", "run the hall light script", "activate movie night if it is dark",
		"movie night was activated", "dim movie night", "toggle movie night",
	} {
		if o := r.Resolve(ask(text)); o.Plan != nil {
			t.Errorf("%q is done: %s", text, strings.TrimSpace(got(o)))
		}
	}
}
