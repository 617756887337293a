package files

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/messkit/messkit/internal/durable"
)

// Dir is a folder of threads that others may write to. Nothing in it is opened
// but folders and regular files, none of them leads out of it, and none makes
// its reader wait, whatever they become while they are opened.
func Dir(name string) fs.FS { return dir(name) }

type dir string

func (d dir) in(fn func(tree) error) error {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return err
	}
	return errors.Join(fn(tree{root}), root.Close())
}

func (d dir) Open(name string) (f fs.File, err error) {
	err = d.in(func(t tree) (err error) { f, err = t.Open(name); return err })
	return f, err
}

func (d dir) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.in(func(t tree) (err error) { list, err = t.ReadDir(name); return err })
	return list, err
}

func (d dir) Lstat(name string) (info fs.FileInfo, err error) {
	err = d.in(func(t tree) (err error) { info, err = t.Lstat(name); return err })
	return info, err
}

func (d dir) ReadLink(name string) (to string, err error) {
	err = d.in(func(t tree) (err error) { to, err = t.ReadLink(name); return err })
	return to, err
}

// tree is an open folder of threads.
type tree struct{ *os.Root }

func (s *Store) tree() tree { return tree{s.root} }

var (
	_ fs.ReadLinkFS = tree{}
	_ fs.ReadDirFS  = tree{}
	_ fs.ReadLinkFS = dir("")
	_ fs.ReadDirFS  = dir("")
)

func (t tree) Open(name string) (fs.File, error) { return t.file(name) }

func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := t.file(name)
	if err != nil {
		return nil, err
	}
	list, err := f.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, errors.Join(err, f.Close())
}

// listed returns the tree with the names of one folder read once, in any order.
func (t tree) listed(name string) fs.FS {
	f, err := t.file(name)
	if err != nil {
		return listed{t, name, nil, err}
	}
	list, err := f.ReadDir(-1)
	return listed{t, name, list, errors.Join(err, f.Close())}
}

type listed struct {
	tree
	name string
	list []fs.DirEntry
	err  error
}

func (l listed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == l.name {
		return l.list, l.err
	}
	return l.tree.ReadDir(name)
}

func (t tree) ReadLink(name string) (string, error) { return t.Readlink(name) }

// file opens a folder or a regular file for reading.
func (t tree) file(name string) (*os.File, error) {
	return durable.OpenIn(t, name, os.O_RDONLY)
}

// extend opens a regular file to append to it, or makes one.
func (t tree) extend(name string, begin bool) (*os.File, error) {
	flag := os.O_RDWR | os.O_APPEND
	if begin {
		flag |= os.O_CREATE
	}
	return durable.OpenIn(t, name, flag)
}

// regular opens a regular file.
func (t tree) regular(name string) (*os.File, error) {
	f, err := t.file(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: durable.ErrIrregular}, err, f.Close())
	}
	return f, nil
}
