package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/requests"
	"github.com/messkit/messkit/mess"
)

// Common tasks, each in twenty forms. Every form leads to the plan, or to a question about the
// same capability, but at most four forms to a question. After "?" every form may lead to a
// question that contains the plan: "water the garden" does not name the device.
func TestTwentyForms(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "intents", "ways.txt"))
	if err != nil {
		t.Fatal(err)
	}
	tasks := strings.Split(strings.TrimPrefix(string(text), "# "), "\n# ")
	if len(tasks) < 24 {
		t.Fatalf("there are %d tasks; the file is not whole", len(tasks))
	}
	r := simulatedInterpreter(t)
	for _, task := range tasks {
		lines := strings.Split(strings.TrimSpace(task), "\n")
		head, asked := strings.CutPrefix(lines[0], "? ")
		plans, ways := strings.Split(head, " | "), lines[1:]
		if len(ways) < 20 {
			t.Errorf("%q: there are %d ways; 20 belong there", lines[0], len(ways))
		}
		about, questions := "", 0
		for _, s := range ways {
			out := r.Resolve(mess.Request{Intent: s})
			p := requests.PlannedOf(s, out)
			if about == "" {
				about = p.Capability
			}
			switch {
			case p.Outcome == "plan" && slices.Contains(plans, p.Reason):
			case asked && p.Outcome == "question" && p.Capability == about && strings.Contains(p.Reason, "shall I "+plans[0]):
			case !asked && p.Outcome == "question" && p.Capability == about:
				questions++
			default:
				t.Errorf("%q: %s: %s (%s); want a plan to %s", s, p.Outcome, p.Reason, p.Capability, lines[0])
			}
		}
		if questions > 4 {
			t.Errorf("%q: %d of %d ways are asked about; 4 at most once were", lines[0], questions, len(ways))
		}
	}
}
