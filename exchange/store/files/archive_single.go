package files

import (
	"errors"
	"os"
	"path"

	"github.com/messkit/messkit/mess/messeaf"
)

// Archive makes an archive of one thread in the folder of an exchange, and removes the
// thread when the archive is on the disk.
func Archive(root *os.Root, p messeaf.Place) error {
	folder := path.Dir(ArchiveName(p.Ref))
	if err := errors.Join(makeDir(root, folder), root.MkdirAll("tmp", 0o700)); err != nil {
		return err
	}
	tmp := path.Join("tmp", p.Ref+messeaf.ZipExt)
	f, err := root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = messeaf.Archive(f, folderTree{root}, p)
	if err == nil {
		err = readsAs(f, p.Ref)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	if err := root.Rename(tmp, ArchiveName(p.Ref)); err != nil {
		return err
	}
	if err := syncDir(root, folder); err != nil {
		return err
	}
	return root.RemoveAll(p.Path)
}

// readsAs returns an error if the new archive does not contain a readable copy of the thread.
func readsAs(f *os.File, ref string) error {
	fsys, err := archiveIn(f)
	if err != nil {
		return err
	}
	a := archive{fsys, nil}
	p, err := a.place(ref)
	if err == nil {
		_, err = p.Read(fsys)
	}
	return err
}

// makeDir makes a folder and its parents. Their names are on the disk when it returns.
func makeDir(root *os.Root, name string) error {
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	if err := root.MkdirAll(name, 0o700); err != nil {
		return err
	}
	for name != "." {
		name = path.Dir(name)
		if err := syncDir(root, name); err != nil {
			return err
		}
	}
	return nil
}
