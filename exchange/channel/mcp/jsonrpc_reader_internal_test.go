package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// FuzzLines writes any lines: the reader passes on messages only, and answers each other line
// that is not empty.
func FuzzLines(f *testing.F) {
	f.Add("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\nhello\n\n[]\n42\nnull\n{\"jsonrpc\":\"2.0\"}")
	f.Add("\xff\n{")
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		got, err := io.ReadAll(newMessageReader(io.NopCloser(strings.NewReader(text)), &out))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range bytes.Lines(got) {
			if code, _ := lineProblem(bytes.TrimSpace(line)); code != 0 {
				t.Errorf("%q came through", line)
			}
			n++
		}
		for line := range bytes.Lines(out.Bytes()) {
			var answer struct {
				Error struct{ Code int }
			}
			if err := json.Unmarshal(line, &answer); err != nil || answer.Error.Code == 0 {
				t.Errorf("%q is answered", line)
			}
			n++
		}
		want := 0
		for line := range strings.SplitSeq(text, "\n") {
			if len(bytes.TrimSpace([]byte(line))) > 0 {
				want++
			}
		}
		if n != want {
			t.Errorf("%d lines, and %d came through or were answered", want, n)
		}
	})
}

func TestTooLongLineIsRejected(t *testing.T) {
	var out bytes.Buffer
	text := `"` + strings.Repeat("x", maxLine) + "\"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n"
	got, err := io.ReadAll(newMessageReader(io.NopCloser(strings.NewReader(text)), &out))
	if err != nil || !strings.Contains(string(got), "ping") || !strings.Contains(out.String(), "longer than") {
		t.Errorf("%q %q %v", got, out.String(), err)
	}
}
