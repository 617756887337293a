package transfer

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/messkit/messkit/exchange/thread"
)

// side is a store with what its feed has said.
type side struct {
	store   thread.Store
	pos     thread.Pos // of the last change
	threads map[string]state
	docs    map[name]document // without the mark
	mark    document

	archived bool // threads has those of the archive
}

// state is what the feed says about a thread.
type state struct {
	ver         uint64     // 0: unknown, because an archive has it
	first, last thread.Pos // of its first and last change in the feed
}

// name is the name of a document.
type name struct{ kind, id string }

type document struct {
	doc []byte
	rev thread.Rev
}

func newSide(s thread.Store) *side {
	return &side{store: s, threads: map[string]state{}, docs: map[name]document{}}
}

// read takes the feed up to the present, and returns the threads that have changed.
func (s *side) read(ctx context.Context) (refs []string, err error) {
	changed := map[string]bool{}
	err = thread.ReadAll(ctx, s.store, s.pos, func(c thread.Change) error {
		if c.Pos != "" {
			s.pos = c.Pos
		}
		switch {
		case c.Removed:
			delete(s.threads, c.Envelope.Ref)
			delete(changed, c.Envelope.Ref)
			s.archived = false
		case c.Envelope.Ref != "":
			s.note(c)
			changed[c.Envelope.Ref] = true
		case c.Kind == MarkKind:
			s.mark = document{c.Doc, c.Rev}
		case c.Kind != "" && c.Doc == nil:
			delete(s.docs, name{c.Kind, c.ID})
		case c.Kind != "":
			s.docs[name{c.Kind, c.ID}] = document{c.Doc, c.Rev}
		}
		return nil
	})
	if err == nil && !s.archived {
		err = s.readArchived(ctx, changed)
		s.archived = err == nil
	}
	return s.inOrder(changed), err
}

// readArchived adds the threads that only an archive has, and that the feed therefore lacks.
func (s *side) readArchived(ctx context.Context, changed map[string]bool) error {
	a, ok := s.store.(thread.Archiver)
	if !ok {
		return nil
	}
	refs, err := a.Archived(ctx)
	for _, ref := range refs {
		if _, known := s.threads[ref]; !known {
			s.threads[ref], changed[ref] = state{}, true
		}
	}
	return err
}

// note takes a change of a thread.
func (s *side) note(c thread.Change) {
	is, known := s.threads[c.Envelope.Ref]
	if !known {
		is.first = c.Pos
	}
	is.ver, is.last = c.Envelope.Ver, c.Pos
	s.threads[c.Envelope.Ref] = is
}

// order returns all threads in the order of their last changes.
func (s *side) order() []string {
	all := map[string]bool{}
	for ref := range s.threads {
		all[ref] = true
	}
	return s.inOrder(all)
}

func (s *side) inOrder(refs map[string]bool) []string {
	return slices.SortedFunc(maps.Keys(refs), func(a, b string) int {
		p, q := s.threads[a].last, s.threads[b].last
		switch {
		case p.Before(q):
			return -1
		case q.Before(p):
			return 1
		}
		return cmp.Compare(a, b)
	})
}

// names returns the names of all documents, in order.
func (s *side) names() []name {
	return slices.SortedFunc(maps.Keys(s.docs), func(a, b name) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	})
}
