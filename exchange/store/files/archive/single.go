package archive

import (
	"errors"
	"os"
	"path"

	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/mess/messeaf"
)

// Move moves a thread in the folder of an exchange into an archive of its own. It removes the
// thread when the archive is on the disk.
func Move(root *os.Root, p messeaf.Place) error {
	to := aloneIn(p.Ref)
	if err := errors.Join(tree.MakeDir(root, path.Dir(to)), root.MkdirAll("tmp", 0o700)); err != nil {
		return err
	}
	tmp := path.Join("tmp", p.Ref+messeaf.ZipExt)
	f, err := root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = messeaf.Archive(f, tree.Tree{Root: root}, p)
	if err == nil {
		err = readsAs(f, p.Ref)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	if err := root.Rename(tmp, to); err != nil {
		return err
	}
	if err := tree.SyncDir(root, path.Dir(to)); err != nil {
		return err
	}
	return root.RemoveAll(p.Path)
}

// readsAs returns an error if the new archive does not contain a readable copy of the thread.
func readsAs(f *os.File, ref string) error {
	fsys, err := filesIn(f)
	if err != nil {
		return err
	}
	a := opened{fsys, nil}
	p, err := a.place(ref)
	if err == nil {
		_, err = p.Read(fsys)
	}
	return err
}
