package interpret_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/grammar"
	"github.com/messkit/messkit/capabilities/interpret"
)

func TestDefinitions(t *testing.T) {
	var ids []string
	for _, d := range catalog.Default().Definitions() {
		ids = append(ids, d.ID)
		if d.Description == "" || len(d.Tags) == 0 {
			t.Errorf("%s has no description or tags", d.ID)
		}
	}
	for _, want := range []string{
		"take-photo", "check-visual", "look", "switch-on", "switch-off", "toggle", "pulse", "activate", "set-brightness", "brighten", "dim", "set-colour",
		"vacuum-floor", "pause-vacuum", "resume-vacuum", "stop-vacuum", "spot-vacuum", "dock-vacuum", "vacuum-status", "read-sensor", "read-switch", "start-appliance", "watch-appliance",
		"print-start", "print-pause", "print-resume", "print-cancel", "print-status", "move-servo", "lock", "unlock", "open", "close", "wait", "repeat",
	} {
		if !slices.Contains(ids, want) {
			t.Errorf("the catalog lacks %s", want)
		}
	}
}

// own is a tree with one file of the user.
func own(yaml string) fstest.MapFS { return fstest.MapFS{"own.yaml": {Data: []byte(yaml)}} }

func TestLoadAddsAndReplaces(t *testing.T) {
	c, err := catalog.Load(catalog.English(), own(`
classes: {light: [light, lamp, glim]}
capabilities:
  - id: illuminate
    description: make light
    command: switch
    args: {on: true}
    risk: comfort
    effect: idempotent
    answer: command
    summary: light the {device}
    sentences: ["(illuminate|kindle) {device}"]
`))
	if err != nil {
		t.Fatal(err)
	}
	r := interpret.New(c, exampleHome())
	if o := r.Resolve(ask("kindle the porch glim")); got(o) != "illuminate porch-lamp" {
		t.Errorf("Resolve = %q, want illuminate porch-lamp", got(o))
	}
}

func TestLoadReportsAllMistakes(t *testing.T) {
	_, err := catalog.Load(catalog.English(), own(`
capabilities:
  - id: bad
    description: be wrong
    command: fly
    risk: none
    effect: query
    answer: command
    summary: be wrong
    sentences: ["(a|b", "<nowhere> {device}", "{device}", "go {planet}"]
`))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`capability bad: command "fly" is unknown`, `capability bad: risk "none" is unknown`,
		`answer command does not go with effect query`, `")" is missing`, `rule <nowhere> is not there`,
		`sentence "{device}": may be a bare name`, `unknown slot {planet}`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not contain %q:\n%v", want, err)
		}
	}
	if _, err = catalog.Load(own("capabilitys: []")); err == nil || !strings.Contains(err.Error(), "own.yaml:1: capabilitys: unknown key") {
		t.Errorf("Load = %v, want the unknown key", err)
	}
}

func TestTemplates(t *testing.T) {
	for _, text := range []string{"turn on {device}", "(a|b) [c|d] <rule> {area:place}", "((a|b c)|[d])"} {
		tmpl, err := grammar.ParseTemplate(text)
		if err != nil || tmpl.String() != text {
			t.Errorf("ParseTemplate(%q) = %q, %v", text, tmpl, err)
		}
	}
	for _, text := range []string{
		"", " ", "a|b", "(a", "a)", "[a", "(a||b)", "()", "{a", "{}", "{A}", "{a:}", "<a", "<A>", "light[s]", "don't", "Turn on", "a-b", "a, b",
		strings.Repeat("(", 40) + "a" + strings.Repeat(")", 40),
	} {
		if tmpl, err := grammar.ParseTemplate(text); err == nil {
			t.Errorf("ParseTemplate(%q) = %q, want an error", text, tmpl)
		}
	}
}

func TestTooManyFormsAreRejected(t *testing.T) {
	one := "[(a|b|c|d|e|f|g|h|i|j)] "
	_, err := catalog.Load(catalog.English(), own("rules: {loop: x <loop>}\n"+`
capabilities:
  - id: wide
    description: be wide
    command: dock
    risk: motion
    effect: once
    answer: command
    summary: be wide
    sentences: ["go `+strings.Repeat(one, 5)+`", "<loop>"]
`))
	for _, want := range []string{"stands for more than 4000 sentences", "rules nest deeper than 16"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Load = %v, want %q", err, want)
		}
	}
}

func FuzzParseTemplate(f *testing.F) {
	for _, s := range []string{"turn on {device}", "(a|b) [c] <d> {e:f}", "((((", "light[s]", "a|b", "{", "é", "\xff", "'s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tmpl, err := grammar.ParseTemplate(text)
		if err != nil {
			if tmpl.String() != "" {
				t.Fatalf("ParseTemplate(%q) fails and gives %q", text, tmpl)
			}
			return
		}
		again, err := grammar.ParseTemplate(tmpl.String())
		if err != nil || again.String() != tmpl.String() {
			t.Fatalf("ParseTemplate(%q) prints %q, which reads as %q, %v", text, tmpl, again, err)
		}
	})
}
