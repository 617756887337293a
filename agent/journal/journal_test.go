package journal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/agent/journal"
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

// tell is what a journal knows, a line a thread.
func tell(j *journal.Journal) string {
	var lines []string
	for _, t := range j.Tasks() {
		line := fmt.Sprintf("%s epoch %d begun %d", t.Ref, t.Epoch, t.Begun)
		if t.Open() {
			line += " open"
		}
		if t.Report != nil {
			line += " says " + t.Report.Items[0].(*mess.Status).Message
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestEveryWordIsThereAfterReopening(t *testing.T) {
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
		if diff := cmp.Diff(s.want, tell(j)); diff != "" {
			t.Fatalf("step %d (-want +got):\n%s", i, diff)
		}
		must(t, j.Close())
		j = open(t, dir)
		if diff := cmp.Diff(s.want, tell(j)); diff != "" {
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

func TestFresh(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	if !j.Fresh() {
		t.Error("a new journal is not fresh")
	}
	must(t, j.Close())
	if open(t, dir).Fresh() {
		t.Error("a reopened journal is fresh")
	}
}

func TestItStaysSmall(t *testing.T) {
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
	var size int64
	must(t, filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		size += info.Size()
		return err
	}))
	if size > 512<<10 {
		t.Errorf("300 finished threads have left %d bytes", size)
	}
	if got, want := tell(open(t, dir)), "old epoch 1 begun 1 open"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAClosedJournalSaysSo(t *testing.T) {
	j := open(t, t.TempDir())
	must(t, j.Close())
	if err := j.Intent(t.Context(), intent("a", 1)); err == nil {
		t.Error("an intent was taken by a closed journal")
	}
	if j.Err() == nil {
		t.Error("Err is nil")
	}
	if got := tell(j); got != "" {
		t.Errorf("what was not written is believed: %s", got)
	}
}

// A journal that is full of reports which nobody takes refuses more, and has
// room again when they are taken.
func TestFull(t *testing.T) {
	dir := t.TempDir()
	j, err := journal.OpenMax(dir, 1<<20)
	must(t, err)
	n := 0
	for ; err == nil && n < 100; n++ {
		err = j.Done(t.Context(), fmt.Sprintf("r%d", n), 1, report("r", strings.Repeat("x", 64<<10)))
	}
	if err == nil || n > 17 {
		t.Fatalf("%d reports of 64 KB: %v, want the journal full at 1 MB", n, err)
	}
	for range 3 { // to forget takes no room
		must(t, j.Sent(t.Context(), j.Tasks()[0].Ref))
	}
	must(t, j.Intent(t.Context(), intent("new", 1)))
	must(t, j.Close())
	if got := len(open(t, dir).Tasks()); got != n-1-3+1 {
		t.Errorf("%d threads, want %d", got, n-3)
	}
}
