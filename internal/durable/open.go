package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrIrregular is the error for a pipe, a device, a socket or a symbolic link. Some of them
// block their reader forever.
var ErrIrregular = errors.New("is neither a folder nor a regular file")

// Folder opens files: an *os.Root.
type Folder interface {
	Lstat(name string) (fs.FileInfo, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
}

// wholeDisk is the whole file system.
type wholeDisk struct{}

func (wholeDisk) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(name) }

func (wholeDisk) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// tries is the number of attempts if another program replaces the file between the check and
// the opening.
const tries = 5

// OpenIn opens a folder or a regular file, without blocking and without following a link. It
// checks the type of the open file. With os.O_CREATE it makes a missing file that only its
// owner can read.
func OpenIn(p Folder, name string, flag int) (*os.File, error) {
	for range tries {
		before, err := p.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0 {
			f, err := p.OpenFile(name, flag|os.O_EXCL, 0o600)
			if errors.Is(err, fs.ErrExist) {
				continue
			}
			return f, err
		}
		if err != nil {
			return nil, err
		}
		if !before.IsDir() && !before.Mode().IsRegular() {
			break
		}
		f, err := p.OpenFile(name, flag&^os.O_CREATE|syscall.O_NONBLOCK, 0) // a pipe would wait for a writer
		if err != nil {
			return nil, err
		}
		// A new file may have the inode number of a removed one.
		if now, err := f.Stat(); err == nil && os.SameFile(before, now) && now.Mode().Type() == before.Mode().Type() {
			return f, nil
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: ErrIrregular}
}

// Open is OpenIn for a regular file anywhere.
func Open(name string, flag int) (*os.File, error) {
	f, err := OpenIn(wholeDisk{}, name, flag)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: ErrIrregular}, err, f.Close())
	}
	return f, nil
}

// Read reads a regular file. It returns an error for a file of more than most bytes.
func Read(name string, most int64) ([]byte, error) {
	f, err := Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s: is larger than %d bytes, which it cannot be", name, most)
	}
	return data, nil
}
