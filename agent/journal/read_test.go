package journal_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/internal/wal"
)

const segment1 = "0000000000000001.wal"

// entries returns the content of a journal on the disk, one line per thread.
func entries(r journal.Contents) string {
	var lines []string
	for _, e := range r.Threads() {
		lines = append(lines, fmt.Sprintf("%s %d %s begun %d found %d", e.Ref, e.Epoch, e.State, e.Begun, e.Found))
	}
	return strings.Join(lines, "\n")
}

// A reader sees a journal while its writer has it open, and changes nothing.
func TestReadDuringWrites(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	must(t, j.Intent(t.Context(), intent("a", 1)))
	must(t, j.RecordFound(t.Context(), "a", "b2"))
	must(t, j.Intent(t.Context(), intent("b", 2)))
	must(t, j.Done(t.Context(), "b", 2, report("b", "bb")))
	must(t, j.Intent(t.Context(), intent("c", 3)))
	must(t, j.Done(t.Context(), "c", 3, report("c", "cc")))
	must(t, j.Sent(t.Context(), "c"))
	before, err := os.ReadFile(filepath.Join(dir, segment1))
	must(t, err)
	r, err := journal.Read(dir)
	must(t, err)
	if diff := cmp.Diff("a 1 intent begun 1 found 1\nb 2 done begun 1 found 0\nc 3 reported begun 1 found 0", entries(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(r.Violations) > 0 || r.Tail.Torn {
		t.Errorf("%v, %+v", r.Violations, r.Tail)
	}
	after, err := os.ReadFile(filepath.Join(dir, segment1))
	must(t, err)
	if !slices.Equal(before, after) {
		t.Error("Read has changed the journal")
	}
}

// A reader sees a complete journal at any moment, even during continuous compaction.
func TestReadDuringCompaction(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	must(t, j.Intent(t.Context(), intent("old", 1)))
	end := make(chan error, 1)
	go func() {
		var err error
		for i := range 40 {
			ref := fmt.Sprint("r", i)
			err = errors.Join(err, j.Done(t.Context(), ref, 1, report(ref, strings.Repeat("x", 100<<10))), j.Sent(t.Context(), ref))
		}
		end <- err
	}()
	for n := 0; ; n++ {
		r, err := journal.Read(dir)
		must(t, err)
		if len(r.Violations) > 0 || len(r.Threads()) == 0 || r.Threads()[0].Ref != "old" {
			t.Fatalf("reading %d: %v, %s", n, r.Violations, entries(r))
		}
		select {
		case err := <-end:
			must(t, err)
			return
		default:
		}
	}
}

// This test makes a journal with one violation of each kind.
func TestCheckNamesRule(t *testing.T) {
	whole := func(t *testing.T, dir string) []byte {
		j := open(t, dir)
		must(t, j.Intent(t.Context(), intent("a", 1)))
		must(t, j.Done(t.Context(), "a", 1, report("a", "aa")))
		must(t, j.Close())
		data, err := os.ReadFile(filepath.Join(dir, segment1))
		must(t, err)
		return data
	}
	for _, c := range []struct {
		rule   string
		damage func(data []byte) []byte
	}{
		{wal.RuleHeader, func(b []byte) []byte { b[0]++; return b }},
		{wal.RuleHeaderChecksum, func(b []byte) []byte { b[17]++; return b }},
		{wal.RuleChecksum, func(b []byte) []byte { b[40]++; return b }},
	} {
		t.Run(c.rule, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.WriteFile(filepath.Join(dir, segment1), c.damage(whole(t, dir)), 0o600))
			names(t, dir, c.rule)
		})
	}
	t.Run(wal.RuleSequence, func(t *testing.T) {
		dir := t.TempDir()
		data := whole(t, dir)
		must(t, os.WriteFile(filepath.Join(dir, "0000000000000002.wal"), data, 0o600))
		must(t, os.Remove(filepath.Join(dir, segment1)))
		names(t, dir, wal.RuleSequence)
	})
	t.Run(wal.RuleName, func(t *testing.T) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, "1.wal"), whole(t, dir), 0o600))
		names(t, dir, wal.RuleName)
	})
	for rule, records := range map[string][]string{
		journal.RuleJSON:   {`{"kind":"begun"}`, `{`},
		journal.RuleKind:   {`{"kind":"begun"}`, `{"kind":"else","ref":"a"}`},
		journal.RuleThread: {`{"kind":"begun"}`, `{"kind":"intent"}`},
		journal.RuleReport: {`{"kind":"begun"}`, `{"kind":"done","ref":"a","report":7}`},
		journal.RuleFirst:  {`{"kind":"intent","intent":{"ref":"a","epoch":1}}`},
		journal.RuleOrder:  {`{"kind":"begun"}`, `{"kind":"sent","ref":"a"}`},
		journal.RuleEpoch:  {`{"kind":"begun"}`, `{"kind":"intent","intent":{"ref":"a","epoch":2}}`, `{"kind":"intent","intent":{"ref":"a","epoch":1}}`},
	} {
		t.Run(rule, func(t *testing.T) {
			dir := t.TempDir()
			logOf(t, dir, records...)
			names(t, dir, rule)
		})
	}
}

