package interpret_test

import (
	"testing"
	"testing/fstest"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

const hassData = `
language: en
intents:
  HassTurnOn:
    data:
      - sentences:
          - "<go> juice [to] {name}"
          - "kindle light[s] {brightness}"
        response: default
      - sentences: ["zap {name}"]
        slots: {domain: light}
  HassTurnOff:
    data:
      - sentences: ["(snuff|quench) [out] [the] {name} [in {area}]"]
expansion_rules:
  go: "(give|feed)"
`

const hassList = `
intents:
  HassTurnOff:
    - "starve [the] {name}"
  HassBakeCake: ["bake {name}"]
`

// The loader reads both layouts of Home Assistant's sentence files. It skips and lists the
// sentences without a meaning here.
func TestHomeAssistantLayouts(t *testing.T) {
	c, err := catalog.Load(catalog.English(), fstest.MapFS{"a.yaml": {Data: []byte(hassData)}, "b.yaml": {Data: []byte(hassList)}})
	if err != nil {
		t.Fatal(err)
	}
	r := interpret.New(c, exampleHome())
	for intent, want := range map[string]string{
		"give juice to the porch light":     "switch-on porch-lamp",
		"feed juice the heater":             "switch-on heater",
		"snuff out the porch light":         "switch-off porch-lamp",
		"quench the heater in the bathroom": "switch-off heater",
		"starve the heater":                 "switch-off heater",
		"turn on the porch light":           "switch-on porch-lamp",
	} {
		if o := r.Resolve(ask(intent)); got(o) != want {
			t.Errorf("Resolve(%q) = %q, want %q", intent, got(o), want)
		}
	}
	if o := r.Resolve(ask("zap the heater")); o.Plan != nil {
		t.Errorf("a sentence with slots of its own is understood: %s", got(o))
	}
	if n := len(c.Skipped()); n != 2 {
		t.Errorf("left out: %q, want the one with a brightness, and that of an unknown intent", c.Skipped())
	}
}

// hassBase is a small catalog.
const hassBase = `
hass: {A: on, HassTurnOn: on, HassTurnOff: on}
frames: [{capability: on, any: [go]}]
verbs: {go: [go], turn: [turn], make: [make], want: [want], should: [be], could: [can], start: [start], stop: [stop]}
signals: {"on": ["on"], whole: [house], here: [here], it: [it], dark: [dark], unsure: [this is], change: [change], joint: [upon], bit: [bit]}
capabilities:
  - {id: on, description: d, tags: [t], command: switch, args: {on: true}, risk: comfort, effect: idempotent, answer: command, summary: s, sentences: ["go {device}"]}
`

// The loader reads or refuses any content of a file.
func FuzzHomeAssistantSentences(f *testing.F) {
	f.Add([]byte(hassData))
	f.Add([]byte(hassList))
	f.Add([]byte("intents: {A: {data: [{sentences: ['(a|b) <c> {name}']}]}}\nexpansion_rules: {c: '<c>'}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := catalog.Load(fstest.MapFS{"a.yaml": {Data: data}, "base.yaml": {Data: []byte(hassBase)}})
		if err == nil && c == nil {
			t.Error("neither a catalog nor an error")
		}
	})
}
