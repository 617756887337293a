package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/agent/journal"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess"
)

func open(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func intent(ref string, epoch uint64) journal.Intent {
	return journal.Intent{Ref: ref, Epoch: epoch, Digest: "sha256:1", Boot: "b1", Plan: json.RawMessage(`{"device":"lamp"}`)}
}

func report(ref, text string) mess.Message {
	return mess.Message{Re: mess.Refs{ref}, Epoch: 3, Items: []mess.Item{
		&mess.Status{Code: mess.Completed, Message: text, Evidence: mess.ReadBack},
		&mess.Response{Content: []mess.Entry{mess.TextEntry("the lamp is on")}},
	}}
}

// reportTwice returns the state of a journal, one line per thread.
func reportTwice(j *journal.Journal) string {
	var lines []string
	for _, t := range j.Tasks() {
		line := fmt.Sprintf("%s epoch %d begun %d", t.Ref, t.Epoch, t.Begun)
		if t.Open() {
			line += " open"
		}
		if t.Report != nil {
			line += " says " + recordTexts(*t.Report)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// recordTexts returns the text of a report, or all of it if it has another form.
func recordTexts(m mess.Message) string {
	if len(m.Items) > 0 {
		if s, ok := m.Items[0].(*mess.Status); ok {
			return s.Message
		}
	}
	data, err := json.Marshal(m)
	return fmt.Sprintf("%s %v", data, err)
}

func TestReopenedJournalHasEveryRecord(t *testing.T) {
	dir := t.TempDir()
	ctx := t.Context()
	j := open(t, dir)
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, ""},
		{func() error { return j.Intent(ctx, intent("a", 1)) }, "a epoch 1 begun 1 open"},
		{func() error { return j.Intent(ctx, intent("a", 2)) }, "a epoch 2 begun 2 open"},
		{func() error { return j.Intent(ctx, intent("b", 1)) }, "a epoch 2 begun 2 open\nb epoch 1 begun 1 open"},
		{func() error { return j.Done(ctx, "b", 1, report("b", "bb")) }, "a epoch 2 begun 2 open\nb epoch 1 begun 1 says bb"},
		{func() error { return j.Done(ctx, "a", 2, report("a", "aa")) }, "b epoch 1 begun 1 says bb\na epoch 2 begun 2 says aa"},
		{func() error { return j.Done(ctx, "c", 7, report("c", "cc")) }, "b epoch 1 begun 1 says bb\na epoch 2 begun 2 says aa\nc epoch 7 begun 0 says cc"},
		{func() error { return j.Sent(ctx, "b") }, "a epoch 2 begun 2 says aa\nc epoch 7 begun 0 says cc"},
		{func() error { return j.Sent(ctx, "b") }, "a epoch 2 begun 2 says aa\nc epoch 7 begun 0 says cc"},
		{func() error { return j.Sent(ctx, "a") }, "c epoch 7 begun 0 says cc"},
	}
	for i, s := range steps {
		must(t, s.do())
		if diff := cmp.Diff(s.want, reportTwice(j)); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", i, diff)
		}
		must(t, j.Close())
		j = open(t, dir)
		if diff := cmp.Diff(s.want, reportTwice(j)); diff != "" {
			t.Fatalf("step %d, reopened (-want +got):\n%s", i, diff)
		}
	}
	got, ok := j.Task("c")
	if !ok || got.Report == nil {
		t.Fatalf("Task(c) = %+v, %v", got, ok)
	}
	if diff := cmp.Diff(report("c", "cc"), *got.Report); diff != "" {
		t.Errorf("the report (-want +got):\n%s", diff)
	}
}

// A watch outlives its thread and a compaction, until its end.
func TestLateActWatchSurvivesThread(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	j := open(t, dir)
	memo := json.RawMessage(`{"lates":[1]}`)
	must(t, j.Intent(ctx, intent("a", 3)))
	must(t, j.WatchLate(ctx, "a", 3, json.RawMessage(`{}`)))
	must(t, j.WatchLate(ctx, "a", 3, memo))
	must(t, j.WatchLate(ctx, "b", 1, memo))
	must(t, j.WatchLate(ctx, "b", 1, nil))
	must(t, j.Done(ctx, "a", 3, report("a", "aa")))
	must(t, j.Sent(ctx, "a"))
	kept := func(want int) {
		t.Helper()
		list := j.LateWatches()
		if len(list) != want || want > 0 && (list[0].Ref != "a" || list[0].Epoch != 3 || string(list[0].Data) != string(memo)) {
			t.Fatalf("%+v, want %d", list, want)
		}
	}
	kept(1)
	for range 20 { // enough to cause a compaction
		must(t, j.Done(ctx, "c", 1, report("c", strings.Repeat("x", 60<<10))))
		must(t, j.Sent(ctx, "c"))
	}
	kept(1)
	must(t, j.Close())
	r, err := journal.Read(dir)
	must(t, err)
	if list := r.Threads(); len(r.Violations) > 0 || len(list) == 0 || list[0].Ref != "a" || list[0].State != journal.StateReported {
		t.Errorf("%+v, wrong: %v", list, r.Violations)
	}
	j = open(t, dir)
	kept(1)
	if reportTwice(j) != "" {
		t.Errorf("threads: %s", reportTwice(j))
	}
	must(t, j.WatchLate(ctx, "a", 3, nil))
	must(t, j.Close())
	j = open(t, dir)
	kept(0)
}

func TestNewJournal(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	if !j.IsNew() {
		t.Error("a new journal is not fresh")
	}
	must(t, j.Close())
	if open(t, dir).IsNew() {
		t.Error("a reopened journal is fresh")
	}
}

// size returns the size of a journal on the disk, with the reserved space if it is open.
func size(t *testing.T, dir string) (n int64) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	}))
	return n
}

