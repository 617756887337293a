package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/mess"
)

// tally counts results.
type tally map[mark]int

func (n tally) sum() (sum int) {
	for _, k := range n {
		sum += k
	}
	return sum
}

func (n tally) recall() float64 { return float64(n[asPlan]+n[asked]) / float64(max(1, n.sum())) * 100 }

// held is the test fold: the authors of the lexicon have not read its sentences.
const folds, held = 5, 4

func foldOf(text string) int { return int(sha256.Sum256([]byte(text))[0] % folds) }

// figures are the results of the benchmark.
type figures struct {
	intents  map[string]tally
	folds    [folds]tally
	all      tally
	mistaken []string // unrelated sentences with a plan that actuates
	asking   int      // unrelated sentences with a question
	others   int
	wrong    []string
	dropped  []string
	notTaken []string // rejected sentences, for the authors of the lexicon
}

func measure(t testing.TB, r *interpret.Interpreter) figures {
	f := figures{intents: map[string]tally{}, all: tally{}}
	for _, s := range readUtterances(t, "dev-iot.jsonl") {
		p := requests.PlannedOf(s.Text, r.Resolve(mess.Request{Intent: s.Text}))
		v, n := classify(s, p), foldOf(s.Text)
		if f.intents[s.Intent] == nil {
			f.intents[s.Intent] = tally{}
		}
		if f.folds[n] == nil {
			f.folds[n] = tally{}
		}
		f.intents[s.Intent][v]++
		f.folds[n][v]++
		f.all[v]++
		line := fmt.Sprintf("%s: %q: %s %s %s %s", s.Intent, s.Text, p.Outcome, p.Capability, p.Device, p.Reason)
		switch v {
		case wrong:
			f.wrong = append(f.wrong, line)
		case dropped:
			f.dropped = append(f.dropped, droppedPart(s, p)+": "+line)
		case refused:
			if n != held {
				f.notTaken = append(f.notTaken, line)
			}
		}
	}
	for _, s := range readUtterances(t, "dev-other.jsonl") {
		f.others++
		switch out := r.Resolve(mess.Request{Intent: s.Text}); {
		case out.Plan != nil && out.Plan.Actuates():
			f.mistaken = append(f.mistaken, fmt.Sprintf("%s: %q would %s", s.Intent, s.Text, out.Plan.Summary))
		case out.Question != nil:
			f.asking++
		}
	}
	return f
}

// replies counts the results for the answers of the data set: yes, no, stop or neither.
func replies(t testing.TB) (table string, falseYes []string) {
	count := map[string]map[string]int{}
	for _, s := range readUtterances(t, "dev-other.jsonl") {
		yes, no, stop := catalog.MatchYesNo(s.Text)
		is := "neither"
		switch {
		case yes:
			is = "yes"
		case stop:
			is = "stop"
		case no:
			is = "no"
		}
		if yes && s.Intent != "general_affirm" {
			falseYes = append(falseYes, s.Intent+": "+s.Text)
		}
		if count[s.Intent] == nil {
			count[s.Intent] = map[string]int{}
		}
		count[s.Intent][is]++
	}
	var b strings.Builder
	b.WriteString("| said as | sentences | yes | no | stop | neither |\n|---|---|---|---|---|---|\n")
	for _, intent := range []string{"general_affirm", "general_negate", "general_commandstop", "general_dontcare", "general_confirm"} {
		c := count[intent]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d |\n", intent, c["yes"]+c["no"]+c["stop"]+c["neither"], c["yes"], c["no"], c["stop"], c["neither"])
	}
	return b.String(), falseYes
}

// table returns the table of docs/explanation/intents.md.
func (f figures) table() string {
	var b strings.Builder
	b.WriteString("| intent | sentences | plan | asked | refused | recall | wrong | left out |\n|---|---|---|---|---|---|---|---|\n")
	row := func(name string, n tally) {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %.1f %% | %d | %d |\n", name, n.sum(), n[asPlan], n[asked], n[refused], n.recall(), n[wrong], n[dropped])
	}
	for _, intent := range slices.Sorted(maps.Keys(f.intents)) {
		row(intent, f.intents[intent])
	}
	row("**all**", f.all)
	fmt.Fprintf(&b, "\nOf %d sentences about other things, %d would be acted on, and %d asked about.\n", f.others, len(f.mistaken), f.asking)
	fmt.Fprintf(&b, "\nRecall by fifths of the sentences:")
	for i, n := range f.folds {
		fmt.Fprintf(&b, " %.1f %%", n.recall())
		if i == held {
			b.WriteString(" (not looked at)")
		}
	}
	b.WriteString(".\n")
	return b.String()
}

// wantTables compares the tables with docs/explanation/intents.md.
func wantTables(t *testing.T, tables ...string) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "explanation", "intents.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if !strings.Contains(string(doc), strings.TrimSpace(table)) {
			t.Errorf("docs/explanation/intents.md shows something else than is measured; put this there:\n%s", table)
		}
	}
}

// measureCosts measures time and memory.
func measureCosts(t testing.TB) string {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	r := simulatedInterpreter(t)
	runtime.GC()
	runtime.ReadMemStats(&after)
	of := func(list []utterance) (mean float64) {
		for i := range 9 { // the fastest round has the least disturbance
			began := time.Now()
			for _, s := range list {
				r.Resolve(mess.Request{Intent: s.Text})
			}
			took := float64(time.Since(began).Microseconds()) / float64(len(list))
			if i == 0 || took < mean {
				mean = took
			}
		}
		return mean
	}
	iot, others := readUtterances(t, "dev-iot.jsonl"), readUtterances(t, "dev-other.jsonl")
	of(iot)
	line := fmt.Sprintf("%.1f us a sentence about the home, %.1f us one about other things; %d bytes for this home (the catalogue is there once)",
		of(iot), of(others), after.HeapAlloc-min(before.HeapAlloc, after.HeapAlloc))
	runtime.KeepAlive(r)
	return line
}
