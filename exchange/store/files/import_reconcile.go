package files

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// errBusy: another program is writing there now.
var errBusy = errors.New("another program is writing")

// errArchived: a person has archived the thread.
var errArchived = errors.New("archived")

// quiet is the time for which a file must not change before the store reads it, because other
// programs write without a lock.
const quiet = 200 * time.Millisecond

// reconcile compares a thread's folder with the log, after another program has changed it or if
// its state is unknown. It returns the state of the folder and the new messages of other
// programs. The zero folder means that the store must write the folder anew.
func (s *Store) reconcile(w loadedThread) (folder, []mess.Message, error) {
	places := s.places(w.env.Ref)
	if len(places) == 0 {
		if w.env.Status.Terminal() && s.archived(w.env.Ref) {
			if t, err := s.readArchived(w.env.Ref); err == nil && len(t.Messages) >= len(w.messages) {
				return folder{}, nil, errArchived
			}
		}
		if w.folder.at != "" {
			s.cfg.Log.Warn("another program has removed a thread that is open; messkit writes it again; cancel it to end it", "ref", w.env.Ref)
		}
		return folder{}, nil, nil
	}
	keep := s.choosePlace(w, places)
	for _, p := range places {
		if p != keep {
			if err := s.setAside(p, errors.New("the thread is also in "+keep.Path)); err != nil {
				return folder{}, nil, err
			}
		}
	}
	if s.changedWithin(keep, quiet) {
		return folder{}, nil, errBusy
	}
	return s.compare(w, keep)
}

// choosePlace selects the valid one of several places: where the store left the thread, else the
// place that matches its status, else a folder rather than a file.
func (s *Store) choosePlace(w loadedThread, places []messeaf.Place) messeaf.Place {
	for _, at := range []messeaf.Folder{w.folder.at, messeaf.FolderOf(w.env.Status)} {
		for _, p := range places {
			if p.Folder == at && !p.Flat {
				return p
			}
		}
	}
	for _, p := range places {
		if !p.Flat {
			return p
		}
	}
	return places[0]
}

// changedWithin reports whether a thread's files have changed within d.
func (s *Store) changedWithin(p messeaf.Place, d time.Duration) bool {
	own, _, err := p.Files(s.tree())
	if err != nil {
		return false
	}
	for _, name := range own {
		info, err := s.root.Lstat(path.Join(p.Dir(), name))
		if err != nil {
			continue // another program has moved it
		}
		if age := time.Since(info.ModTime()); age >= 0 && age < d {
			return true
		}
	}
	return false
}

// compare compares the files at a place with the log.
func (s *Store) compare(w loadedThread, p messeaf.Place) (folder, []mess.Message, error) {
	files, err := p.ReadFiles(s.tree())
	var t messeaf.Thread
	if err == nil {
		t, err = p.Parse(files)
	}
	if err == nil && t.Envelope.Ref != w.env.Ref {
		err = messeaf.Problems{{File: p.Path, Text: "is of the thread " + t.Envelope.Ref}}
	}
	torn := w.torn(files)
	switch {
	case err == nil && !torn:
		return s.compareThread(w, p, t)
	case errors.Is(err, fs.ErrNotExist), s.changedWithin(p, 10*quiet):
		return folder{}, nil, errBusy // another program moves or writes it
	case torn:
		f, err := s.remake(w, p)
		return f, nil, err
	}
	return folder{}, nil, s.setAside(p, err)
}

// compareThread counts the thread's messages that the folder has, and returns new messages of
// other programs. The Listener must take these first; then the store checks the folder again.
func (s *Store) compareThread(w loadedThread, p messeaf.Place, t messeaf.Thread) (folder, []mess.Message, error) {
	docs, err := w.documents(0)
	if err != nil {
		return folder{}, nil, err
	}
	left := make([]printed, len(docs))
	for i, d := range docs {
		left[i] = printed{d.Message, messeaf.Fingerprint(d.Message)}
	}
	var messages []mess.Message
	inOrder := true
	for _, m := range t.Messages {
		found := printed{m, messeaf.Fingerprint(m)}
		i := slices.IndexFunc(left, found.same)
		switch {
		case i >= 0:
			inOrder = inOrder && i == 0
			left = slices.Delete(left, i, i+1)
		case len(messages) > 0 && m.From == thread.Self:
			return folder{}, messages, nil // may be the exchange's reply to the messages before it, which the Listener takes first
		case s.project.isUnjudged(w.env.Ref, m):
			messages = append(messages, m)
		}
	}
	f := folder{at: p.Folder, flat: p.Flat, messages: len(docs) - len(left)}
	if sameEnvelope(w.env.MESSEAF(), t.Envelope) {
		f.ver = w.env.Ver
	}
	switch {
	case len(messages) > 0:
		return folder{}, messages, nil
	case !inOrder, w.folder.rewrite, p.Flat && (len(left) > 0 || f.ver == 0 || f.at != messeaf.FolderOf(w.env.Status)):
		f, err := s.remake(w, p)
		return f, nil, err
	}
	f.files, err = s.signatures(f.path(w.env.Ref))
	return f, nil, err
}

