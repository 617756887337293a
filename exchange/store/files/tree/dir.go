package tree

import (
	"errors"
	"io/fs"
	"os"
)

// Dir returns a folder as a file system like Tree. It opens the folder anew for each call.
func Dir(name string) fs.FS { return dir(name) }

type dir string

func (d dir) in(fn func(Tree) error) error {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		return err
	}
	return errors.Join(fn(Tree{root}), root.Close())
}

func (d dir) Open(name string) (f fs.File, err error) {
	err = d.in(func(t Tree) (err error) { f, err = t.Open(name); return err })
	return f, err
}

func (d dir) ReadDir(name string) (list []fs.DirEntry, err error) {
	err = d.in(func(t Tree) (err error) { list, err = t.ReadDir(name); return err })
	return list, err
}

func (d dir) Lstat(name string) (info fs.FileInfo, err error) {
	err = d.in(func(t Tree) (err error) { info, err = t.Lstat(name); return err })
	return info, err
}

func (d dir) ReadLink(name string) (to string, err error) {
	err = d.in(func(t Tree) (err error) { to, err = t.ReadLink(name); return err })
	return to, err
}

var (
	_ fs.ReadLinkFS = dir("")
	_ fs.ReadDirFS  = dir("")
)
