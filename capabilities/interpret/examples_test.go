package interpret_test

import (
	"regexp"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// The examples in a refusal work in that home.
func TestExamplesInRefusalsWork(t *testing.T) {
	robot := []capabilities.Command{capabilities.Clean, capabilities.Dock, capabilities.Observe, capabilities.ReadState, capabilities.Pause, capabilities.Stop}
	camera := []capabilities.Command{capabilities.TakePhoto}
	for name, devices := range map[string][]capabilities.Device{
		"a robot alone":              {{Name: "vacuum", Class: "vacuum", Commands: robot}},
		"a robot with rooms":         {{Name: "vacuum", Class: "vacuum", ReportsAreas: true, WorkAreas: []capabilities.WorkArea{{Name: "hall", Room: "hall"}}, Commands: robot}},
		"a camera without a view":    {{Name: "yard-cam", Class: "camera", Commands: camera}},
		"a camera with one":          {{Name: "yard-cam", Class: "camera", FieldOfView: []string{"front door"}, Commands: camera}},
		"a lamp and a camera":        {{Name: "lamp", Class: "light", Commands: []capabilities.Command{capabilities.SetSwitch}}, {Name: "cam", Class: "camera", Commands: camera}},
		"a robot and a blind camera": {{Name: "vacuum", Class: "vacuum", Commands: robot}, {Name: "cam", Class: "camera", Commands: camera}},
	} {
		t.Run(name, func(t *testing.T) {
			r := interpret.New(catalog.Default(), capabilities.Home{Devices: devices})
			o := r.Resolve(ask("order a pizza"))
			if o.Refusal == nil {
				t.Fatalf("Resolve(order a pizza) = %q", got(o))
			}
			examples := regexp.MustCompile(`ask like ("[^;]*");`).FindStringSubmatch(o.Refusal.Reason)
			if examples == nil {
				t.Fatalf("no examples in %q", o.Refusal.Reason)
			}
			for _, example := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(examples[1], -1) {
				if o := r.Resolve(ask(example[1])); o.Plan == nil {
					t.Errorf("the example %q resolves to %s, want a plan", example[1], got(o))
				}
			}
		})
	}
}
