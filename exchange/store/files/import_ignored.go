package files

import (
	"errors"
	"slices"

	"github.com/messkit/messkit/mess/messeaf"
)

// ignoredError is why a thread that the log does not know is not taken in. It is
// looked at again when it changes.
type ignoredError struct{ error }

func (e ignoredError) Unwrap() error { return e.error }

func isIgnored(err error) bool {
	_, ok := errors.AsType[ignoredError](err)
	return ok
}

// ignoredThread is a thread that was left alone, as it was then.
type ignoredThread struct {
	path     string
	contents []signature
	err      error
}

// ignoredReason is why a thread was left alone that has not changed since, or nil:
// what is too large to be a thread is not read again for every look at it.
func (p *projector) ignoredReason(at messeaf.Place, now []signature) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.ignored[at.Ref]; was.path == at.Path && len(now) > 0 && slices.Equal(was.contents, now) {
		return was.err
	}
	return nil
}

// noteIgnored notes why a thread is left alone; nil if it is not. What the file system
// refuses may be allowed without a change that can be seen.
func (p *projector) noteIgnored(at messeaf.Place, was []signature, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.ignored, at.Ref)
	if _, ok := errors.AsType[messeaf.Problems](err); ok {
		p.ignored[at.Ref] = ignoredThread{at.Path, was, err}
	}
}

// contents are all files of a thread's folder, or its one file; nil if they
// cannot be seen.
func (s *Store) contents(p messeaf.Place) []signature {
	if p.Flat {
		list, _ := s.signatures(p.Path) // it may have gone
		return list
	}
	entries, _ := s.tree().ReadDir(p.Path) // what cannot be read is told when it is read
	var list []signature
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			list = append(list, signature{info.Name(), info.Size(), info.ModTime()})
		}
	}
	return list
}
