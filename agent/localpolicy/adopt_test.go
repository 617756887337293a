package localpolicy_test

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/agent/localpolicy"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/internal/wal"
)

var quiet = slog.New(slog.DiscardHandler)

// writeOlderFiles creates a data folder of an older version: three acts, and a lamp with a pending
// switch-off.
func writeOlderFiles(t *testing.T) (data string) {
	t.Helper()
	data = t.TempDir()
	l, err := wal.Open(filepath.Join(data, "admin", "acts"), func([]byte) error { return nil })
	must(t, err)
	for i := range 3 {
		record, err := json.Marshal(journal.Act{Device: "lamp", By: "ann", At: noon.Add(time.Duration(i) * time.Minute)})
		must(t, err, l.Append(t.Context(), record))
	}
	must(t, l.Close(), os.WriteFile(filepath.Join(data, "admin", "due.json"),
		[]byte(`{"lamp": {"at": "2026-11-21T12:10:00Z", "on": "2026-11-21T12:00:00Z", "within": 600000000000}}`), 0o600))
	return data
}

func openJournal(t *testing.T, data string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(filepath.Join(data, "journal"))
	must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// adopt starts as a newer version does and returns its ledger.
func adopt(t *testing.T, data string) journal.Ledger {
	t.Helper()
	j := openJournal(t, data)
	localpolicy.In(data).AdoptLedger(t.Context(), j, noon, quiet)
	b, err := j.Ledger()
	must(t, err, j.Close())
	return b
}

func isOlders(t *testing.T, b journal.Ledger) {
	t.Helper()
	if len(b.Acts) != 3 || b.Acts[2].At != noon.Add(2*time.Minute) || b.Acts[0].By != "ann" || !b.Gap.IsZero() {
		t.Errorf("acts: %+v", b)
	}
	if d := b.PendingOffs["lamp"].PendingOff; d == nil || !d.At.Equal(noon.Add(10*time.Minute)) || d.Within != 10*time.Minute {
		t.Errorf("due: %+v", b.PendingOffs)
	}
}

// The records of an older version enter the ledger once, even if the program dies at any moment.
// Then their files are set aside.
func TestAdoptIsCrashSafe(t *testing.T) {
	first := writeOlderFiles(t)
	isOlders(t, adopt(t, first))
	segment := filepath.Join("journal", "0000000000000001.wal")
	whole, err := os.ReadFile(filepath.Join(first, segment))
	must(t, err)
	end := len(whole)
	for end > 0 && whole[end-1] == 0 {
		end--
	}
	for n := 28; n <= end; n++ { // a partly written journal
		if n%16 != 0 && n < end-4 {
			continue // each needs a sync
		}
		data := writeOlderFiles(t)
		must(t, os.Mkdir(filepath.Join(data, "journal"), 0o700), os.WriteFile(filepath.Join(data, segment), whole[:n], 0o600))
		isOlders(t, adopt(t, data))
	}
	for _, set := range [][]string{{}, {"acts"}, {"acts", "due.json"}} { // then the files, one by one
		data := writeOlderFiles(t)
		must(t, os.Mkdir(filepath.Join(data, "journal"), 0o700), os.WriteFile(filepath.Join(data, segment), whole[:end], 0o600))
		for _, name := range set {
			must(t, durable.SetAside(filepath.Join(data, "admin", name)))
		}
		for range 2 {
			isOlders(t, adopt(t, data))
		}
		for _, name := range []string{"acts", "due.json"} {
			if in := filepath.Join(data, "admin", name); durable.There(in) || !durable.There(in+".old") {
				t.Errorf("%v: %s is not set aside", set, name)
			}
		}
	}
}

// A copy of the old files does not enter the ledger again.
func TestAdoptOnce(t *testing.T) {
	data := writeOlderFiles(t)
	isOlders(t, adopt(t, data))
	j := openJournal(t, data)
	must(t, j.AppendLedger(t.Context(), journal.LedgerEntry{Device: "lamp", Serial: 7}), j.Close())
	must(t, os.Rename(filepath.Join(data, "admin", "due.json.old"), filepath.Join(data, "admin", "due.json")))
	if b := adopt(t, data); b.PendingOffs["lamp"].PendingOff != nil || len(b.Acts) != 3 {
		t.Errorf("%+v", b)
	}
}

// If something is unreadable, or the journal is missing, acts may be missing.
func TestAdoptReportsLoss(t *testing.T) {
	for name, damage := range map[string]func(data string) error{
		"acts": func(data string) error {
			return os.WriteFile(filepath.Join(data, "admin", "acts", "0000000000000001.wal"), []byte("what is this? it is no segment"), 0o600)
		},
		"due": func(data string) error {
			return os.WriteFile(filepath.Join(data, "admin", "due.json"), []byte("{torn"), 0o600)
		},
		"the journal": func(data string) error {
			adopt(t, data)
			return durable.Use(data)
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := writeOlderFiles(t)
			must(t, damage(data))
			if name == "the journal" {
				must(t, os.RemoveAll(filepath.Join(data, "journal")))
			}
			for range 2 {
				if b := adopt(t, data); !b.Gap.Equal(noon) {
					t.Errorf("%+v", b)
				}
			}
		})
	}
	if b := adopt(t, t.TempDir()); !b.Gap.IsZero() {
		t.Errorf("a new folder: %+v", b)
	}
}

// While the disk accepts nothing, the files of the older version stay.
func TestAdoptOnFullDisk(t *testing.T) {
	data := writeOlderFiles(t)
	j := openJournal(t, data)
	must(t, j.Close()) // the journal accepts nothing
	localpolicy.In(data).AdoptLedger(t.Context(), j, noon, quiet)
	b, err := j.Ledger()
	must(t, err)
	isOlders(t, b)
	isOlders(t, adopt(t, data))
}
