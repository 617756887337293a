package journal

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// crash returns the journal as the next run finds it after a crash.
func (j *Journal) crash(t *testing.T) *Journal {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "journal")
	if err := os.CopyFS(dir, os.DirFS(j.dir)); err != nil {
		t.Fatal(err)
	}
	next, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Close() })
	return next
}

// The journal counts the threads during which the program dies, and no others.
func TestJournalCountsCrashes(t *testing.T) {
	j, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	try := func(ref string) func() {
		t.Helper()
		done, err := j.TrackInterpretation(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		return done
	}
	try("good")()
	try("bad")
	for n := range 3 {
		j = j.crash(t)
		if good, bad := j.CrashCount("good"), j.CrashCount("bad"); good != 0 || bad != n+1 {
			t.Fatalf("crash counts: %d of the good thread, %d of the bad one, want 0 and %d", good, bad, n+1)
		}
		if n < 2 {
			try("bad")
		}
	}
	if j = j.crash(t); j.CrashCount("bad") != 3 {
		t.Error("crash count after an unrelated start is not 3")
	}
	try("bad")()
	if j = j.crash(t); j.CrashCount("bad") != 0 {
		t.Error("crash count after a completed run is not 0")
	}
	for n := range 200 { // more than there is room for
		try(strings.Repeat("x", 90) + string(rune('0'+n)))
	}
	j.crash(t)
}

// The program has died during as many threads as the file has room for, and interprets one more: the
// journal counts its crash, too.
func TestFullCrashFileCountsNextCrash(t *testing.T) {
	j, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	for n := range maxCrashCounts {
		if _, err := j.TrackInterpretation(t.Context(), fmt.Sprintf("2026-02-01-%03d", n)); err != nil {
			t.Fatal(err)
		}
	}
	for _, ref := range []string{"2026-02-02-001", "2026-02-02-002"} {
		j = j.crash(t)
		if _, err := j.TrackInterpretation(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
	}
	j = j.crash(t)
	if first, second := j.CrashCount("2026-02-02-001"), j.CrashCount("2026-02-02-002"); first != 1 || second != 1 {
		t.Errorf("crash counts are %d and %d, want 1 and 1", first, second)
	}
}

func FuzzParseTries(f *testing.F) {
	for _, s := range []string{"", " \n", "[]", `[{"ref":"a","now":true,"died":2}]`, `[{"ref":""}]`, `[{"ref":"a","died":-1}]`, "{", "null"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := parseCrashCounts(data)
		if err != nil {
			if list != nil {
				t.Fatalf("%q fails and gives %v", data, list)
			}
			return
		}
		text, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseCrashCounts(text); err != nil || len(again) != len(list) || len(list) > 0 && !reflect.DeepEqual(again, list) {
			t.Errorf("%q reads as %v, and again as %v, %v", data, list, again, err)
		}
	})
}

// More long refs than the file has room for: it has the newest ones.
func TestCrashFileHasTheNewestThreads(t *testing.T) {
	j, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	var refs []string
	for i := range maxCrashCounts {
		ref := fmt.Sprintf("2026-02-01-%03d-%s", i+1, strings.Repeat("x", 130))
		if _, err := j.TrackInterpretation(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		refs = append(refs, ref)
	}
	j = j.crash(t)
	counted := 0
	for i, ref := range refs {
		n := j.CrashCount(ref)
		if counted += n; n == 0 && counted > 0 {
			t.Errorf("thread %d has no count, and an older one has", i+1)
		}
	}
	if counted < 40 || counted == len(refs) {
		t.Errorf("%d threads have a count, want most of %d", counted, len(refs))
	}
}
