package files_test

import (
	"errors"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// makesFolders opens a new store and archives a thread, in a separate process.
func makesFolders(t *testing.T, dir string) {
	t.Helper()
	s := open(t, dir)
	name := filepath.Join("state=finished", "2026-02-01-NX8J.messe-af.yaml")
	root, err := os.OpenRoot(dir)
	if err == nil {
		err = root.WriteFile(name, []byte(foreignThread), 0o600)
	}
	if err == nil {
		err = archive.Move(root, messeaf.Place{Ref: "2026-02-01-NX8J", Path: name, Folder: messeaf.Finished, Flat: true})
	}
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

var (
	madeIn  = regexp.MustCompile(`mkdirat\((?:AT_FDCWD<[^>]*>|\d+<([^>]*)>), "([^"]+)", 0700\) = 0`)
	syncsIt = regexp.MustCompile(`fsync\(\d+<([^>]*)>`)
)

// A new store syncs the name of each folder that it makes. Without the name a power failure
// would lose all files in the folder.
func TestNewFoldersAreSynced(t *testing.T) {
	if dir := os.Getenv("MAKE_FOLDERS"); dir != "" {
		makesFolders(t, dir)
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil || exec.Command(strace, "-f", "-o", "/dev/null", "true").Run() != nil {
		t.Skip("strace is missing (Debian: strace), or may not trace here")
	}
	data := filepath.Join(t.TempDir(), "new", "data")
	cmd := exec.Command(strace, "-f", "-y", "-e", "trace=mkdirat,fsync", os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "MAKE_FOLDERS="+data)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	unsynced, made := map[string]string{}, 0
	for line := range strings.Lines(string(out)) {
		if m := madeIn.FindStringSubmatch(line); m != nil {
			dir := m[2]
			if !path.IsAbs(dir) {
				dir = path.Join(m[1], dir)
			}
			if strings.HasPrefix(dir, path.Dir(data)) && !strings.HasPrefix(dir, data+"/tmp") {
				made++
				unsynced[dir] = path.Dir(dir)
			}
		}
		if m := syncsIt.FindStringSubmatch(line); m != nil {
			for dir, in := range unsynced {
				if in == m[1] {
					delete(unsynced, dir)
				}
			}
		}
	}
	if made < 10 || len(unsynced) > 0 {
		t.Errorf("%d folders were made; the names of these are not on the disk: %v\n%s", made, unsynced, out)
	}
}

// endsBadly ends a thread in a process whose disk does not sync the folders the first time.
func endsBadly(t *testing.T, dir string) {
	t.Helper()
	s := open(t, dir)
	ref := fill(t, s, "a", 2, 10)
	th, _, err := s.Read(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	th.Ver++
	th.Status, th.Phase = mess.Completed, thread.Finished
	_, err = s.Append(t.Context(), thread.Step{After: revOf(th.Ver - 1), Envelope: th.Envelope})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
}

// After a failed sync the store does not trust a folder, even if the kernel shows its content.
// It writes the folder anew before its log releases the thread.
func TestUnsyncedFolderIsRewritten(t *testing.T) {
	if dir := os.Getenv("ENDS_BADLY"); dir != "" {
		endsBadly(t, dir)
		return
	}
	strace, err := exec.LookPath("strace")
	if err != nil || exec.Command(strace, "-f", "-o", "/dev/null", "true").Run() != nil {
		t.Skip("strace is missing (Debian: strace), or may not trace here")
	}
	dir := t.TempDir()
	cmd := exec.Command(strace, "-f", "-o", "/dev/null", "-e", "trace=syncfs", "-e", "inject=syncfs:error=EIO:when=1", os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), "ENDS_BADLY="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	name := filepath.Join(dir, "state=finished", "2026-02-01-001-a", "000-2026-02-01-001-a.messe-af.yaml")
	was, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = newSharedFolder(t, dir).store
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	is, err := os.Lstat(name)
	if err != nil || os.SameFile(was, is) {
		t.Errorf("the file was not rewritten: %v", err)
	}
	if now, err := os.ReadFile(name); err != nil || string(now) != string(text) {
		t.Errorf("the file has changed: %v\n%s", err, now)
	}
}
