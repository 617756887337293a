package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/files/printing"
	"github.com/messkit/messkit/internal/durable"
	"github.com/messkit/messkit/mess/messeaf"
)

// writeFolder makes a thread's folder show the thread. It appends the missing messages, then
// replaces the envelope, then moves the folder (MESSE-AF 2.1, "Append Message + Update
// Envelope"). It returns the new state of the folder.
func (s *Store) writeFolder(w loadedThread, f folder) (folder, error) {
	if f.at == "" {
		return s.create(w)
	}
	if f.flat {
		return f, nil // reconcile has checked it
	}
	dir := threadDir(f.at, w.env.Ref)
	if f.messages == len(w.messages) && f.ver == w.env.Ver && f.at == messeaf.FolderOf(w.env.Status) {
		return f, nil
	}
	if f.messages < len(w.messages) {
		docs, err := w.documents(f.messages)
		if err != nil {
			return f, err
		}
		if err := errors.Join(s.attach(dir, w, docs), s.appendTo(dir, w.env.Ref, &f, docs)); err != nil {
			return folder{at: f.at}, err
		}
	}
	if f.ver != w.env.Ver {
		if err := s.replaceEnvelope(dir, w, &f); err != nil {
			return folder{at: f.at}, err
		}
	}
	if want := messeaf.FolderOf(w.env.Status); want != f.at {
		if err := s.root.Rename(dir, threadDir(want, w.env.Ref)); err != nil {
			return folder{at: f.at}, err
		}
		f.at = want
	}
	return s.checkFolder(w, f)
}

// checkFolder returns the state of a folder that has the whole thread. If its files differ from
// those that the store wrote, another program wrote there too. checkFolder then returns errBusy
// for another check.
func (s *Store) checkFolder(w loadedThread, f folder) (folder, error) {
	now, err := s.signatures(threadDir(f.at, w.env.Ref))
	if err != nil {
		return folder{at: f.at}, err
	}
	if !slices.EqualFunc(now, f.files, func(a, b signature) bool { return a.name == b.name && a.size == b.size }) {
		return folder{at: f.at}, errBusy
	}
	return folder{at: f.at, ver: w.env.Ver, messages: len(w.messages), files: now}, nil
}

// documents prints the messages of a thread from the nth on.
func (w loadedThread) documents(from int) ([]printing.Document, error) {
	w.messages = w.messages[from:]
	t, err := w.decode()
	if err != nil {
		return nil, err
	}
	return printing.Documents(t.Messages, func(name string) bool { _, bound := w.binds[name]; return bound })
}

// print prints the whole thread.
func (w loadedThread) print() (env []byte, docs []printing.Document, err error) {
	if env, err = messeaf.PrintEnvelope(w.env.MESSEAF()); err != nil {
		return nil, nil, err
	}
	docs, err = w.documents(0)
	return env, docs, err
}

// create makes a thread's folder in tmp, and renames it when it is complete.
func (s *Store) create(w loadedThread) (folder, error) {
	tmp := path.Join("tmp", w.env.Ref)
	if err := errors.Join(s.root.RemoveAll(tmp), s.root.Mkdir(tmp, 0o700)); err != nil {
		return folder{}, err
	}
	env, docs, err := w.print()
	if err != nil {
		return folder{}, err
	}
	first := path.Join(tmp, messeaf.FileName(0, w.env.Ref))
	if err := errors.Join(s.root.WriteFile(first, env, 0o600), s.attach(tmp, w, docs)); err != nil {
		return folder{}, err
	}
	begun := folder{at: messeaf.FolderOf(w.env.Status), files: []signature{{name: path.Base(first), size: int64(len(env))}}}
	if err := s.appendTo(tmp, w.env.Ref, &begun, docs); err != nil {
		return folder{}, err
	}
	if err := s.root.Rename(tmp, threadDir(begun.at, w.env.Ref)); err != nil {
		return folder{}, err
	}
	return s.checkFolder(w, begun)
}

// appendTo appends documents to the thread's last file, and to new ones where
// that would grow beyond the limit (section "Writing a Thread").
func (s *Store) appendTo(dir, ref string, f *folder, docs []printing.Document) error {
	f.files = slices.Clone(f.files)
	last := &f.files[len(f.files)-1]
	var text []byte
	for _, d := range docs {
		if size := last.size + int64(len(text)); !d.Fits(size) {
			if err := s.appendFile(dir, last, text); err != nil {
				return err
			}
			n, _, _ := messeaf.ParseFileName(last.name) // the store has made the name
			f.files = append(f.files, signature{name: messeaf.FileName(n+1, ref)})
			last, text = &f.files[len(f.files)-1], nil
			d.Text = d.First()
		}
		text = append(text, d.Text...)
	}
	return s.appendFile(dir, last, text)
}

