package files

import (
	"errors"
	"slices"

	"github.com/messkit/messkit/mess/messeaf"
)

// ignoredError is the reason why the store does not import a thread. The store tries again when
// the thread changes.
type ignoredError struct{ error }

func (e ignoredError) Unwrap() error { return e.error }

func isIgnored(err error) bool {
	_, ok := errors.AsType[ignoredError](err)
	return ok
}

// ignoredThread is a thread that the store did not import, with its files at that time.
type ignoredThread struct {
	path     string
	contents []signature
	err      error
}

// ignoredReason returns the error of an earlier import of a thread that has not changed since,
// or nil. It saves a second read of files that are too large to be a thread.
func (p *projector) ignoredReason(at messeaf.Place, now []signature) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.ignored[at.Ref]; was.path == at.Path && len(now) > 0 && slices.Equal(was.contents, now) {
		return was.err
	}
	return nil
}

// noteIgnored notes why the store does not import a thread; a nil err removes the note. It does
// not note errors of the file system, because they can go away without a visible change.
func (p *projector) noteIgnored(at messeaf.Place, was []signature, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ignored, at.Ref)
	if _, ok := errors.AsType[messeaf.Problems](err); ok {
		p.ignored[at.Ref] = ignoredThread{at.Path, was, err}
	}
}

// contents returns all files of a thread's folder, or its single file. It returns nil if it
// cannot list them.
func (s *Store) contents(p messeaf.Place) []signature {
	if p.Flat {
		list, _ := s.signatures(p.Path) // another program may have removed it
		return list
	}
	entries, _ := s.tree().ReadDir(p.Path) // the read of the thread reports the error
	var list []signature
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			list = append(list, signature{info.Name(), info.Size(), info.ModTime()})
		}
	}
	return list
}
