package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/mess"
)

// example is a line of testdata/intents/catalogue.txt: sentences for a capability or for a kind
// of device.
type example struct {
	of    string
	thing bool
	said  []string
}

// The simulated home understands every capability of the catalog by each of its examples. A
// scene, a script and a button of Home Assistant complete that home. The tables in
// docs/reference/capabilities.md match the catalog.
func TestCatalogIsCompleteAndRunnable(t *testing.T) {
	examples := capabilityExamples(t)
	r := simulatedInterpreter(t, `
  movie-night: {driver: homeassistant, url: "http://127.0.0.1:1", token: a, entity: scene.movie_night}
  good-night: {driver: homeassistant, url: "http://127.0.0.1:1", token: a, entity: script.good_night}
  doorbell-test: {driver: homeassistant, url: "http://127.0.0.1:1", token: a, entity: button.doorbell_test, area: hall}
`)
	comes := func(phrase string) requests.Planned {
		return requests.PlannedOf(phrase, r.Resolve(mess.Request{Intent: phrase}))
	}

	var page strings.Builder
	page.WriteString("| capability | what | of | risk | done twice | parameters | evidence | say |\n|---|---|---|---|---|---|---|---|\n")
	for _, d := range catalog.Default().Definitions() {
		i := slices.IndexFunc(examples, func(e example) bool { return !e.thing && e.of == d.ID })
		if i < 0 || len(examples[i].said) < 3 {
			t.Errorf("%s has no three examples", d.ID)
			continue
		}
		for _, phrase := range examples[i].said {
			p := comes(phrase)
			ok := p.Outcome == "plan" && p.Capability == d.ID
			switch d.ID { // the planner handles these itself
			case "wait":
				out := r.Resolve(mess.Request{Intent: phrase}).Plan
				ok = out != nil && (!out.NotBefore.IsZero() || slices.ContainsFunc(out.Each(), func(s capabilities.Plan) bool { return s.After > 0 || s.For > 0 }))
			case "repeat":
				out := r.Resolve(mess.Request{Intent: phrase}).Plan
				ok = out != nil && len(out.Steps) > 1 && !slices.ContainsFunc(out.Steps, func(s capabilities.Plan) bool { return s.Command != out.Steps[0].Command })
			}
			if !ok {
				t.Errorf("%s: %q: %s %s: %s", d.ID, phrase, p.Outcome, p.Capability, p.Reason)
			}
		}
		fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s | %s | %s | %s |\n", d.ID, d.Description, cmp.Or(strings.Join(d.Classes, ", "), "any device with the verb"),
			riskText(d), twice[d.Effect], parametersText(d), cmp.Or(strings.ReplaceAll(string(d.Evidence), "_", " "), "that of its steps"), quoteAll(examples[i].said))
	}
	for _, e := range examples {
		if !e.thing && !slices.ContainsFunc(catalog.Default().Definitions(), func(d capabilities.Definition) bool { return d.ID == e.of }) {
			t.Errorf("the catalog has no capability %q", e.of)
		}
	}

	var things strings.Builder
	things.WriteString("| thing | say, and what it comes to |\n|---|---|\n")
	for _, e := range examples {
		if !e.thing {
			continue
		}
		var cells []string
		for _, phrase := range e.said {
			p := comes(phrase)
			if p.Outcome == "refusal" {
				t.Errorf("%s: %q is refused: %s", e.of, phrase, p.Reason)
			}
			to := "`" + p.Capability + "`"
			if p.Outcome == "question" {
				to += ", asked"
			}
			cells = append(cells, fmt.Sprintf("“%s” %s", phrase, to))
		}
		fmt.Fprintf(&things, "| %s | %s |\n", e.of, strings.Join(cells, "; "))
	}

	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "capabilities.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{page.String(), things.String()} {
		if !strings.Contains(string(doc), strings.TrimSpace(table)) {
			t.Errorf("docs/reference/capabilities.md differs from the catalog; want this table:\n%s", table)
		}
	}
}

func capabilityExamples(t *testing.T) []example {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "intents", "catalogue.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var list []example
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		of, thing := strings.CutPrefix(line, "> ")
		parts := strings.Split(of, " | ")
		list = append(list, example{parts[0], thing, parts[1:]})
	}
	return list
}

var twice = map[capabilities.Effect]string{capabilities.Query: "looks only", capabilities.Idempotent: "is as once", capabilities.Once: "never"}

// riskText returns the risk of a capability, with the other risks of single classes.
func riskText(d capabilities.Definition) string {
	of := map[capabilities.Risk][]string{}
	for _, class := range slices.Sorted(maps.Keys(d.Risks)) {
		of[d.Risks[class]] = append(of[d.Risks[class]], class)
	}
	text := string(d.Risk)
	for _, risk := range slices.Sorted(maps.Keys(of)) {
		text += fmt.Sprintf("; %s: %s", strings.Join(of[risk], ", "), risk)
	}
	return text
}

// bare names the parameters that belong to commands, not to capabilities.
var bare = map[string]string{
	"on": "on (yes or no)", "for": "for (up to a year)", "areas": "areas (places that it knows)", "file": "file (that lies on it)",
}

// parametersText lists the parameters of the file and of the command.
func parametersText(d capabilities.Definition) string {
	var list []string
	for _, p := range d.Parameters {
		limits := strings.TrimSpace(p.Type + " " + p.Unit)
		if p.Min != nil && p.Max != nil {
			limits = fmt.Sprintf("%v to %v %s", *p.Min, *p.Max, p.Unit)
		}
		list = append(list, fmt.Sprintf("%s (%s)", p.Name, limits))
	}
	for _, name := range d.Command.Parameters() {
		if bare[name] != "" {
			list = append(list, bare[name])
		}
	}
	return cmp.Or(strings.Join(list, ", "), "none")
}

func quoteAll(got []string) string { return "“" + strings.Join(got, "”, “") + "”" }

// The lexicon folder in the documentation adds a capability and narrows another one.
func TestDocumentedLexiconWorks(t *testing.T) {
	calculates(t)
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "capabilities.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "```yaml\n# words/mine.yaml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("the page shows no words")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "words"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("words/mine.yaml", text)
	config := write("home.yaml", "exchange: {listen: '127.0.0.1:0'}\nagent: {words: '"+filepath.Join(dir, "words")+"'}\ndevices: {hall-light: {driver: sim-bulb, area: hall, aliases: [Flurlicht]}}\n")
	for phrase, want := range map[string]string{
		"mach bitte Flurlicht an":               "licht-an",
		"schalte Flurlicht ein":                 "licht-an",
		"set the hall light to 50 percent":      "level       50",
		"set the hall light to 90 percent":      "level is 90, and may be 0 to 80 percent",
		"turn on the hall light":                "switch-on",
		"make the hall light a little brighter": "brighten",
	} {
		if out, err := runCommand(t, "plan", "--config", config, phrase); !strings.Contains(out, want) {
			t.Errorf("%q: %s (%v); want %s", phrase, out, err, want)
		}
	}
	write("words/broken.yaml", "capabilities:\n  - id: feed-fish\n    command: throw\n    risks: 3\n")
	out, err := runCommand(t, "check", config)
	if want := `broken.yaml: left out: line 2: capability "feed-fish": id, description or summary is missing`; err != nil || !strings.Contains(out, want) || !strings.Contains(out, "(and ") {
		t.Errorf("output of check is %s (%v); want %s", out, err, want)
	}
	if out, err := runCommand(t, "plan", "--config", config, "mach bitte Flurlicht an"); !strings.Contains(out, "licht-an") {
		t.Errorf("the other file of words is not read: %s (%v)", out, err)
	}
}