// remake writes a thread's documents anew. The store needs this if another program left them in
// another order than the log, for a v1 file that must change, and after a power failure.
// Attachments stay.
func (s *Store) remake(w loadedThread, p messeaf.Place) (folder, error) {
	if p.Flat {
		f, err := s.create(w)
		return f, errors.Join(err, s.root.Remove(p.Path))
	}
	own, _, err := p.Files(s.tree())
	if err != nil {
		return folder{}, err
	}
	// Remove the last files first: if the program dies, the store appends the missing end again
	// and duplicates no message.
	for _, name := range slices.Backward(own) {
		if name != messeaf.FileName(0, w.env.Ref) {
			if err := s.root.Remove(path.Join(p.Path, name)); err != nil {
				return folder{}, err
			}
		}
	}
	return s.refill(w, p)
}

// refill replaces the first file of a thread's folder, and writes the further
// ones.
func (s *Store) refill(w loadedThread, p messeaf.Place) (folder, error) {
	env, docs, err := w.print()
	if err != nil {
		return folder{}, err
	}
	name := messeaf.FileName(0, w.env.Ref)
	tmp := path.Join("tmp", w.env.Ref+messeaf.Ext)
	begun := folder{at: p.Folder, files: []signature{{name: name, size: int64(len(env))}}}
	err = s.replace(tmp, path.Join(p.Path, name), env)
	if err == nil {
		err = errors.Join(s.attach(p.Path, w, docs), s.appendTo(p.Path, w.env.Ref, &begun, docs))
	}
	if err != nil {
		return folder{}, err
	}
	return s.checkFolder(w, begun)
}

// printed is a message in a folder, with its fingerprint.
type printed struct {
	mess.Message
	fingerprint string
}

// same reports whether two messages are the same one: they have equal content, or the same
// sender and time.
func (a printed) same(b printed) bool {
	return a.fingerprint == b.fingerprint ||
		a.From == b.From && a.Received != "" && sameTime(a.Received, b.Received) && !messeaf.IsAck(a.Message) && !messeaf.IsAck(b.Message)
}

func sameTime(a, b mess.Time) bool {
	at, ok1 := messeaf.Time(a)
	bt, ok2 := messeaf.Time(b)
	return ok1 && ok2 && at.Equal(bt)
}

// sameEnvelope compares the fields of two envelopes that change.
func sameEnvelope(a, b messeaf.Envelope) bool {
	return a.Status == b.Status && a.Executor == b.Executor && sameTime(a.Updated, b.Updated) && len(a.History) == len(b.History)
}

// torn reports whether the last document is the beginning of one that the store writes. A power
// failure can cut the write; the log has the whole document.
func (w loadedThread) torn(files []messeaf.File) bool {
	var docs []messeaf.Document
	for _, f := range files {
		docs = append(docs, f.Documents...)
	}
	n := len(docs) - 2 // the first is the envelope
	if n < 0 {
		return len(files) > 0 // at most a part of the envelope, which the store always writes whole
	}
	ours, err := w.documents(0)
	if err != nil || n >= len(ours) {
		return false
	}
	found, whole := plain(docs[n+1].Text), plain(ours[n].Text)
	return len(found) < len(whole) && bytes.HasPrefix(whole, found)
}

// plain returns text without blank lines, and without the zero bytes that a file system leaves
// in unwritten blocks.
func plain(text []byte) []byte {
	var b []byte
	for line := range bytes.SplitSeq(bytes.TrimRight(text, "\x00"), []byte("\n")) {
		if len(line) > 0 {
			b = append(append(b, line...), '\n')
		}
	}
	return bytes.TrimSuffix(b, []byte("\n"))
}
