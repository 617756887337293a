package messeaf

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// OpenArchive opens an archive (section "Archive Format") of one or several threads; List
// finds them. It reads both forms: a folder for each thread, and v1 files at the root. It
// rejects encrypted files, duplicates, and paths outside of the archive.
func OpenArchive(r io.ReaderAt, size int64) (fs.FS, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("invalid archive: %w", err)
	}
	seen := map[string]bool{}
	for _, f := range z.File {
		name := path.Clean(strings.ReplaceAll(f.Name, `\`, "/"))
		switch {
		case !fs.ValidPath(name):
			return nil, fmt.Errorf("%.200q is a path outside of the archive; create the archive again without it", f.Name)
		case seen[name] && !f.Mode().IsDir():
			return nil, fmt.Errorf("%.200q is in the archive twice; remove one", f.Name)
		case f.Flags&encrypted != 0:
			return nil, fmt.Errorf("%.200q is encrypted; unpack the archive, and take the folder", f.Name)
		}
		seen[name] = true
	}
	return z, nil
}

// encrypted is the flag of a file with a password (ZIP specification, 4.4.4).
const encrypted = 1

// Archive writes an archive of threads: a v2 thread as its folder, a v1 thread as its file.
// It rejects a link or another special file with the name of a thread file.
func Archive(w io.Writer, fsys fs.FS, places ...Place) error {
	z := zip.NewWriter(w)
	for _, p := range places {
		if err := p.AddTo(z, fsys); err != nil {
			return err
		}
	}
	return z.Close()
}

// AddTo adds the thread to an archive.
func (p Place) AddTo(z *zip.Writer, fsys fs.FS) error {
	own, attachments, err := p.Whole(fsys)
	if err != nil {
		return err
	}
	for _, name := range append(own, attachments...) {
		as := path.Join(p.Ref, name)
		if p.Flat {
			as = name
		}
		if err := addFile(z, fsys, path.Join(p.Dir(), name), as); err != nil {
			return err
		}
	}
	return nil
}

func addFile(z *zip.Writer, fsys fs.FS, name, as string) error {
	f, err := open(fsys, name)
	if err != nil {
		return err
	}
	h := &zip.FileHeader{Name: as, Method: zip.Deflate}
	if info, err := f.Stat(); err == nil {
		h.Modified = info.ModTime()
	}
	out, err := z.CreateHeader(h)
	if err == nil {
		_, err = io.Copy(out, f)
	}
	return errors.Join(err, f.Close())
}