// appendFile appends text to a file in one write, on a line of its own.
func (s *Store) appendFile(dir string, file *signature, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	f, err := s.tree().Extend(path.Join(dir, file.name), file.size == 0)
	if err != nil {
		return err
	}
	if file.size > 0 {
		end := []byte{'\n'}
		if _, err := f.ReadAt(end, file.size-1); err == nil && end[0] != '\n' {
			text = append([]byte{'\n'}, text...)
		}
	}
	n, err := f.Write(text)
	file.size += int64(n)
	return errors.Join(err, f.Close())
}

// replaceEnvelope puts a new envelope before the documents of the first file,
// which stay as they are.
func (s *Store) replaceEnvelope(dir string, w loadedThread, f *folder) error {
	name := path.Join(dir, messeaf.FileName(0, w.env.Ref))
	data, err := fs.ReadFile(s.tree(), name)
	if err != nil {
		return err
	}
	docs := messeaf.Split(data)
	if len(docs) == 0 {
		return fmt.Errorf("%s: has become empty", filepath.Join(s.dir, name))
	}
	env := w.env.MESSEAF()
	if was, err := messeaf.ParseEnvelope(docs[0]); err == nil {
		env.Extra = was.Extra // keep the fields of other programs
	}
	text, err := messeaf.PrintEnvelope(env)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	for _, d := range docs[1:] {
		text = append(text, d.Text...)
	}
	if int64(len(data)) != f.files[0].size {
		return errBusy // another program has just written there
	}
	f.files = slices.Clone(f.files)
	f.files[0].size = int64(len(text))
	tmp := path.Join("tmp", w.env.Ref+messeaf.Ext)
	return s.replace(tmp, name, text)
}

// replace writes a file in tmp, and renames it over the old one.
func (s *Store) replace(tmp, name string, data []byte) error {
	if err := s.root.WriteFile(tmp, data, 0o600); err != nil {
		return err
	}
	return s.root.Rename(tmp, name)
}

// attach puts a thread's attachments, and the large parts of its documents, into its folder.
func (s *Store) attach(dir string, w loadedThread, docs []printing.Document) error {
	for name, sum := range w.binds {
		if err := s.place(path.Join(dir, name), sum); err != nil {
			return err
		}
	}
	for _, d := range docs {
		for name, data := range d.Files {
			tmp := path.Join("tmp", w.env.Ref+"-"+name) // replaces an existing file, and does not write through a link
			if err := s.replace(tmp, path.Join(dir, name), data); err != nil {
				return err
			}
		}
	}
	return nil
}

// place links a staged file into a thread's folder. On a file system without links it copies the
// file.
func (s *Store) place(name, sum string) error {
	switch info, err := s.root.Lstat(name); {
	case err == nil && info.Mode().IsRegular():
		return nil
	case err == nil:
		return &fs.PathError{Op: "place", Path: name, Err: durable.ErrIrregular}
	}
	if err := s.root.Link(path.Join("attachments", sum), name); err == nil {
		return nil
	}
	from, err := s.blobs.Open(sum)
	if err != nil {
		return err
	}
	to, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = io.Copy(to, from)
		err = errors.Join(err, to.Close())
	}
	return errors.Join(err, from.Close())
}

// isEndedFolder reports whether a folder is for threads that have ended.
func isEndedFolder(f messeaf.Folder) bool { return f == messeaf.Finished || f == messeaf.Canceled }

// endedPlaces returns the places of a thread that has left the log. The place that matches its
// status comes first, then the places that other programs chose: not every writer keeps to the
// state folders. endedPlaces ignores a copy whose envelope has no terminal status.
func (s *Store) endedPlaces(e logformat.Summary) []messeaf.Place {
	var belongs, ended, elsewhere []messeaf.Place
	for _, p := range s.places(e.Ref) {
		switch {
		case p.Folder == messeaf.FolderOf(e.Status):
			belongs = append(belongs, p)
		case isEndedFolder(p.Folder):
			ended = append(ended, p)
		default:
			if env, err := p.ReadEnvelope(s.tree()); err == nil && env.Status.Terminal() {
				elsewhere = append(elsewhere, p)
			}
		}
	}
	return slices.Concat(belongs, ended, elsewhere)
}

// checkEnded examines the folders of a thread that has ended. If a person has removed or
// archived the thread, the store forgets it. The store sets further copies aside.
func (s *Store) checkEnded(ref string) error {
	places := s.places(ref)
	if len(places) == 0 {
		return s.store(context.Background(), []logformat.Record{{Gone: ref}})
	}
	k, known := s.index.thread(ref)
	if !known || k.inLog() {
		return nil
	}
	keep := s.endedPlaces(k.Summary)
	for _, p := range places {
		if len(keep) > 0 && p == keep[0] {
			continue
		}
		if err := s.setAsideStale(p, fmt.Errorf("the thread has ended (%s); to repeat it, use a new ref", k.Status)); err != nil {
			return err
		}
	}
	return nil
}

// setAsideStale sets aside a copy of a thread that has ended. It returns errBusy while another
// program may still write to the copy.
func (s *Store) setAsideStale(p messeaf.Place, cause error) error {
	if s.changedWithin(p, quiet) {
		return errBusy
	}
	return s.setAside(p, cause)
}
