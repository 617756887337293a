package interpret_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/interpret"
)

const hassCommon = `
language: en
lists:
  brightness: {range: {from: 0, to: 100}}
skip_words: [cheers, would you kindly]
expansion_rules:
  name: "[the] {name}"
  area: "[the] {area}"
  light: "(light | lights)"
  go: "(give|feed)"
`

const hassLight = `
language: en
intents:
  HassTurnOn:
    data:
      - sentences: ["<go> juice to <name>"]
        requires_context: {domain: light}
      - sentences: ["(zap;<name>;now then)"]
        excludes_context: {domain: [cover, light]}
      - sentences: ["<go> juice in <area>"]
        slots: {domain: light}
      - sentences: ["<go> juice to <name> at {brightness}"]
      - sentences: ["<go> juice to <name> alone"]
        requires_context: {area: {slot: true}}
`

// The loader reads the folder of a language in the layout of Home Assistant: shared content is
// next to the files, and a domain narrows a sentence to classes of devices.
func TestHomeAssistantLanguageFolder(t *testing.T) {
	for _, folder := range []string{"sentences/en/", "custom_sentences/en/", ""} {
		c, err := catalog.Load(catalog.English(), fstest.MapFS{folder + "_common.yaml": {Data: []byte(hassCommon)}, folder + "light_HassTurnOn.yaml": {Data: []byte(hassLight)}})
		if err != nil {
			t.Fatal(err)
		}
		r := interpret.New(c, exampleHome())
		for intent, want := range map[string]string{
			"feed juice to the porch light":                      "switch-on porch-lamp",
			"would you kindly feed juice to the porch light":     "switch-on porch-lamp",
			"zap the heater now then":                            "switch-on heater",
			"now then zap the heater":                            "switch-on heater",
			"the heater now then zap":                            "switch-on heater",
			"give juice in the porch":                            "switch-on porch-lamp",
			"feed juice to the heater":                           "no: ",
			"zap the porch light now then":                       "no: ",
			"feed juice to the porch light at fifty":             "no: ",
			"feed juice to the porch light alone":                "? go_ahead",
			"would you kindly not feed juice to the porch light": "no: ",
		} {
			if o := r.Resolve(ask(intent)); !strings.HasPrefix(got(o), want) {
				t.Errorf("%q: Resolve(%q) = %q, want %q", folder, intent, got(o), want)
			}
		}
		if left := fmt.Sprint(c.Skipped()); len(c.Skipped()) != 2 || !strings.Contains(left, "light_HassTurnOn.yaml:12") {
			t.Errorf("left out: %s, want the one with a brightness, and that for an area", left)
		}
	}
}

