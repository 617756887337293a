package journal

import (
	"encoding/json"
	"testing"
)

// A parsed list survives writing and reading, and with an error the parser returns no names.
func FuzzParseRuns(f *testing.F) {
	f.Add([]byte(`["a","b"]`))
	f.Add([]byte(`[1]`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, err := parseProcesses(data)
		if err != nil {
			if runs != nil {
				t.Errorf("%v and %q", err, runs)
			}
			return
		}
		text, err := json.Marshal(runs)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseProcesses(text); err != nil || len(again) != len(runs) {
			t.Errorf("%s is read as %q, %v", text, again, err)
		}
	})
}
