package messeaf

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Place is the location of a thread in a file system.
type Place struct {
	Ref    string
	Path   string // path of the folder of the thread, or of its file
	Folder Folder // "" outside of the state folders
	Flat   bool   // a v1 file
}

// List finds the threads in the folder of an exchange, in a state folder, in an archive, or
// the single thread whose folder is fsys. It reads only names and does not follow links: in
// the flat layout with symlinks it finds the threads at their real location.
func List(fsys fs.FS) ([]Place, error) {
	var all []Place
	found := false
	for _, f := range Folders {
		places, err := list(fsys, string(f), f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all, found = append(all, places...), true
	}
	threads, err := list(fsys, "threads", "")
	if err == nil {
		return append(all, threads...), nil
	}
	if found && errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if ref := refOf(fsys, "."); ref != "" {
		return []Place{{Ref: ref, Path: "."}}, nil
	}
	return list(fsys, ".", "")
}

// ListFolder finds the threads in one state folder; none if it does not exist.
func ListFolder(fsys fs.FS, f Folder) ([]Place, error) {
	places, err := list(fsys, string(f), f)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return places, err
}

// list finds the threads in one folder. Outside of the state folders, only a folder with
// thread files is a thread.
func list(fsys fs.FS, dir string, f Folder) ([]Place, error) {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return nil, err
	}
	var places []Place
	for _, e := range entries {
		name := e.Name()
		p := Place{Path: path.Join(dir, name), Folder: f}
		if ref, ok := cutExt(name); ok && ValidRef(ref) && e.Type().IsRegular() {
			p.Ref, p.Flat = ref, true
			places = append(places, p)
		}
		if e.IsDir() && ValidRef(name) && (f != "" || refOf(fsys, p.Path) != "") {
			p.Ref = name
			places = append(places, p)
		}
	}
	return places, nil
}

// refOf returns the ref of the thread whose folder is dir, or "".
func refOf(fsys fs.FS, dir string) string {
	entries, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if n, ref, ok := ParseFileName(e.Name()); ok && n == 0 {
			return ref
		}
	}
	return ""
}

// Files returns the names of the thread files in read order, and of the attachments. It
// returns only regular files: a link could expose other files, and the open of a pipe could
// block forever.
func (p Place) Files(fsys fs.FS) (own, attachments []string, err error) {
	if p.Flat {
		return []string{path.Base(p.Path)}, nil, nil
	}
	entries, err := fs.ReadDir(fsys, p.Path)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		if _, _, ok := ParseFileName(e.Name()); ok && e.Type().IsRegular() {
			own = append(own, e.Name())
		}
		if ValidAttachment(e.Name()) && e.Type().IsRegular() {
			attachments = append(attachments, e.Name())
		}
	}
	slices.SortFunc(own, func(a, b string) int {
		na, _, _ := ParseFileName(a)
		nb, _, _ := ParseFileName(b)
		return cmp.Or(cmp.Compare(na, nb), strings.Compare(a, b))
	})
	return own, attachments, nil
}

// Dir returns the folder of the thread files.
func (p Place) Dir() string {
	if p.Flat {
		return path.Dir(p.Path)
	}
	return p.Path
}

// Read reads the thread. Its errors are of type Problems, with the path of the file, or of
// the file system.
func (p Place) Read(fsys fs.FS) (Thread, error) {
	files, err := p.ReadFiles(fsys)
	if err != nil {
		return Thread{}, err
	}
	return p.Parse(files)
}

// Parse parses the thread from its files.
func (p Place) Parse(files []File) (Thread, error) {
	var t Thread
	var problems Problems
	note := func(file File, err error) {
		if ps, ok := errors.AsType[Problems](inFile(path.Join(p.Dir(), file.Name), err)); ok {
			problems = append(problems, ps...)
		}
	}
	for i, f := range files {
		docs := f.Documents
		if i == 0 {
			if len(docs) == 0 {
				note(f, Problems{{Text: "is empty; the envelope is missing"}})
				break
			}
			var err error
			if t.Envelope, err = ParseEnvelope(docs[0]); err != nil {
				note(f, err)
			}
			docs = docs[1:]
		}
		for _, d := range docs {
			m, err := ParseMessage(d)
			if err != nil {
				note(f, err)
			}
			t.Messages = append(t.Messages, m)
		}
	}
	if err := problems.Err(); err != nil {
		return Thread{}, err
	}
	Number(t.Envelope.Ref, t.Messages)
	return t, nil
}

// ReadEnvelope reads only the envelope of the thread.
func (p Place) ReadEnvelope(fsys fs.FS) (Envelope, error) {
	t, err := p.ReadBeginning(fsys, 0)
	return t.Envelope, err
}

// ReadBeginning reads the envelope of the thread, and at most so many of its first messages: those in
// the file of the envelope. The messages end before the first one that it cannot read.
func (p Place) ReadBeginning(fsys fs.FS, messages int) (t Thread, err error) {
	name := p.Path
	if !p.Flat {
		own, _, err := p.Files(fsys)
		if err != nil {
			return t, err
		}
		if len(own) == 0 {
			return t, Problems{{File: p.Path, Text: "has no thread's file in it; the envelope is missing"}}
		}
		name = path.Join(p.Path, own[0])
	}
	data, err := readFile(fsys, name)
	if err != nil {
		return t, err
	}
	docs := Split(data)
	if len(docs) == 0 {
		return t, Problems{{File: name, Text: "is empty; the envelope is missing"}}
	}
	if t.Envelope, err = ParseEnvelope(docs[0]); err != nil {
		return t, inFile(name, err)
	}
	for _, d := range docs[1:min(len(docs), 1+messages)] {
		m, err := ParseMessage(d)
		if err != nil {
			break
		}
		t.Messages = append(t.Messages, m)
	}
	return t, nil
}
