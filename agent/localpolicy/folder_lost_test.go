package localpolicy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/capabilities"
)

// After somebody removes the file, its decisions are unknown, also after a start. Only Reset
// allows new ones.
func TestRemovedDecisionsAreUnknown(t *testing.T) {
	for name, what := range map[string]string{"the file": "admin/decisions", "the folder": "admin", "all": "."} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			for _, folder := range []string{"journal", "stop"} {
				must(t, os.MkdirAll(filepath.Join(data, folder), 0o700))
			}
			f := localpolicy.In(data)
			r := begin(t, f)
			must(t, f.LockOut("lamp", "wet paint", noon), os.RemoveAll(filepath.Join(data, what)))
			if l := r.Decisions(); !strings.Contains(l.Unknown, "decisions: the file is missing") {
				t.Errorf("%+v", l)
			}
			if what == "." {
				return // without an earlier run there are no decisions
			}
			if err := f.LockOut("saw", "", noon); err == nil {
				t.Error("a lock has hidden that the others are gone")
			}
			must(t, r.End())
			next := begin(t, f)
			if l := next.Decisions(); l.Unknown == "" {
				t.Errorf("after a start: %+v", l)
			}
			must(t, f.ResetDecisions())
			if l := next.Decisions(); l.Unknown != "" || len(l.LockedOut) > 0 {
				t.Errorf("after a reset: %+v", l)
			}
			must(t, f.LockOut("saw", "", noon), next.End())
		})
	}
}

// After a loss of the journal, no risky class is armed.
func TestLostJournalDisarms(t *testing.T) {
	f := localpolicy.In(t.TempDir())
	must(t, begin(t, f).DisarmForLoss("the journal"))
	if l := f.Decisions(); len(l.Disarmed) != 2 || l.Disarmed[capabilities.RiskMotion] != "the journal is missing, so the begun acts are unknown" {
		t.Errorf("%+v", l)
	}
}
