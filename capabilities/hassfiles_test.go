package capabilities_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/messkit/messkit/capabilities"
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

// The folder of a language is read as Home Assistant has it: what the files share
// lies beside them, and a domain narrows a sentence to classes of devices.
func TestHomeAssistantFolder(t *testing.T) {
	for _, folder := range []string{"sentences/en/", "custom_sentences/en/", ""} {
		c, err := capabilities.Load(capabilities.English(), fstest.MapFS{folder + "_common.yaml": {Data: []byte(hassCommon)}, folder + "light_HassTurnOn.yaml": {Data: []byte(hassLight)}})
		if err != nil {
			t.Fatal(err)
		}
		r := capabilities.NewResolver(c, house())
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
		if left := strings.Join(c.Skipped(), "\n"); len(c.Skipped()) != 2 || !strings.Contains(left, "light_HassTurnOn.yaml:12") {
			t.Errorf("left out: %s, want the one with a brightness, and that for an area", left)
		}
	}
}

// A rule beside sentences counts there alone, and before that of its name which all
// share.
func TestHomeAssistantRulesBesideSentences(t *testing.T) {
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
	c, err := capabilities.Load(capabilities.English(), fstest.MapFS{"a.yaml": {Data: []byte(file)}})
	if err != nil {
		t.Fatal(err)
	}
	r := capabilities.NewResolver(c, house())
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

// Files that would become very many sentences are left out or refused, and take no time.
func TestHostileHomeAssistantFiles(t *testing.T) {
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
		"a missing rule":   "language: en\nintents: {HassTurnOn: ['<nothing> {name}']}\n",
		"a wildcard":       "language: en\nintents: {HassTurnOn: ['do {anything} with {name}']}\nlists: {anything: {wildcard: true}}\n",
	} {
		c, err := capabilities.Load(capabilities.English(), fstest.MapFS{"a.yaml": {Data: []byte(text)}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(c.Skipped()) != 1 {
			t.Errorf("%s: left out: %d, want its sentence", name, len(c.Skipped()))
		}
	}
}

// What cannot be is told with its file and line.
func TestHomeAssistantMistakes(t *testing.T) {
	for _, c := range []struct{ yaml, want string }{
		{"intents:\n  HassTurnOn:\n    - \"zap [the {name}\"\n", `a.yaml:3: HassTurnOn: sentence "zap [the {name}": a bracket is not closed`},
		{"intents: [HassTurnOn]\n", "a.yaml:1: intents: no mapping"},
		{"language: en\nexpansion_rules:\n  go: \"(a|b\"\n", `a.yaml:3: expansion_rules: go: "(a|b" is no template`},
		{"language: en\nskip_words:\n  - pretty\n  - not\n", `a.yaml:4: skip_words: "not" says something here`},
		{"language: en\nskip_words: [\"off\"]\n", `a.yaml:2: skip_words: "off" says something here`},
		{"language: en\nskip_words: pretty\n", "a.yaml:2: skip_words: no list"},
		{"intents:\n  HassTurnOn: 7\n", "a.yaml:2: HassTurnOn: neither a sentence nor a list"},
	} {
		_, err := capabilities.Load(capabilities.English(), fstest.MapFS{"a.yaml": {Data: []byte(c.yaml)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.yaml, err, c.want)
		}
	}
}

func TestTemplateOrders(t *testing.T) {
	for text, want := range map[string]string{
		"(a;b|c)":     `does not go with`,
		"(a|b;c)":     `does not go with`,
		"[a;b]":       `does not go with`,
		"(a;b;c;d;e)": "5 parts in any order are too many",
		"a;b":         `";" stands alone`,
		"(a;)":        "there is nothing before this",
	} {
		if _, err := capabilities.ParseTemplate(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseTemplate(%q): %v, want %s", text, err, want)
		}
	}
	if p, err := capabilities.ParseTemplate("(turn on;[the] {name};now)"); err != nil || p.String() != "(turn on;[the] {name};now)" {
		t.Errorf("%q, %v", p, err)
	}
}
