// Package tree opens the folder of an exchange, which other programs can write to at the same
// time, and syncs it. It knows no threads.
package tree

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/messkit/messkit/internal/durable"
)

// Tree is the open folder of an exchange as a file system. It opens folders and regular files only,
// does not leave the folder, and does not block, even if another program replaces a file during
// the open.
type Tree struct{ *os.Root }

var (
	_ fs.ReadLinkFS = Tree{}
	_ fs.ReadDirFS  = Tree{}
)

// Open opens a folder or a regular file for reading.
func (t Tree) Open(name string) (fs.File, error) { return t.file(name) }

// ReadDir returns the entries of a folder, sorted by name.
func (t Tree) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := t.file(name)
	if err != nil {
		return nil, err
	}
	list, err := f.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, errors.Join(err, f.Close())
}

// Listed returns the tree with the names and types of one folder read once, in any order.
func (t Tree) Listed(name string) fs.FS {
	list, err := t.entries(name)
	return listed{t, name, list, err}
}

// entries reads a folder with a second file on it: os.Root reads the state of each entry, and the
// kernel lists their types anyway. Info of an entry is not safe from links.
func (t Tree) entries(name string) ([]fs.DirEntry, error) {
	f, err := t.file(name)
	if err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	second := os.NewFile(uintptr(fd), filepath.Join(t.Name(), name))
	list, err := second.ReadDir(-1)
	return list, errors.Join(err, second.Close(), f.Close())
}

type listed struct {
	Tree
	name string
	list []fs.DirEntry
	err  error
}

func (l listed) ReadDir(name string) ([]fs.DirEntry, error) {
	if name == l.name {
		return l.list, l.err
	}
	return l.Tree.ReadDir(name)
}

// ReadLink returns the target of a symbolic link.
func (t Tree) ReadLink(name string) (string, error) { return t.Readlink(name) }

// file opens a folder or a regular file for reading.
func (t Tree) file(name string) (*os.File, error) {
	return durable.OpenIn(t, name, os.O_RDONLY)
}

// Extend opens a regular file to append to it, or makes one.
func (t Tree) Extend(name string, begin bool) (*os.File, error) {
	flag := os.O_RDWR | os.O_APPEND
	if begin {
		flag |= os.O_CREATE
	}
	return durable.OpenIn(t, name, flag)
}

// Regular opens a regular file.
func (t Tree) Regular(name string) (*os.File, error) {
	f, err := t.file(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: durable.ErrIrregular}, err, f.Close())
	}
	return f, nil
}
