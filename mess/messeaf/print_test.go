package messeaf_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/mess/messeaf"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t testing.TB, text string) messeaf.Thread {
	t.Helper()
	th, err := messeaf.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, text)
	}
	return th
}

func print(t testing.TB, th messeaf.Thread) string {
	t.Helper()
	text, err := messeaf.Print(th)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	comment = regexp.MustCompile(`(?m)(^|\s+)#.*$`)
	between = regexp.MustCompile(`(?m)\n\n(  - action|      -)`)
	flow    = strings.NewReplacer("[near sink, by stove, both]", "\n            - near sink\n            - by stove\n            - both")
)

// plainly removes the parts of a text that may differ: comments, quotes, short lists.
func plainly(text string) string {
	text = comment.ReplaceAllString(text, "")
	text = strings.ReplaceAll(flow.Replace(text), `"`, "")
	text = between.ReplaceAllString(text, "\n$1")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " ")
		if line == "" && len(lines) > 0 && (lines[len(lines)-1] == "" || lines[len(lines)-1] == "---") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// The printed form equals the specification, line by line.
func TestSpecificationExamples(t *testing.T) {
	for _, name := range []string{"complete", "needs-input", "structure"} {
		t.Run(name, func(t *testing.T) {
			want := string(read(t, name+".messe-af.yaml"))
			if diff := cmp.Diff(plainly(want), plainly(print(t, parse(t, want)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Some readers convert a time without quotes to a number, so the printer writes quotes.
func TestTimesAreQuoted(t *testing.T) {
	text := print(t, parse(t, string(read(t, "complete.messe-af.yaml"))))
	for line := range strings.SplitSeq(text, "\n") {
		if _, value, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(value, "2026-02-01T") {
			t.Errorf("not in quotes: %s", line)
		}
	}
}

// Refs follow from the order of messages; acks and the request have none.
func TestMessageRefs(t *testing.T) {
	th := parse(t, string(read(t, "needs-input.messe-af.yaml")))
	var refs []string
	for _, m := range th.Messages {
		if m.Ref != "" {
			refs = append(refs, strings.TrimPrefix(m.Ref, "2026-02-01-002-vacuum-spill/"))
		}
	}
	want := []string{"claim-001", "question-002-which-area", "answer-003-both", "status-004"}
	if diff := cmp.Diff(want, refs); diff != "" {
		t.Error(diff)
	}
	if h := th.Envelope.History; h[len(h)-1].Ref != th.Messages[len(th.Messages)-1].Ref {
		t.Errorf("history has %s, the message is %s", h[len(h)-1].Ref, th.Messages[len(th.Messages)-1].Ref)
	}
}
