//go:build unix

package files_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

func (s *sharedFolder) pipe(parts ...string) {
	s.Helper()
	name := s.path(parts...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), syscall.Mkfifo(name, 0o600)); err != nil {
		s.Fatal(err)
	}
}

func (s *sharedFolder) link(to string, parts ...string) {
	s.Helper()
	name := s.path(parts...)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.Symlink(to, name)); err != nil {
		s.Fatal(err)
	}
}

// A pipe in a thread's folder blocks neither the start, nor later imports, nor the close.
func TestPipesBlockNothing(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	mine := fill(t, s.store, "a", 1, 10)
	s.settle()
	s.close()
	s.pipe("state=received", "p1", "000-p1.messe-af.yaml")
	s.pipe("state=received", "p2.messe-af.yaml")
	s.pipe("state=executing", mine, "001-"+mine+".messe-af.yaml")
	s.pipe("state=executing", mine, "att-009-image-x.jpg")
	s.open()
	s.pipe("state=received", "p3", "000-p3.messe-af.yaml")
	s.write(foreignThread, "state=received", "2026-02-01-NX8J.messe-af.yaml")
	if e := <-s.changed; e.Ref != "2026-02-01-NX8J" {
		t.Errorf("%+v", e)
	}
	s.settle()
	if _, err := s.store.Attachment(t.Context(), mine, "att-009-image-x.jpg"); !errors.Is(err, thread.ErrNoBlob) {
		t.Errorf("%v", err)
	}
	s.end(mine)
	s.settle()
	if _, err := os.Stat(s.path("state=finished", mine)); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"state=received/p1/000-p1.messe-af.yaml: is a pipe", "state=received/p3/000-p3.messe-af.yaml: is a pipe"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("%q is not in the log:\n%s", want, s.log)
		}
	}
}

// The store does not read through a link in a thread's folder, and does not write through it.
func TestLinksAreNotFollowed(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	const secret = "the operator's key"
	s.write(secret, "operator.key")
	ref := fill(t, s.store, "a", 0, 0)
	s.settle()
	const picture = "att-001-image-image.jpg"
	s.link("../../operator.key", "state=received", ref, picture)
	s.link("../../operator.key", "state=received", ref, "001-"+ref+".messe-af.yaml")
	if f, err := s.store.Attachment(t.Context(), ref, picture); !errors.Is(err, thread.ErrNoBlob) {
		data, _ := io.ReadAll(f)
		t.Errorf("%v: %s", err, data)
	}
	// The executor's image gets the name that another program has used for a link.
	large := strings.Repeat("picture!", 100<<10)
	s.end(ref, mess.MediaEntry("image", mess.Media{URI: mess.DataURI("image/jpeg", []byte(large))}))
	s.settle()
	if data, err := os.ReadFile(s.path("operator.key")); err != nil || string(data) != secret {
		t.Errorf("the key was overwritten: %v, %.50q", err, data)
	}
	if f, err := s.store.Attachment(t.Context(), ref, picture); err != nil {
		t.Error(err)
	} else if data, err := io.ReadAll(f); err != nil || string(data) != large {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	// A link is not a thread.
	s.write(foreignThread, "2026-02-01-NX8J.messe-af.yaml")
	s.link("../2026-02-01-NX8J.messe-af.yaml", "state=received", "2026-02-01-NX8J.messe-af.yaml")
	s.link("../state=finished/"+ref, "state=received", "2026-02-01-009")
	s.settle()
	s.close()
	s.loseLog()
	s.open()
	for _, ref := range []string{"2026-02-01-NX8J", "2026-02-01-009"} {
		if th, _, err := s.store.Read(t.Context(), ref); !errors.Is(err, thread.ErrNoThread) {
			t.Errorf("%s: %+v, %v", ref, th, err)
		}
	}
}

// A folder returns only its own file while another program replaces that file with links and
// pipes.
func TestDirReturnsOnlyOwnFiles(t *testing.T) {
	dir := t.TempDir()
	s := &sharedFolder{T: t, dir: dir}
	s.write("secret", "key")
	s.write("mine", "T", "att-001-image-a.jpg")
	name := s.path("T", "att-001-image-a.jpg")
	stop := make(chan struct{})
	done := make(chan error)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			var err error
			switch tmp := s.path("T", "tmp"); i % 3 {
			case 0:
				err = errors.Join(os.Symlink("../key", tmp), os.Rename(tmp, name))
			case 1:
				err = errors.Join(syscall.Mkfifo(tmp, 0o600), os.Rename(tmp, name))
			case 2:
				err = errors.Join(os.WriteFile(tmp, []byte("mine"), 0o600), os.Rename(tmp, name))
			}
			if err != nil {
				done <- err
				return
			}
		}
	}()
	for range 20000 { // without the check some hundred are enough
		if data, err := fs.ReadFile(tree.Dir(dir), "T/att-001-image-a.jpg"); err == nil && string(data) != "mine" {
			t.Fatalf("read %q", data)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// Import rejects a thread with files that a copy would lack.
func TestImportRejectsLinks(t *testing.T) {
	s := &sharedFolder{T: t, dir: t.TempDir()}
	s.write("secret", "key")
	s.write(foreignThread, "2026-02-01-NX8J", "000-2026-02-01-NX8J.messe-af.yaml")
	s.link("../key", "2026-02-01-NX8J", "att-001-image-a.jpg")
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, err = external.Import(root, tree.Dir(s.dir), messeaf.Place{Ref: "2026-02-01-NX8J", Path: "2026-02-01-NX8J"})
	if err == nil || !strings.Contains(err.Error(), "2026-02-01-NX8J/att-001-image-a.jpg: is a symbolic link") {
		t.Error(err)
	}
	if _, err := root.Stat("state=received/2026-02-01-NX8J"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A partly written file does not replace a good one.
func TestPartialFileReplacesNothing(t *testing.T) {
	s := newSharedFolder(t, t.TempDir())
	ref := fill(t, s.store, "a", 1, 10)
	s.settle()
	tmp := []string{"tmp", ref + ".messe-af.yaml"}
	s.link("/dev/full", tmp...) // the link leads out of the folder, so the write fails
	s.end(ref)
	s.until("it is logged", func() bool { return strings.Contains(s.log.String(), "ref="+ref+" err=") })
	name := s.path("state=executing", ref, "000-"+ref+".messe-af.yaml")
	if info, err := os.Lstat(name); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Remove(s.path(tmp...)); err != nil {
		t.Fatal(err)
	}
	s.close()
	s.open()
	s.settle()
	s.wantThreads("state=finished/" + ref)
}
