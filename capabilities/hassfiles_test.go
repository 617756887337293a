package capabilities_test

import (
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
