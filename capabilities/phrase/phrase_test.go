package phrase_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/capabilities/phrase"
	"github.com/messkit/messkit/mess"
)

func label(device string) string { return strings.ReplaceAll(device, "-", " ") }

func jsonOf(t *testing.T, p capabilities.Plan) string {
	t.Helper()
	data, err := json.Marshal(phrase.JSON(phrase.Of(p, label)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The plan of a sentence has phrases with all that its words say.
func TestPhrasesOfSentences(t *testing.T) {
	home := capabilities.Home{MaxSteps: 8, Devices: []capabilities.Device{
		{Name: "hall-light", Class: "light", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.Dim, capabilities.SetColor}},
		{Name: "heater", Class: "heater", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.SetTemperature}},
		{Name: "vacuum", Class: "vacuum", Commands: []capabilities.Command{capabilities.Clean}, WorkAreas: []capabilities.WorkArea{{Name: "kitchen", Room: "kitchen"}, {Name: "near sink", Room: "kitchen"}, {Name: "hall", Room: "hall"}}},
	}}
	r := interpret.New(catalog.Default(), home)
	for intent, want := range map[string]string{
		"turn on the hall light":                 `[{"code":"switch-on","device":"hall light"}]`,
		"set the hall light to 40 percent":       `[{"code":"set-brightness","device":"hall light","values":{"level":40}}]`,
		"turn on the heater for 10 minutes":      `[{"code":"switch-on","device":"heater","for":600}]`,
		"vacuum near the sink":                   `[{"code":"vacuum-floor","device":"vacuum","values":{"areas":["near sink"],"rooms":["kitchen"]}}]`,
		"vacuum the kitchen and the hall":        `[{"code":"vacuum-floor","device":"vacuum","values":{"areas":["kitchen","hall"],"rooms":["kitchen","hall"]}}]`,
		"turn off the hall light and the heater": `[{"code":"switch-off","device":"hall light"},{"code":"switch-off","device":"heater"}]`,
		"make the hall light red":                `[{"code":"set-colour","device":"hall light","values":{"colour":"red"}}]`,
	} {
		out := r.Resolve(mess.Request{Intent: intent})
		if out.Plan == nil {
			t.Errorf("%s: %+v", intent, out)
			continue
		}
		if got := jsonOf(t, *out.Plan); got != want {
			t.Errorf("%s: %s, want %s; the words are %q, %q", intent, got, want, out.Plan.Summary, out.Plan.Consequences)
		}
	}
}

// Words that say more or less than the built-in ones have no phrases, so that no translation hides it.
func TestOtherWordsHaveNoPhrases(t *testing.T) {
	good := capabilities.Plan{Capability: "switch-on", Device: "lamp", Command: capabilities.SetSwitch, For: time.Minute, Summary: "turn on the lamp for 1 minute", Consequences: "the lamp will be on"}
	if got := phrase.Of(good, label); len(got) != 1 {
		t.Fatalf("the built-in words have the phrases %v", got)
	}
	for what, change := range map[string]func(*capabilities.Plan){
		"another capability":   func(p *capabilities.Plan) { p.Capability = "ring" },
		"a day":                func(p *capabilities.Plan) { p.Summary += ", on Monday 2 January at 15:04:05" },
		"no duration":          func(p *capabilities.Plan) { p.Summary = "turn on the lamp" },
		"another duration":     func(p *capabilities.Plan) { p.For = time.Hour },
		"another device":       func(p *capabilities.Plan) { p.Device = "heater" },
		"more consequences":    func(p *capabilities.Plan) { p.Consequences += ", and hot" },
		"no consequences":      func(p *capabilities.Plan) { p.Consequences = "" },
		"a wait without words": func(p *capabilities.Plan) { p.After = time.Minute },
		"other words of all":   func(p *capabilities.Plan) { p.Steps = []capabilities.Plan{good}; p.Summary = "all of it" },
	} {
		p := good
		change(&p)
		if got := phrase.Of(p, label); got != nil {
			t.Errorf("%s: %q has the phrases %v", what, p.Summary, got)
		}
	}
}

// The codes are built-in capabilities with their words, so that a change of the catalog changes them too.
func TestCodesAreOfBuiltInCatalog(t *testing.T) {
	all, with := phrase.Codes()
	for _, code := range all {
		c := catalog.Default().Find(code)
		if code == phrase.Press {
			continue
		}
		if c == nil || (c.Consequences != "") != slices.Contains(with, code) {
			t.Errorf("%s is no built-in capability with such consequences", code)
			continue
		}
		fill := strings.NewReplacer("{device}", "thing", "{areas}", "the hall", "{rooms}", "the hall", "{angle}", "5 degrees", "{level}", "5", "{change}", "5", "{kelvin}", "5", "{opening}", "5", "{temperature}", "5",
			"{view}", "door", "{thing}", "a cat", "{quantity}", "power", "{colour}", "red")
		p := capabilities.Plan{Capability: code, Device: "thing", Summary: fill.Replace(c.Summary), Consequences: fill.Replace(c.Consequences)}
		if got := phrase.Of(p, label); len(got) != 1 {
			t.Errorf("%s: %q, %q have no phrase", code, p.Summary, p.Consequences)
		}
	}
}

// No words make Of fail, and a phrase has the device of its plan.
func FuzzOf(f *testing.F) {
	f.Add("vacuum-floor", "vacuum", "vacuum the kitchen and near sink", "the vacuum will move about the kitchen and take up what lies there")
	f.Add("move-servo", "my (arm", "turn my (arm to -4 degrees", "my (arm will move to -4 degrees")
	f.Add("print-start", "press", "print a file on the press", "")
	f.Fuzz(func(t *testing.T, code, device, summary, consequences string) {
		p := capabilities.Plan{Capability: code, Device: device, Summary: summary, Consequences: consequences}
		for _, one := range phrase.Of(p, func(d string) string { return d }) {
			if one.Device != device || !strings.Contains(summary+consequences, device) && !strings.Contains(code, "cancel") {
				t.Errorf("%q: %+v", summary, one)
			}
		}
	})
}
