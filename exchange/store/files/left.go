package files

import (
	"errors"
	"slices"

	"github.com/messkit/messkit/mess/messeaf"
)

// leftAlone is why a thread that the log does not know is not taken in. It is
// looked at again when it changes.
type leftAlone struct{ error }

func (e leftAlone) Unwrap() error { return e.error }

func isLeftAlone(err error) bool {
	_, ok := errors.AsType[leftAlone](err)
	return ok
}

// left is a thread that was left alone, as it was then.
type left struct {
	path     string
	contents []signature
	err      error
}

// whyLeft is why a thread was left alone that has not changed since, or nil:
// what is too large to be a thread is not read again for every look at it.
func (p *projector) whyLeft(at messeaf.Place, now []signature) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if was := p.left[at.Ref]; was.path == at.Path && len(now) > 0 && slices.Equal(was.contents, now) {
		return was.err
	}
	return nil
}

// leave notes why a thread is left alone; nil if it is not. What the file system
// refuses may be allowed without a change that can be seen.
func (p *projector) leave(at messeaf.Place, was []signature, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.left, at.Ref)
	if _, ok := errors.AsType[messeaf.Problems](err); ok {
		p.left[at.Ref] = left{at.Path, was, err}
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
