package files

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess/messeaf"
)

// archiveWriter writes an archive anew, with more threads in it.
type archiveWriter struct {
	s     *Store
	name  string
	tmp   string
	f     *os.File
	zip   *zip.Writer
	old   []*zip.File // of the archive that it replaces
	close func() error
	added []archivedThread
	busy  error // another program writes to a thread now
}

func (s *Store) newArchive(name string) (*archiveWriter, error) {
	w := &archiveWriter{s: s, name: name, tmp: "tmp/new" + messeaf.ZipExt}
	old, err := openArchive(s.tree(), archivePath(name))
	switch z, ok := old.FS.(*zip.Reader); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case ok:
		w.old, w.close = z.File, old.Close
	}
	if w.f, err = s.root.OpenFile(w.tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, errors.Join(err, w.closeOld())
	}
	w.zip = zip.NewWriter(w.f)
	return w, nil
}

func (w *archiveWriter) closeOld() error {
	if w.close == nil {
		return nil
	}
	defer func() { w.close = nil }()
	return w.close()
}

// discard removes what is not whole.
func (w *archiveWriter) discard() {
	_ = errors.Join(w.closeOld(), w.f.Close(), w.s.root.Remove(w.tmp)) // it is in tmp/, which each start empties
}

// errOtherFiles is why a thread stays in its folder.
var errOtherFiles = errors.New("the folder has files that are not of the thread, so the exchange does not archive it; move them elsewhere")

// add adds a thread to the archive. A thread that cannot move now stays in its folder; add logs
// the reason.
func (w *archiveWriter) add(ctx context.Context, e entry) error {
	places := w.s.endedPlaces(e.summary)
	if len(places) != 1 {
		return nil
	}
	if w.s.changedWithin(places[0], quiet) {
		if wait.For(ctx, quiet); w.s.changedWithin(places[0], quiet) {
			w.busy = errBusy
			return nil
		}
	}
	a := archivedThread{e, places[0], w.s.contents(places[0])}
	m, err := a.place.ReadEnvelope(w.s.tree())
	if err == nil && (m.Ref != e.Ref || !m.Status.Terminal()) {
		err = problem(a.place, "", "the envelope does not say that the thread %s has ended, so the exchange does not archive it", e.Ref)
	}
	own, attachments, more := a.place.Whole(w.s.tree())
	if err = errors.Join(err, more); err == nil && len(own)+len(attachments) != len(a.files) {
		err = errOtherFiles
	}
	if err != nil {
		w.s.project.logOnce(e.Ref, err)
		return nil
	}
	if err := a.place.AddTo(w.zip, w.s.tree()); err != nil {
		return err
	}
	w.added = append(w.added, a)
	return nil
}

// finish copies the threads of the earlier archive. It then syncs and verifies the new archive,
// and renames it over the earlier one.
func (w *archiveWriter) finish() error {
	anew := map[string]bool{}
	for _, a := range w.added {
		anew[a.Ref] = true
	}
	for _, f := range w.old {
		if anew[refInArchive(f.Name)] {
			continue
		}
		if err := w.zip.Copy(f); err != nil {
			return err
		}
	}
	if err := errors.Join(w.zip.Close(), w.closeOld(), w.f.Sync()); err != nil {
		return err
	}
	if err := checkArchive(w.f); err != nil {
		return err
	}
	s := w.s
	if err := tree.MakeDir(s.root, "archive"); err != nil {
		return err
	}
	s.crash("archive written")
	if err := s.root.Rename(w.tmp, archivePath(w.name)); err != nil {
		return err
	}
	defer s.crash("archive renamed")
	return tree.SyncDir(s.root, "archive")
}

// checkArchive reads every file of a new archive.
func checkArchive(f *os.File) error {
	fsys, err := archiveIn(f)
	if err != nil {
		return err
	}
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		in, err := fsys.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, in) // which checks the sum
		return cmp.Or(err, in.Close())
	})
}
