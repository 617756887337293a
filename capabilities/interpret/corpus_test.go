package interpret_test

import (
	"bufio"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// outcomesFile names a file that receives every outcome of the corpus, with its texts. Two
// such files show with diff what a change of the interpreter does.
const outcomesFile = "MESSKIT_OUTCOMES"

//go:embed testdata/sentences.txt
var corpus string

// corpusOutcomes is the SHA-256 of all outcomes of the corpus without the texts that only
// people read.
const corpusOutcomes = "22dd5a4166e89980ff4127dbc758b7e678c127a0badcf7596e0966ccc7628235"

// corpusHomes returns the homes of the corpus by name.
func corpusHomes(t *testing.T) map[string]*interpret.Interpreter {
	return map[string]*interpret.Interpreter{
		"appliances": appliances(), "at noon": atNoon(), "berlin": berlin(t, "2026-06-20T09:00:00+02:00"), "clocked": clocked(t, "2026-11-28 17:00"),
		"crowd": crowd(), "dimming": dimming(), "heated": heated(), "house": resolver(), "kitchen": kitchenOf(), "lamps": lamps(),
		"mansion": interpret.New(catalog.Default(), mansion()), "measured": measured(), "rich": rich(), "several": several(),
		"stage": interpret.New(catalog.Default(), stage()), "watched": watchHome(), "workshop": interpret.New(catalog.Default(), workshop()),
	}
}

// corpusRequests returns two requests with the sentence that has the index i: the sentence
// alone, and one of its uses.
func corpusRequests(sentences []string, i, use int) []mess.Request {
	s, other := sentences[i], sentences[(i*7919+1)%len(sentences)]
	uses := []mess.Request{
		{Intent: s, Precision: mess.Loose},
		{Intent: s, Precision: mess.Exact},
		{Intent: s, Context: []mess.Entry{{Type: "note", Value: other}}, ResponseHint: []mess.ResponseHint{{Type: "image"}, {Type: "location"}}},
		{Intent: "turn on the heater " + s},
		{Intent: s + " and " + other},
		{Intent: "turn on the light", Context: []mess.Entry{{Type: "note", Value: s}}},
		{Intent: s, Requires: []mess.Capability{{ID: "switch-on"}}},
	}
	return []mess.Request{{Intent: s}, uses[use%len(uses)]}
}

// machineText returns the part of an outcome that programs read.
func machineText(o capabilities.Outcome) string {
	var parts []any
	switch {
	case o.Plan != nil:
		parts = []any{"plan", o.Plan.Digest(), o.Plan.Asks, o.Plan.Place, o.Plan.Want, o.Plan.Unused}
	case o.Question != nil:
		parts = []any{"question", o.Question.Field, o.Question.Options}
	default:
		parts = []any{"refusal", o.Refusal.Nearest}
	}
	data, err := json.Marshal(append(parts, o.Explain))
	if err != nil {
		panic(err)
	}
	return string(data)
}

// fullText returns the whole outcome.
func fullText(o capabilities.Outcome) string {
	data, err := json.Marshal([]any{o.Plan, o.Question, o.Refusal, o.Explain})
	if err != nil {
		panic(err)
	}
	return string(data)
}

// TestCorpus compares the outcomes of the corpus with the recorded ones: two requests with
// every sentence in every fourth home, and two answers to each question.
func TestCorpus(t *testing.T) {
	if testing.Short() {
		t.Skip("calculates for some seconds")
	}
	var full io.Writer = io.Discard
	if name := os.Getenv(outcomesFile); name != "" {
		f, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		buffer := bufio.NewWriter(f)
		defer buffer.Flush()
		full = buffer
	}
	sum, homes, n := sha256.New(), corpusHomes(t), 0
	sentences := strings.Split(strings.TrimSuffix(corpus, "\n"), "\n")
	note := func(what string, o capabilities.Outcome) {
		n++
		fmt.Fprintln(sum, machineText(o))
		if full != io.Discard {
			fmt.Fprintf(full, "%s: %s\n", what, fullText(o))
		}
	}
	for h, name := range slices.Sorted(maps.Keys(homes)) {
		r := homes[name]
		for i := h % 4; i < len(sentences); i += 4 {
			for k, req := range corpusRequests(sentences, i, i/4+h) {
				what := fmt.Sprintf("%s %d %q", name, k, req.Intent)
				o := r.Resolve(req)
				note(what, o)
				if o.Question == nil {
					continue
				}
				if options := o.Question.Options; len(options) > 0 {
					note(what+" "+options[0], r.Answer(*o.Question, nil, options[0], req))
				}
				note(what+" sentence", r.Answer(*o.Question, nil, sentences[(i+1)%len(sentences)], req))
			}
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != corpusOutcomes {
		t.Errorf("the %d outcomes have the hash %s, want %s; set %s=FILE before and after the change and compare the files", n, got, corpusOutcomes, outcomesFile)
	}
}