// names checks that a check reports exactly one rule, and the position.
func names(t *testing.T, dir, rule string) {
	t.Helper()
	r, err := journal.Read(dir)
	must(t, err)
	if len(r.Violations) != 1 || r.Violations[0].Rule != rule || !strings.HasPrefix(r.Violations[0].Error(), dir) {
		t.Errorf("%v, want the rule %s", r.Violations, rule)
	}
}

// logOf writes the given records unchanged.
func logOf(t *testing.T, dir string, records ...string) {
	t.Helper()
	log, err := wal.Open(dir, func([]byte) error { return nil })
	must(t, err)
	for _, r := range records {
		must(t, log.Append(t.Context(), []byte(r)))
	}
	must(t, log.Close())
}

// crashes writes a journal. It returns its file, and by file length the content after each
// record.
func crashes(t *testing.T) (file []byte, reports map[int64]string, lengths []int64) {
	t.Helper()
	dir := t.TempDir()
	j := open(t, dir)
	reports = map[int64]string{}
	note := func(err error) {
		t.Helper()
		must(t, err)
		r, err := journal.Read(dir)
		must(t, err)
		lengths = append(lengths, r.Tail.Offset)
		reports[r.Tail.Offset] = reportTwice(j)
	}
	note(nil)
	for _, ref := range []string{"a", "b", "c"} {
		note(j.Intent(t.Context(), intent(ref, 1)))
		note(j.RecordFound(t.Context(), ref, "b2"))
		note(j.Done(t.Context(), ref, 1, report(ref, "said of "+ref)))
	}
	note(j.Sent(t.Context(), "b"))
	must(t, j.Close())
	file, err := os.ReadFile(filepath.Join(dir, segment1))
	must(t, err)
	return file, reports, lengths
}

// A power cut at every written byte leaves exactly the synced records.
func TestCrashAtEveryByte(t *testing.T) {
	file, reports, lengths := crashes(t)
	synced := func(n int64) string {
		want := ""
		for _, l := range lengths {
			if l <= n {
				want = reports[l]
			}
		}
		return want
	}
	step := 1
	if testing.Short() {
		step = 17 // prime, so that it does not align with the frames
	}
	for n := int(lengths[0]); n <= len(file); n += step {
		held(t, file[:n], synced(int64(n)), fmt.Sprintf("cut at byte %d", n))
	}
}

// A power cut that garbles the last 4 KB of unsynced data leaves exactly the synced records.
func TestCrashKeepsSyncedRecords(t *testing.T) {
	file, reports, lengths := crashes(t)
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range lengths {
		for round := range 8 {
			torn := slices.Clone(file[:l])
			for range 4 << 10 {
				torn = append(torn, byte(r.Uint32()))
			}
			if round%2 == 1 { // later data is there in part, with holes
				copy(torn[l:], file[l:])
				for range 1 + r.IntN(8) {
					at := int(l) + r.IntN(len(torn)-int(l))
					torn[at] ^= byte(1 + r.IntN(255))
				}
				next := slices.Index(lengths, l) + 1
				if next < len(lengths) { // only one write is under way
					clear(torn[lengths[next]:])
					at := l + r.Int64N(lengths[next]-l)
					torn[at] = ^file[at]
				} else {
					clear(torn[l:])
				}
			}
			held(t, torn, reports[l], fmt.Sprintf("garbled from byte %d, round %d", l, round))
		}
	}
}

// held opens a journal with that file, checks its content, and checks that it takes new
// records.
func held(t *testing.T, file []byte, want, how string) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, segment1), file, 0o600))
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatalf("%s: %v", how, err)
	}
	if diff := cmp.Diff(want, reportTwice(j)); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", how, diff)
	}
	must(t, j.Close())
	must(t, os.RemoveAll(dir))
}

// FuzzRead reads a journal with any file: it reports violations, or the same content as an
// opened journal.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	j, err := journal.Open(dir)
	if err == nil {
		err = errors.Join(j.Intent(f.Context(), intent("a", 1)), j.Done(f.Context(), "a", 1, report("a", "aa")), j.Close())
	}
	data, more := os.ReadFile(filepath.Join(dir, segment1))
	if err := errors.Join(err, more); err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{data, data[:len(data)-1], data[:28], data[:5], nil} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, segment1), data, 0o600))
		r, err := journal.Read(dir)
		must(t, err)
		j, err := journal.Open(dir)
		if err != nil {
			if len(r.Violations) == 0 {
				t.Errorf("Open fails, and Read finds no violation: %v", err)
			}
			return
		}
		must(t, j.Close())
		for _, m := range r.Violations {
			if len(j.Damage()) == 0 && !slices.Contains([]string{journal.RuleFirst, journal.RuleOrder, journal.RuleEpoch}, m.Rule) {
				t.Errorf("Open finds no damage, in spite of %v", m)
			}
		}
	})
}