// A rule next to sentences counts only there, and wins over a shared rule of the same name.
func TestLocalRulesWinOverSharedRules(t *testing.T) {
	const file = `
language: en
intents:
  HassTurnOn:
    data:
      - sentences: ["<wake> {name}"]
        expansion_rules: {wake: "(rouse|stir)"}
      - sentences: ["<wake> up {name}"]
      - sentences: ["<wake> {name} gently"]
        expansion_rules: {wake: "{brightness}"}
      - sentences: ["<wake> {name} softly on"]
        expansion_rules: {wake: "don't"}
  HassTurnOff:
    data:
      - sentences: ["<lull> {name}"]
        expansion_rules: {lull: "(hush|<lull>)"}
expansion_rules:
  wake: "awaken"
`
	c, err := catalog.Load(catalog.English(), fstest.MapFS{"a.yaml": {Data: []byte(file)}})
	if err != nil {
		t.Fatal(err)
	}
	r := interpret.New(c, exampleHome())
	for intent, want := range map[string]string{
		"rouse the heater": "switch-on heater", "stir the heater": "switch-on heater", "awaken up the heater": "switch-on heater",
		"rouse up the heater": "? ", "awaken the heater": "? ", "awaken the heater gently": "no: ", "hush the heater": "no: ", "the heater softly on": "? ",
	} {
		if o := r.Resolve(ask(intent)); !strings.HasPrefix(got(o), want) && !(want == "? " && o.Plan == nil) {
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
	if n := len(c.Skipped()); n != 3 {
		t.Errorf("left out: %q, want the one with a brightness, the one with an apostrophe, and the one whose rule is in itself", c.Skipped())
	}
}

// The loader skips or refuses files that expand to very many sentences, and takes little
// time for them.
func TestHugeTemplatesAreRefused(t *testing.T) {
	bomb := "language: en\nintents:\n  HassTurnOn:\n    data:\n      - sentences: ['<r0> {name}']\nexpansion_rules:\n"
	for i := range 60 {
		bomb += fmt.Sprintf("  r%d: '(<r%d>|<r%d> <r%d>)'\n", i, i+1, i+1, i+1)
	}
	bomb += "  r60: '(a|b|c|d|e)'\n"
	wide := "language: en\nintents:\n  HassTurnOn: ['" + strings.Repeat("(a|b|c|d|e|f|g|h) ", 40) + "{name}']\n"
	for name, text := range map[string]string{
		"a rule in itself": "language: en\nintents: {HassTurnOn: ['<a> {name}']}\nexpansion_rules: {a: '<a> <a>'}\n",
		"two in a circle":  "language: en\nintents: {HassTurnOn: ['<a> {name}']}\nexpansion_rules: {a: 'x <b>', b: 'y <a>'}\n",
		"a bomb":           bomb,
		"wide":             wide,
		"a wildcard":       "language: en\nintents: {HassTurnOn: ['do {anything} with {name}']}\nlists: {anything: {wildcard: true}}\n",
	} {
		c, err := catalog.Load(catalog.English(), fstest.MapFS{"a.yaml": {Data: []byte(text)}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(c.Skipped()) != 1 {
			t.Errorf("%s: left out: %d, want its sentence", name, len(c.Skipped()))
		}
	}
}

// Each mistake has its file and line.
func TestHomeAssistantMistakesHaveFileAndLine(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	for _, c := range []struct{ yaml, want string }{
		{"intents:\n  HassTurnOn:\n    - \"zap [the {name}\"\n", `a.yaml:3: HassTurnOn: sentence "zap [the {name}": a closing bracket is missing`},
		{"intents: [HassTurnOn]\n", "a.yaml:1: intents: no mapping"},
		{"language: en\nexpansion_rules:\n  go: \"(a|b\"\n", `a.yaml:3: expansion_rules: go: "(a|b" is no template`},
		{"language: en\nskip_words:\n  - pretty\n  - not\n", `a.yaml:4: skip_words: "not" has a meaning here`},
		{"language: en\nskip_words: [\"off\"]\n", `a.yaml:2: skip_words: "off" has a meaning here`},
		{"language: en\nskip_words: pretty\n", "a.yaml:2: skip_words: no list"},
		{"intents:\n  HassTurnOn: 7\n", "a.yaml:2: HassTurnOn: neither a sentence nor a list"},
		{"intents:\n  HassTurnOn:\n    - \"zap {name}\"\n    - \"<nope> {name}\"\n", `a.yaml:4: HassTurnOn: sentence "<nope> {name}": rule <nope> is not there; define it under expansion_rules`},
		{"expansion_rules: {go: '<nope> on'}\nintents:\n  HassTurnOn: [\"<go> {name}\"]\n", `a.yaml:3: HassTurnOn: sentence "<go> {name}": rule <nope> is not there`},
		{"intents:\n  HassTurnOn:\n    - \"zap {name} {nope:level}\"\n", "a.yaml:3: HassTurnOn: sentence \"zap {name} {nope:level}\": list {nope} is not there; define it under lists"},
		{"language: de\nintents: {HassTurnOn: ['schalte {name} an']}\n", `a.yaml:1: language: "de" is not that of the words here, "en"`},
		{"intents:\n  HassTurnOn:\n    data:\n      - sentence: [\"zap {name}\"]\n", "a.yaml:4: HassTurnOn: no sentences here; write sentences: with a list"},
		{"sentences: [\"zap {name}\"]\n", "a.yaml:1: the intent of these sentences is unknown"},
		{"lists:\n  height: {range: {from: 5, to: 1}}\n", "a.yaml:2: lists: height: no range; write from: and to: with numbers"},
		{"lists:\n  height: [1]\n", "a.yaml:2: lists: height: no list; write values:, range: or wildcard: true"},
		{"lists:\n  height:\n    values:\n      - {out: 3}\n", "a.yaml:4: lists: height: a value is neither a text nor in: with out:"},
		{"intents:\n  HassTurnOn:\n    data:\n      - sentences: [\"zap {name}\"]\n        requires_context: light\n", "a.yaml:5: HassTurnOn: requires_context: no mapping"},
		{"intents:\n  HassTurnOn:\n    data:\n      - sentences: [\"zap {name}\"]\n        slots: {domain: [5]}\n", "a.yaml:5: HassTurnOn: no name of a domain"},
	} {
		_, err := catalog.Load(catalog.English(), fstest.MapFS{"a.yaml": {Data: []byte(c.yaml)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.yaml, err, c.want)
		}
	}
}

// The error lists all mistakes, file by file.
func TestHomeAssistantMistakesAreListedTogether(t *testing.T) {
	_, err := catalog.Load(catalog.English(), catalog.WithPathInErrors(fstest.MapFS{
		"a.yaml": {Data: []byte("intents:\n  HassTurnOn: [\"<nope> {name}\", \"zap [ {name}\"]\nlists: {x: 5}\n")},
		"b.yaml": {Data: []byte("language: de\nintents: {}\n")},
	}, "words"))
	for _, want := range []string{"words/a.yaml:2: HassTurnOn: sentence \"zap [ {name}\"", "words/a.yaml:2: HassTurnOn: sentence \"<nope> {name}\"", "words/a.yaml:3: lists: x", "words/b.yaml:1: language"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A slot is a parameter: a number in its range, a text of a list, the name of a color.
func TestHomeAssistantSlotsAreParameters(t *testing.T) {
	const file = `
language: en-GB
lists:
  brightness: {range: {type: percentage, from: 5, to: 100}}
  brightness_level: {values: [{in: "(tiptop|maximum)", out: 100}, {in: wee, out: 1}]}
  color: {values: [red, {in: "grass[y]", out: green}, black]}
  temperature_unit: {values: [celsius, {in: c, out: celsius}, fahrenheit]}
expansion_rules:
  brightness: "{brightness}[ ][%|percent]"
  temperature: "{temperature}[[ ](°|degrees)[[ ]{temperature_unit}]]"
  fit: "(rig)[s] [up]|fettle"
intents:
  HassLightSet:
    data:
      - sentences: ["<fit> <name>['s brightness] [to] <brightness>", "<fit> <name> [to ](be )[very ]{brightness_level:brightness}", "<fit> <name> {color}"]
        requires_context: {domain: light}
      - sentences: ["<fit> [all of] <area> to <brightness>"]
        slots: {name: all}
      - sentences: ["<fit> <name> {brightness} and {color}"]
  HassSetPosition:
    data: [{sentences: ["<fit> {cover_classes:device_class} in <area> at <position>", "<fit> {name} at <position>"], slots: {domain: cover}}]
  HassClimateSetTemperature:
    data: [{sentences: ["<fit> {name} at <temperature>"]}]
  HassClimateGetTemperature:
    data: [{sentences: ["is it toasty in <area>"]}]
  HassVacuumCleanArea:
    data: [{sentences: ["buzz [through] <area>"]}]
`
	c, err := catalog.Load(catalog.English(), fstest.MapFS{"a.yaml": {Data: []byte(file)}})
	if err != nil {
		t.Fatal(err)
	}
	if left := c.Skipped(); len(left) != 1 || !strings.Contains(left[0].Sentence, "{brightness} and {color}") {
		t.Errorf("left out: %q, want the one with two parameters", left)
	}
	r := interpret.New(c, capabilities.Home{Devices: []capabilities.Device{
		{Name: "lamp", Label: "lamp", Class: "light", Area: "attic", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.Dim, capabilities.SetColor}},
		{Name: "spot", Label: "spot", Class: "light", Area: "attic", Commands: []capabilities.Command{capabilities.SetSwitch, capabilities.Dim}},
		{Name: "stove", Label: "stove", Class: "heater", Area: "attic", Commands: []capabilities.Command{capabilities.SetTemperature}},
		{Name: "blind", Label: "blind", Class: "blind", Area: "attic", Commands: []capabilities.Command{capabilities.OpenTo}},
		{Name: "meter", Label: "meter", Class: "thermometer", Area: "attic", Commands: []capabilities.Command{capabilities.ReadState}, Quantities: []string{"temperature"}},
		{Name: "robot", Label: "robot", Class: "vacuum", Commands: []capabilities.Command{capabilities.Clean}, WorkAreas: []capabilities.WorkArea{{Name: "attic", Room: "attic"}}},
	}})
	for intent, want := range map[string]string{
		"rig the lamp to 40":             "set the lamp to 40 percent",
		"rigs up lamp 40%":               "set the lamp to 40 percent",
		"fettle the lamp's brightness 7": "set the lamp to 7 percent",
		"rig the lamp to be very tiptop": "set the lamp to 100 percent",
		"rig the lamp be wee":            "set the lamp to 1 percent",
		"rig lamp grassy":                "make the lamp green",
		"rig the lamp black":             "",
		"rig the lamp to 140":            "",
		"rig the lamp to 2":              "",
		"rig the stove to 40":            "",
		"rig the attic to 40 percent":    "set the lamp to 40 percent, set the spot to 40 percent",
		"rig blinds in the attic at 30":  "take the blind to 30 percent open",
		"rig the blind at 30 percent":    "take the blind to 30 percent open",
		"rig the stove at 21":            "set the stove to 21 °C",
		"rig the stove at 68°F":          "set the stove to 20 °C",
		"is it toasty in the attic?":     "read the temperature from the meter",
		"buzz through the attic":         "vacuum the attic",
	} {
		o := r.Resolve(ask(intent))
		if plan := o.Plan; want == "" && plan != nil || want != "" && (plan == nil || plan.Summary != want) {
			t.Errorf("Resolve(%q) = %s, want %q", intent, got(o), want)
		}
	}
}

// In the layout with a folder for each intent the file says for which devices it is. With a
// domain an intent may be another act.
func TestHomeAssistantIntentFolders(t *testing.T) {
	files := fstest.MapFS{
		"sentences/en/_common.yaml":                     {Data: []byte("language: en\nexpansion_rules: {zap: '(zap|zip)'}\nskip_words: [i want, \"i'd like\"]\n")},
		"sentences/en/HassTurnOn/name_only.yaml":        {Data: []byte("language: en\nsentences: ['<zap> [<the>] {name}', '[<the>] {name}', '<the> {name}']\nresponse: default\n")},
		"sentences/en/HassTurnOn/name_lock.yaml":        {Data: []byte("language: en\nsentences: ['snib [<the>] {name}']\n")},
		"sentences/en/HassTurnOn/area_domain.yaml":      {Data: []byte("language: en\ndata:\n  - sentences: ['glimmer [<the>] {area}']\n    inferred_domain: light\n")},
		"sentences/en/HassTurnOff/name_script.yaml":     {Data: []byte("language: en\nsentences: ['unrun {name}']\n")},
		"sentences/de/HassTurnOn/name_only.yaml":        {Data: []byte("language: de\nsentences: ['schalte {name} an']\n")},
		"custom_sentences/en/HassTurnOff/anything.yaml": {Data: []byte("language: en\nsentences: ['quench {name}', 'never ever wake {name}']\n")},
	}
	c, err := catalog.Load(catalog.English(), files)
	if err != nil {
		t.Fatal(err)
	}
	home := exampleHome()
	home.Devices = append(home.Devices, capabilities.Device{Name: "bolt", Label: "cellar bolt", Class: "lock", Commands: []capabilities.Command{capabilities.Lock, capabilities.Unlock}})
	r := interpret.New(c, home)
	for intent, want := range map[string]string{
		"zip the heater":             "switch-on heater",
		"snib the cellar bolt":       "lock bolt",
		"snib the heater":            "no: ",
		"glimmer the porch":          "switch-on porch-lamp",
		"unrun the heater":           "no: ",
		"quench the heater":          "switch-off heater",
		"never ever wake the heater": "no: ",
		"the heater":                 "? order: ",
		"my heater":                  "? order: ",
	} {
		if o := r.Resolve(ask(intent)); !strings.HasPrefix(got(o), want) {
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
	if left := fmt.Sprint(c.Skipped()); len(c.Skipped()) != 4 {
		t.Errorf("left out: %s, want the two bare names, the script and the one that forbids", left)
	}
}

// Each skipped sentence has a reason, and a floor is a place.
func TestSkippedSentencesHaveAReason(t *testing.T) {
	const file = `
language: en
lists:
  message: {wildcard: true}
  seconds: {range: {from: 1, to: 60}}
intents:
  HassTurnOn:
    data:
      - {sentences: ["kindle lights on <floor>"], slots: {domain: light, name: all}}
      - {sentences: ["kindle {name} here"], requires_context: {area: {slot: true}}}
      - sentences: ["[my] {name}", "kindle {name} {seconds}", "kindle <name> {message}"]
  HassBroadcast: ["shout {message}"]
  HassNevermind: ["mind that thing"]
`
	c, err := catalog.Load(catalog.English(), fstest.MapFS{"a.yaml": {Data: []byte(file)}})
	if err != nil {
		t.Fatal(err)
	}
	if o := interpret.New(c, exampleHome()).Resolve(ask("kindle lights on the porch level")); got(o) != "switch-on porch-lamp" {
		t.Errorf("a floor that is a place: %s", got(o))
	}
	want := map[string]string{
		"kindle {name} here": "their context (area)", "[my] {name}": "a bare name", "kindle {name} {seconds}": "no words here for {seconds}", "kindle <name> {message}": "a wildcard",
		"shout {message}": "a wildcard", "mind that thing": "no capability here for their intent",
	}
	for _, left := range c.Skipped() {
		for text, why := range want {
			if strings.Contains(left.Sentence, fmt.Sprintf("%q", text)) && strings.Contains(left.Reason, why) {
				delete(want, text)
			}
		}
	}
	if len(want) > 0 || len(c.Skipped()) != 6 {
		t.Errorf("skipped: %v; missing in it: %v", c.Skipped(), want)
	}
}

func TestTemplateOrders(t *testing.T) {
	for text, want := range map[string]string{
		"(a;b|c)":     `does not go with`,
		"(a|b;c)":     `does not go with`,
		"[a;b]":       `does not go with`,
		"(a;b;c;d;e)": "5 parts in any order are too many",
		"a;b":         `";" stands alone`,
		"(a;)":        "nothing stands before this",
	} {
		if _, err := grammar.ParseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseTemplate(%q): %v, want %s", text, err, want)
		}
	}
	if p, err := grammar.ParseTemplate("(turn on;[the] {name};now)"); err != nil || p.String() != "(turn on;[the] {name};now)" {
		t.Errorf("%q, %v", p, err)
	}
}
