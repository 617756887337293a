package interpret_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// newLayout returns a small folder in the layout of Home Assistant's intents project of 2026.
// Rules and lists have their own folders, and each combination of slots has its own file. A
// description of all intents is at the top.
func newLayout() fstest.MapFS {
	return fstest.MapFS{
		"intents.yaml":                           {Data: []byte("HassTurnOn:\n  domain: homeassistant\n  slot_combinations:\n    name_only: {slots: [name]}\n")},
		"languages.yaml":                         {Data: []byte("en:\n  nativeName: English\n")},
		"rules/en/verbs.yaml":                    {Data: []byte("language: en\nexpansion_rules:\n  feed: (feed|give) [some]\n")},
		"lists/lights.yaml":                      {Data: []byte("lists:\n  shine:\n    range: {type: percentage, from: 0, to: 100}\n")},
		"lists/en/media.yaml":                    {Data: []byte("language: en\nlists:\n  media_class:\n    values: [{in: '[tv] show', out: tv_show}]\n")},
		"lists/de/media.yaml":                    {Data: []byte("language: de\nlists:\n  media_class:\n    values: [{in: Serie, out: tv_show}]\n")},
		"sentences/en/HassTurnOn/name_only.yaml": {Data: []byte("language: en\ndata:\n  - sentences: [\"<feed> juice to [<the>] {name}\", \"<gone> juice to {name}\"]\n    name_domains: [light]\n    response: default\n")},
		"sentences/en/HassMediaSearchAndPlay/media_class_only.yaml": {Data: []byte("language: en\ndata:\n  - sentences: [\"play some {media_class}\"]\n")},
	}
}

func TestLoadWordsReadsCurrentLayout(t *testing.T) {
	c, left := catalog.LoadWords(catalog.WithPathInErrors(newLayout(), "words"))
	files := ""
	for _, one := range left {
		files += one.File + " "
	}
	if files != "words/intents.yaml words/languages.yaml " {
		t.Errorf("left out: %v", left)
	}
	r := interpret.New(c, exampleHome())
	if o := r.Resolve(ask("give some juice to the porch light")); got(o) != "switch-on porch-lamp" {
		t.Errorf("a sentence of the folder: %s", got(o))
	}
	var missing bool
	for _, one := range c.Skipped() {
		missing = missing || strings.Contains(one.Reason, "rule <gone> is not there") && strings.Contains(one.Sentence, "name_only.yaml:3")
	}
	if !missing {
		t.Errorf("skipped: %v; want the sentence whose rule is not there", c.Skipped())
	}
}

func TestLoadWordsLeavesOutFiles(t *testing.T) {
	tree := fstest.MapFS{
		"good.yaml":    {Data: []byte("rules: {glow: (glow|gleam)}\ncapabilities:\n  - id: make-glow\n    description: make a light glow\n    command: switch\n    args: { on: true }\n    risk: comfort\n    effect: idempotent\n    answer: command\n    summary: let the {device} glow\n    sentences: [\"<glow> {device}\"]\n")},
		"strict.yaml":  {Data: []byte("capabilities:\n  - id: switch-on\n    description: switch on\n    risk: access\n    effct: once\n")},
		"broken.yaml":  {Data: []byte("capabilities: [{id: open-gate\n")},
		"foreign.yaml": {Data: []byte("language: fr\nlists: {x: {wildcard: true}}\n")},
	}
	c, left := catalog.LoadWords(catalog.WithPathInErrors(tree, "words"))
	if len(left) != 3 {
		t.Fatalf("left out: %v", left)
	}
	for _, one := range left {
		if strings.Contains(one.String(), "\n") {
			t.Errorf("%q is more than one line", one)
		}
	}
	if text := left[2].String(); !strings.HasPrefix(text, "words/strict.yaml: left out: line ") || !strings.Contains(text, "need a confirmation: switch-on") {
		t.Errorf("%q", text)
	}
	r := interpret.New(c, exampleHome())
	if o := r.Resolve(ask("glow the porch light")); o.Plan == nil || o.Plan.Capability != "make-glow" {
		t.Errorf("the good file is not read: %s", got(o))
	}
	if o := r.Resolve(ask("turn on the porch light")); o.Plan == nil || o.Plan.Risk != capabilities.RiskIrreversible {
		t.Errorf("risk with a skipped stricter file: %s, want irreversible", got(o))
	}
	if o := r.Resolve(ask("turn off the porch light")); o.Plan == nil || o.Plan.Risk != capabilities.RiskComfort {
		t.Errorf("risk without a file: %s, want comfort", got(o))
	}
}

// FuzzLoadWords loads a file of the user with any text: there always is a catalog.
func FuzzLoadWords(f *testing.F) {
	f.Add("capabilities: [{id: switch-on, risk: 3}]")
	f.Add("language: en\nintents: {HassTurnOn: ['<a> {name}']}\nexpansion_rules: {a: '<a> <a>'}")
	f.Add("rules: {turn: '('}\nwords: 1\n---\n- x")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		c, _ := catalog.LoadWords(fstest.MapFS{"a.yaml": {Data: []byte(text)}})
		if o := interpret.New(c, exampleHome()).Resolve(ask("is the porch light on?")); o.Plan != nil && o.Plan.Actuates() {
			t.Errorf("a question acts: %s", got(o))
		}
	})
}
