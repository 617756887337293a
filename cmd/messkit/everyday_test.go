package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/mess"
)

// Everyday requests with their results: the plan ("="), or a part of the question ("?") or of the
// rejection ("x").
func TestEverydayRequests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "intents", "everyday.txt"))
	if err != nil {
		t.Fatal(err)
	}
	r := simulatedInterpreter(t)
	kinds := map[string]string{"=": "plan", "?": "question", "x": "refusal"}
	rows := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		phrase, want, ok := strings.Cut(line, " | ")
		if !ok || len(want) < 3 || kinds[want[:1]] == "" {
			t.Fatalf("%q: write it like \"order | = plan\"", line)
		}
		rows++
		kind, reason := kinds[want[:1]], want[2:]
		p := requests.PlannedOf(phrase, r.Resolve(mess.Request{Intent: phrase}))
		if p.Outcome != kind || kind == "plan" && p.Reason != reason || !strings.Contains(p.Reason, reason) {
			t.Errorf("%q: %s: %s; want a %s: %s", phrase, p.Outcome, p.Reason, kind, reason)
		}
	}
	if rows < 60 {
		t.Errorf("there are %d rows; the file is not whole", rows)
	}
}
