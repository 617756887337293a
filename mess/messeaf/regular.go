package messeaf

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// open opens a regular file, and nothing else. What may be changed while it is
// looked at, fsys has to guard.
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

// irregular says what is wrong with what is no regular file.
func irregular(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "is a symbolic link, which is not followed; put what it leads to in its place"
	case m.IsDir():
		return "is a folder, where a file belongs; move it away"
	case m&fs.ModeNamedPipe != 0:
		return "is a pipe, which nobody can read as a file; remove it"
	}
	return "is a socket or a device, which nobody can read as a file; remove it"
}

// irregular tells of what is called like a file of the thread's, and is none.
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

// Whole is Files where all of the thread is to be copied: what would be missing
// in the copy is an error of type Problems.
func (p Place) Whole(fsys fs.FS) (own, attachments []string, err error) {
	odd, err := p.irregular(fsys)
	if err := errors.Join(err, odd.Err()); err != nil {
		return nil, nil, err
	}
	return p.Files(fsys)
}

// Ignored tells of what lies in a state folder and is not taken for a thread,
// without what is hidden.
func Ignored(fsys fs.FS, f Folder) (Problems, error) {
	entries, err := fs.ReadDir(fsys, string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all Problems
	for _, e := range entries {
		if why := whyIgnored(e); why != "" {
			all = append(all, Problem{File: path.Join(string(f), e.Name()), Text: why})
		}
	}
	return all, err
}

// whyIgnored says why an entry of a state folder is no thread, "" if it is one.
func whyIgnored(e fs.DirEntry) string {
	ref, ok := cutExt(e.Name())
	switch {
	case strings.HasPrefix(e.Name(), "."):
		return ""
	case e.IsDir():
		ref = e.Name()
	case !e.Type().IsRegular():
		return irregular(e.Type())
	case !ok:
		return "is no thread, which is a folder, or a file whose name ends in " + Ext
	}
	if !ValidRef(ref) {
		return "cannot be the name of a thread; use letters, digits, and . _ @ + - between them"
	}
	return ""
}