func TestJournalStaysSmall(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	must(t, j.Intent(t.Context(), intent("old", 1)))
	text := strings.Repeat("x", 5000)
	for i := range 300 {
		ref := fmt.Sprintf("r%d", i)
		must(t, j.Intent(t.Context(), intent(ref, 1)))
		must(t, j.Done(t.Context(), ref, 1, report(ref, text)))
		must(t, j.Sent(t.Context(), ref))
	}
	must(t, j.Close())
	if n := size(t, dir); n > 512<<10 {
		t.Errorf("300 finished threads have left %d bytes", n)
	}
	if got, want := reportTwice(open(t, dir)), "old epoch 1 begun 1 open"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestClosedJournalReturnsError(t *testing.T) {
	j := open(t, t.TempDir())
	must(t, j.Close())
	if err := j.Intent(t.Context(), intent("a", 1)); err == nil {
		t.Error("an intent was taken by a closed journal")
	}
	if j.Err() == nil || j.EnsureRoom(t.Context()) == nil {
		t.Error("the journal is writable, want an error")
	}
	if got := reportTwice(j); got != "" {
		t.Errorf("an unwritten report counts: %s", got)
	}
}

// A journal full of waiting reports rejects new tasks and keeps the reports. It has space again
// after the exchange has taken them.
func TestFullJournalRejectsTasks(t *testing.T) {
	dir := t.TempDir()
	o := journal.DefaultOptions()
	o.MaxBytes = 1 << 20
	j, err := o.Open(dir)
	must(t, err)
	n := 0
	for ; err == nil && n < 100; n++ {
		err = j.Done(t.Context(), fmt.Sprintf("r%d", n), 1, report("r", strings.Repeat("x", 64<<10)))
	}
	if err == nil || n > 17 {
		t.Fatalf("%d reports of 64 KB: %v, want the journal full at 1 MB", n, err)
	}
	if err := j.EnsureRoom(t.Context()); !errors.Is(err, wal.ErrFull) {
		t.Errorf("Ready: %v, want it full", err)
	}
	for range 3 { // dropping needs no space
		must(t, j.Sent(t.Context(), j.Tasks()[0].Ref))
	}
	must(t, j.Intent(t.Context(), intent("new", 1)))
	must(t, j.Close())
	if got := len(open(t, dir).Tasks()); got != n-3+1 {
		t.Errorf("%d threads, want %d", got, n-3+1)
	}
}

// A journal with little space left makes some.
func TestReadyMakesSpace(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	for i := range 15 { // the reports still wait, so compaction cannot drop them
		must(t, j.Done(t.Context(), fmt.Sprintf("r%d", i), 1, report("r", strings.Repeat("x", 64<<10))))
	}
	for i := range 14 {
		must(t, j.Done(t.Context(), fmt.Sprintf("r%d", i), 1, report("r", "short")))
	}
	before := size(t, dir)
	must(t, j.EnsureRoom(t.Context()))
	must(t, j.Close())
	if after := size(t, dir); after > before/2 {
		t.Errorf("%d bytes before, %d after", before, after)
	}
	if got := len(open(t, dir).Tasks()); got != 15 {
		t.Errorf("%d threads, want 15", got)
	}
}

// A journal full of waiting reports compacts itself once, and not again and again.
func TestReadyCompactsOnceForWaitingReports(t *testing.T) {
	j := open(t, t.TempDir())
	for i := range 45 { // enough to leave less than a task needs
		must(t, j.Done(t.Context(), fmt.Sprintf("r%d", i), 1, report("r", strings.Repeat("x", 64<<10))))
	}
	must(t, j.EnsureRoom(t.Context()))
	before, _ := j.Written()
	for range 10 {
		must(t, j.EnsureRoom(t.Context()))
	}
	if after, _ := j.Written(); after != before {
		t.Errorf("%d bytes were written for nothing", after-before)
	}
	if n := len(j.Tasks()); n != 45 {
		t.Errorf("%d reports, want 45", n)
	}
}

// FuzzOpen opens a journal with a record of any bytes. A record that it accepts reads the same
// after reopening.
func FuzzOpen(f *testing.F) {
	for _, s := range []string{
		`{"kind":"begun"}`, `{"kind":"intent","intent":{"ref":"a","epoch":1,"plan":{}}}`, `{"kind":"intent"}`,
		`{"kind":"done","ref":"a","epoch":1,"report":{"re":["a"],"MESS":[{"status":{"code":"completed"}}]}}`,
		`{"kind":"sent","ref":"a"}`, `{"kind":"else"}`, `{`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, record []byte) {
		dir := t.TempDir()
		log, err := wal.Open(dir, func([]byte) error { return nil })
		must(t, err)
		must(t, log.Append(t.Context(), record))
		must(t, log.Close())
		j, err := journal.Open(dir)
		if err != nil {
			return
		}
		first := reportTwice(j)
		must(t, j.Close())
		if again := reportTwice(open(t, dir)); again != first {
			t.Errorf("%q, then %q", first, again)
		}
	})
}

