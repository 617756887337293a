package thread

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/mess/messeaf"
)

// A thread that an exchange moves during the check is no mistake.
func TestCheckFollowsMovedThread(t *testing.T) {
	const ref = "2026-01-15-TEST"
	dir := t.TempDir()
	text, err := os.ReadFile("../../../mess/messeaf/testdata/complete.messe-af.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{"state=executing", "state=finished"} {
		if err := os.MkdirAll(filepath.Join(dir, state), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(dir, "state=finished", ref+messeaf.Ext)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := ThreadsIn(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	want, _ := all[0].check()
	before := OnDisk{messeaf.Place{Ref: all[0].Ref, Path: "state=executing/" + ref + messeaf.Ext, Flat: all[0].Flat}, tree.Dir(dir), dir}
	got, _ := before.check()
	if len(got) != len(want) {
		t.Errorf("after a move: %v, want %v", got, want)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if wrong, _ := before.check(); len(wrong) == 0 {
		t.Error("a thread that is gone has no mistake")
	}
}
