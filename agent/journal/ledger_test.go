package journal_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/internal/wal"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// openAt opens a journal at a given time.
func openAt(t *testing.T, dir string, at *time.Time) *journal.Journal {
	t.Helper()
	o := journal.DefaultOptions()
	o.Now = func() time.Time { return *at }
	j, err := o.Open(dir)
	must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func act(device string, at time.Time) journal.LedgerEntry {
	return journal.LedgerEntry{Act: &journal.Act{Device: device, By: "ann", At: at}}
}

func due(device string, serial uint64, at time.Time) journal.LedgerEntry {
	return journal.LedgerEntry{Device: device, Serial: serial, PendingOff: &journal.PendingOff{At: at, On: noon, Within: at.Sub(noon)}}
}

// wantLedger checks a ledger, and that a read-only program sees the same.
func wantLedger(t *testing.T, j *journal.Journal, dir string, want journal.Ledger) {
	t.Helper()
	got, err := j.Ledger()
	must(t, err)
	read, err := journal.ReadOnlyLedger(dir).Ledger()
	must(t, err)
	for name, b := range map[string]journal.Ledger{"known": got, "read": read} {
		if diff := cmp.Diff(printed(t, want), printed(t, b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func printed(t *testing.T, b journal.Ledger) string {
	t.Helper()
	if len(b.Acts) == 0 {
		b.Acts = nil
	}
	if len(b.PendingOffs) == 0 {
		b.PendingOffs = nil
	}
	data, err := json.Marshal(b)
	must(t, err)
	return string(data)
}

// The ledger survives reopening and compaction. A late note with a lower serial number changes
// nothing, and an act counts for a day.
func TestLedgerSurvivesReopening(t *testing.T) {
	dir, at := t.TempDir(), noon
	j := openAt(t, dir, &at)
	want := journal.Ledger{Acts: []journal.Act{{Device: "old", At: noon.Add(-time.Hour)}}}
	must(t, j.CreateLedger(t.Context(), want))
	must(t, j.AppendLedger(t.Context(), act("lamp", noon), due("lamp", 2, noon.Add(time.Minute)), due("fan", 3, noon.Add(time.Hour))))
	must(t, j.AppendLedger(t.Context(), journal.LedgerEntry{Device: "fan", Serial: 5}))
	must(t, j.AppendLedger(t.Context(), due("fan", 4, noon.Add(time.Hour))))
	want.Acts = append(want.Acts, *act("lamp", noon).Act)
	want.PendingOffs = map[string]journal.PendingOffRecord{"lamp": {PendingOff: due("lamp", 2, noon.Add(time.Minute)).PendingOff, Serial: 2}, "fan": {Serial: 5}}
	wantLedger(t, j, dir, want)
	for range 3 {
		must(t, j.Close())
		j = openAt(t, dir, &at)
		wantLedger(t, j, dir, want)
		for range 4 { // enough to cause a compaction
			must(t, j.Done(t.Context(), "a", 1, report("a", string(make([]byte, 100<<10)))))
		}
		must(t, j.Sent(t.Context(), "a"))
		wantLedger(t, j, dir, want)
	}
	if begun, whole := j.HasLedger(); !begun || !whole {
		t.Errorf("begun %t, whole %t", begun, whole)
	}
	at = noon.Add(24*time.Hour - time.Minute)
	must(t, j.AppendLedger(t.Context(), act("lamp", at)))
	want.Acts = append(want.Acts[1:], *act("lamp", at).Act)
	if got, _ := j.Ledger(); printed(t, got) != printed(t, want) {
		t.Errorf("after a day: %s", printed(t, got))
	}
}

// A power cut at any byte leaves both an intent and its notes on the disk, or neither.
func TestIntentAndNotesAreOneWrite(t *testing.T) {
	dir, at := t.TempDir(), noon
	j := openAt(t, dir, &at)
	must(t, j.CreateLedger(t.Context(), journal.Ledger{}))
	before := j.Size()
	must(t, j.Intent(t.Context(), intent("a", 1), act("lamp", noon), due("lamp", 1, noon.Add(time.Minute))))
	after := j.Size()
	must(t, j.Close())
	name := filepath.Join(dir, "0000000000000001.wal")
	whole, err := os.ReadFile(name)
	must(t, err)
	for n := before; n <= after; n++ {
		if n%16 != 0 && n < after-4 {
			continue // each needs a sync
		}
		cut := filepath.Join(t.TempDir(), "journal")
		must(t, os.Mkdir(cut, 0o700))
		must(t, os.WriteFile(filepath.Join(cut, filepath.Base(name)), append(whole[:n:n], make([]byte, 64)...), 0o600))
		j := openAt(t, cut, &at)
		b, _ := j.Ledger()
		_, begun := j.Task("a")
		if all := n == after; begun != all || (len(b.Acts) == 1) != all || (b.PendingOffs["lamp"].PendingOff != nil) != all {
			t.Fatalf("cut at byte %d of %d: intent %t, book %+v", n, after, begun, b)
		}
		must(t, j.Close())
	}
}

// If a part of the journal is lost, acts may be missing: the ledger reports that, also after
// restarts.
func TestLedgerReportsGap(t *testing.T) {
	dir, at := t.TempDir(), noon
	j := openAt(t, dir, &at)
	must(t, j.CreateLedger(t.Context(), journal.Ledger{}))
	before := j.Size()
	must(t, j.AppendLedger(t.Context(), act("lamp", noon)))
	must(t, j.AppendLedger(t.Context(), act("fan", noon)))
	must(t, j.Close())
	name := filepath.Join(dir, "0000000000000001.wal")
	data, err := os.ReadFile(name)
	must(t, err)
	data[before+12]++
	data[before+20]++
	must(t, os.WriteFile(name, data, 0o600))
	for _, later := range []time.Duration{0, time.Hour} {
		at = noon.Add(later)
		j = openAt(t, dir, &at)
		if b, _ := j.Ledger(); !b.Gap.Equal(noon) || len(b.Acts) != 1 {
			t.Errorf("%v later: %+v", later, b)
		}
		must(t, j.Close())
	}
}

// If the disk takes nothing, no act may begin, and no note counts.
func TestClosedJournalRejectsNotes(t *testing.T) {
	j := open(t, t.TempDir())
	must(t, j.Close())
	if err := j.AppendLedger(t.Context(), act("lamp", noon)); !errors.Is(err, wal.ErrClosed) {
		t.Errorf("%v", err)
	}
	if b, _ := j.Ledger(); len(b.Acts) > 0 {
		t.Errorf("%+v", b)
	}
	if journal.ReadOnlyLedger(t.TempDir()).AppendLedger(t.Context(), act("lamp", noon)) == nil {
		t.Error("a journal that is only read was written")
	}
}