// After somebody removes an open journal, it permits nothing until Repair; then the disk has all
// records again.
func TestRemovedJournalPermitsNothing(t *testing.T) {
	dir, ctx := filepath.Join(t.TempDir(), "journal"), t.Context()
	j := open(t, dir)
	must(t, j.Intent(ctx, intent("2026-11-21-001", 3)))
	must(t, os.RemoveAll(dir))
	if err := j.EnsureRoom(ctx); err == nil {
		t.Error("another task may begin")
	}
	if err := j.Intent(ctx, intent("2026-11-21-002", 3)); err == nil {
		t.Error("the journal wrote an intent that the next run cannot find, want an error")
	}
	if err := j.Done(ctx, "2026-11-21-001", 3, report("2026-11-21-001", "done")); err == nil {
		t.Error("the journal wrote a report that the next run cannot find, want an error")
	}
	must(t, j.Repair(ctx))
	must(t, errors.Join(j.EnsureRoom(ctx), j.Check(ctx)))
	want := reportTwice(j)
	must(t, j.Close())
	if got := reportTwice(open(t, dir)); got != want || !strings.Contains(got, "2026-11-21-001") || strings.Contains(got, "002") {
		t.Errorf("on the disk is %q, want %q", got, want)
	}
}

// damaged opens the journal in dir after a change of bytes in its file.
func damaged(t *testing.T, dir, was, is string) *journal.Journal {
	t.Helper()
	name := filepath.Join(dir, "0000000000000001.wal")
	data, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, bytes.Replace(data, []byte(was), []byte(is), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// A journal with one flipped bit loses nothing. One with a lost record opens and reports that
// it may not know all acts.
func TestDamagedJournal(t *testing.T) {
	written := func() string {
		dir := t.TempDir()
		j, err := journal.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, ref := range []string{"2026-02-01-001", "2026-02-01-002"} {
			if err := j.Intent(t.Context(), journal.Intent{Ref: ref, Epoch: 1, Digest: "d", Boot: "b"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	j := damaged(t, written(), "02-01-001", "02-01-000")
	if len(j.Tasks()) != 2 || j.IsNew() || len(j.Damage()) != 1 {
		t.Errorf("one bit: %+v, fresh %v, %v", j.Tasks(), j.IsNew(), j.Damage())
	}
	dir := written()
	j = damaged(t, dir, "02-01-001", "?????????")
	if tasks := j.Tasks(); len(tasks) != 1 || tasks[0].Ref != "2026-02-01-002" || !j.IsNew() || len(j.Damage()) != 1 {
		t.Errorf("a lost record: %+v, fresh %v, %v", tasks, j.IsNew(), j.Damage())
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := journal.Read(dir); err != nil || len(r.Violations) > 0 {
		t.Errorf("violations after the compaction: %v, %v, want none", r.Violations, err)
	}
}
