package external

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Import copies a thread into the state folder of an exchange that matches its status. A running
// exchange then imports the thread like one of any other program. Import returns fs.ErrExist if
// the exchange has the ref already, and messeaf.Problems for an open thread that the exchange
// would not import.
func Import(root *os.Root, fsys fs.FS, p messeaf.Place) (messeaf.Folder, error) {
	t, err := p.Read(fsys)
	if err != nil {
		return "", err
	}
	ref := t.Envelope.Ref
	if !messeaf.ValidRef(ref) || ref != p.Ref {
		return "", fmt.Errorf("%s: the thread contains the ref %.80q; it must be the file's name, and valid in one", p.Path, ref)
	}
	if _, _, err := p.Whole(fsys); err != nil { // reports links and irregular files
		return "", err
	}
	if err := checkImport(fsys, p, t); err != nil {
		return "", err
	}
	if err := checkFree(root, ref); err != nil {
		return "", err
	}
	tmp := path.Join("tmp", "import-"+ref)
	if err := errors.Join(root.MkdirAll("tmp", 0o700), root.RemoveAll(tmp), root.Mkdir(tmp, 0o700)); err != nil {
		return "", err
	}
	at := messeaf.FolderOf(t.Envelope.Status)
	if err := copyThread(root, tmp, fsys, p); err != nil {
		return "", errors.Join(err, root.RemoveAll(tmp))
	}
	from, to := tmp, folderOf(at, ref)
	if p.Flat {
		from, to = path.Join(tmp, path.Base(p.Path)), to+messeaf.Ext
	}
	return at, errors.Join(tree.MakeDir(root, string(at)), tree.SyncDir(root, tmp), root.Rename(from, to), tree.SyncDir(root, string(at)), root.RemoveAll(tmp))
}

// checkImport returns an error for a thread that an exchange would not import. The exchange
// itself would only log the error.
func checkImport(fsys fs.FS, p messeaf.Place, t messeaf.Thread) error {
	at := Thread(t).Status
	if at.Terminal() {
		return nil
	}
	request, err := checkComplete(p, t)
	if err != nil || at != mess.Pending {
		return err
	}
	t.Messages = t.Messages[:request+1]
	return checkOfferable(p, t, func(name string) (fs.FileInfo, error) { return fs.Stat(fsys, name) })
}

// checkFree returns an error if a folder or archive already has a thread of that name.
func checkFree(root *os.Root, ref string) error {
	switch name, err := archive.Find(root, ref); {
	case err == nil:
		return fmt.Errorf("%s: %w", name, fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var names []string
	for _, f := range messeaf.Folders {
		dir := folderOf(f, ref)
		names = append(names, dir, dir+messeaf.Ext, dir+messeaf.ShortExt)
	}
	for _, name := range names {
		if _, err := root.Lstat(name); err == nil {
			return fmt.Errorf("%s: %w", name, fs.ErrExist)
		}
	}
	return nil
}

// folderOf returns the path of a thread's folder in a state folder.
func folderOf(f messeaf.Folder, ref string) string { return path.Join(string(f), ref) }

func copyThread(root *os.Root, to string, fsys fs.FS, p messeaf.Place) error {
	own, attachments, err := p.Whole(fsys)
	if err != nil {
		return err
	}
	for _, name := range append(own, attachments...) {
		if err := copyFile(root, path.Join(to, name), fsys, path.Join(p.Dir(), name)); err != nil {
			return err
		}
	}
	return nil
}

// maxImported bounds one file, in bytes: an archive can hold more than a disk.
const maxImported = 1 << 30

func copyFile(root *os.Root, to string, fsys fs.FS, from string) error {
	in, err := fsys.Open(from)
	if err != nil {
		return err
	}
	out, err := root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	n, err := io.Copy(out, io.LimitReader(in, maxImported+1))
	if err == nil && n > maxImported {
		err = fmt.Errorf("%s: is larger than %d bytes", from, maxImported)
	}
	return errors.Join(err, out.Sync(), out.Close(), in.Close())
}
