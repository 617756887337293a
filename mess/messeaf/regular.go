package messeaf

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// open opens a regular file. fsys must prevent a change between the check and the open.
func open(fsys fs.FS, name string) (fs.File, error) {
	info, err := fs.Lstat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, Problems{{File: name, Text: irregular(info.Mode())}}
	}
	return fsys.Open(name)
}

// irregular describes a file that is not regular.
func irregular(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "is a symbolic link, which messkit does not follow; replace it by its target"
	case m.IsDir():
		return "is a folder instead of a file; move it away"
	case m&fs.ModeNamedPipe != 0:
		return "is a pipe instead of a file; remove it"
	}
	return "is a socket or a device instead of a file; remove it"
}

// irregular returns problems for special files with the name of a thread file.
func (p Place) irregular(fsys fs.FS) (Problems, error) {
	if p.Flat {
		return nil, nil
	}
	entries, err := fs.ReadDir(fsys, p.Path)
	if err != nil {
		return nil, err
	}
	var all Problems
	for _, e := range entries {
		if _, _, own := ParseFileName(e.Name()); (own || ValidAttachment(e.Name())) && !e.Type().IsRegular() {
			all = append(all, Problem{File: path.Join(p.Path, e.Name()), Text: irregular(e.Type())})
		}
	}
	return all, nil
}

// Whole is Files for a complete copy of the thread: it returns an error of type Problems if
// the copy would be incomplete.
func (p Place) Whole(fsys fs.FS) (own, attachments []string, err error) {
	odd, err := p.irregular(fsys)
	if err := errors.Join(err, odd.Err()); err != nil {
		return nil, nil, err
	}
	return p.Files(fsys)
}

// Ignored returns the entries of a state folder that are not threads, except hidden ones.
func Ignored(fsys fs.FS, f Folder) (Problems, error) {
	entries, err := fs.ReadDir(fsys, string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all Problems
	for _, e := range entries {
		if reason := ignoredReason(e); reason != "" {
			all = append(all, Problem{File: path.Join(string(f), e.Name()), Text: reason})
		}
	}
	return all, err
}

// ignoredReason returns the reason why an entry of a state folder is not a thread, or "".
func ignoredReason(e fs.DirEntry) string {
	ref, ok := cutExt(e.Name())
	switch {
	case strings.HasPrefix(e.Name(), "."):
		return ""
	case e.IsDir():
		ref = e.Name()
	case !e.Type().IsRegular():
		return irregular(e.Type())
	case !ok:
		return "is not a thread: a thread is a folder, or a file whose name ends in " + Ext
	}
	if !ValidRef(ref) {
		return "cannot be the name of a thread; use letters, digits, and . _ @ + - between them"
	}
	return ""
}
