package files

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/durable"
)

// Dir returns a folder of threads that other programs can write to as a file system. It opens
// folders and regular files only, does not leave the folder, and does not block, even if another
// program replaces a file during the open.
func Dir(name string) fs.FS { return dir(name) }

type dir string

func (d dir) in(fn func(folderTree) error) error {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return err
	}
	return errors.Join(fn(folderTree{root}), root.Close())
}

func (d dir) Open(name string) (f fs.File, err error) {
	err = d.in(func(t folderTree) (err error) { f, err = t.Open(name); return err })
	return f, err
}

func (d dir) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.in(func(t folderTree) (err error) { list, err = t.ReadDir(name); return err })
	return list, err
}

func (d dir) Lstat(name string) (info fs.FileInfo, err error) {
	err = d.in(func(t folderTree) (err error) { info, err = t.Lstat(name); return err })
	return info, err
}

func (d dir) ReadLink(name string) (to string, err error) {
	err = d.in(func(t folderTree) (err error) { to, err = t.ReadLink(name); return err })
	return to, err
}

// folderTree is an open folder of threads.
type folderTree struct{ *os.Root }

func (s *Store) tree() folderTree { return folderTree{s.root} }

var (
	_ fs.ReadLinkFS = folderTree{}
	_ fs.ReadDirFS  = folderTree{}
	_ fs.ReadLinkFS = dir("")
	_ fs.ReadDirFS  = dir("")
)

func (t folderTree) Open(name string) (fs.File, error) { return t.file(name) }

func (t folderTree) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := t.file(name)
	if err != nil {
		return nil, err
	}
	list, err := f.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, errors.Join(err, f.Close())
}

// listed returns the tree with the names of one folder read once, in any order.
func (t folderTree) listed(name string) fs.FS {
	f, err := t.file(name)
	if err != nil {
		return listed{t, name, nil, err}
	}
	list, err := f.ReadDir(-1)
	return listed{t, name, list, errors.Join(err, f.Close())}
}

type listed struct {
	folderTree
	name string
	list []fs.DirEntry
	err  error
}

func (l listed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == l.name {
		return l.list, l.err
	}
	return l.folderTree.ReadDir(name)
}

func (t folderTree) ReadLink(name string) (string, error) { return t.Readlink(name) }

// file opens a folder or a regular file for reading.
func (t folderTree) file(name string) (*os.File, error) {
	return durable.OpenIn(t, name, os.O_RDONLY)
}

// extend opens a regular file to append to it, or makes one.
func (t folderTree) extend(name string, begin bool) (*os.File, error) {
	flag := os.O_RDWR | os.O_APPEND
	if begin {
		flag |= os.O_CREATE
	}
	return durable.OpenIn(t, name, flag)
}

// regular opens a regular file.
func (t folderTree) regular(name string) (*os.File, error) {
	f, err := t.file(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: durable.ErrIrregular}, err, f.Close())
	}
	return f, nil
}
