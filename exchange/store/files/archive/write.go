package archive

import (
	"archive/zip"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/mess/messeaf"
)

// Writer writes an archive anew, with more threads in it.
type Writer struct {
	root  *os.Root
	name  string
	tmp   string
	f     *os.File
	zip   *zip.Writer
	old   []*zip.File // of the archive that it replaces
	close func() error
	added map[string]bool // refs
}

// NewWriter begins an archive in the folder tmp of an exchange.
func NewWriter(root *os.Root, name string) (*Writer, error) {
	w := &Writer{root: root, name: name, tmp: "tmp/new" + messeaf.ZipExt, added: map[string]bool{}}
	old, err := open(tree.Tree{Root: root}, pathOf(name))
	switch z, ok := old.FS.(*zip.Reader); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case ok:
		w.old, w.close = z.File, old.Close
	}
	if w.f, err = root.OpenFile(w.tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return nil, errors.Join(err, w.closeOld())
	}
	w.zip = zip.NewWriter(w.f)
	return w, nil
}

func (w *Writer) closeOld() error {
	if w.close == nil {
		return nil
	}
	defer func() { w.close = nil }()
	return w.close()
}

// Discard removes what is not whole.
func (w *Writer) Discard() {
	_ = errors.Join(w.closeOld(), w.f.Close(), w.root.Remove(w.tmp)) // it is in tmp/, which each start empties
}

// Add adds a thread in the folder of the exchange.
func (w *Writer) Add(p messeaf.Place) error {
	if err := p.AddTo(w.zip, tree.Tree{Root: w.root}); err != nil {
		return err
	}
	w.added[p.Ref] = true
	return nil
}

// Finish copies the threads of the earlier archive. It then syncs and verifies the new archive.
func (w *Writer) Finish() error {
	for _, f := range w.old {
		if w.added[refOf(f.Name)] {
			continue
		}
		if err := w.zip.Copy(f); err != nil {
			return err
		}
	}
	if err := errors.Join(w.zip.Close(), w.closeOld(), w.f.Sync()); err != nil {
		return err
	}
	return check(w.f)
}

// Install renames the finished archive over the earlier one.
func (w *Writer) Install() error {
	if err := tree.MakeDir(w.root, folder); err != nil {
		return err
	}
	if err := w.root.Rename(w.tmp, pathOf(w.name)); err != nil {
		return err
	}
	return tree.SyncDir(w.root, folder)
}

// check reads every file of a new archive.
func check(f *os.File) error {
	fsys, err := filesIn(f)
	if err != nil {
		return err
	}
	return checkFiles(fsys)
}

// checkFiles reads every file of an archive.
func checkFiles(fsys fs.FS) error {
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
