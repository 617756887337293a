package files

import (
	"fmt"

	"github.com/messkit/messkit/mess/messeaf"
)

// ending reports whether a folder is one of threads that have ended.
func ending(f messeaf.Folder) bool { return f == messeaf.Finished || f == messeaf.Canceled }

// endedPlaces are the places of a thread of which the log knows only how it
// stood when it was let go: where that belongs, else where others have put it
// among what has ended. A copy where the thread began says nothing.
func (s *Store) endedPlaces(e summary) []messeaf.Place {
	var belongs, elsewhere []messeaf.Place
	for _, p := range s.places(e.Ref) {
		switch {
		case p.Folder == messeaf.FolderOf(e.Status):
			belongs = append(belongs, p)
		case ending(p.Folder):
			elsewhere = append(elsewhere, p)
		}
	}
	return append(belongs, elsewhere...)
}

// settled looks at a thread that has ended: one that a person has removed or
// archived is forgotten, and copies of it are set aside.
func (s *Store) settled(ref string) error {
	places := s.places(ref)
	if len(places) == 0 {
		s.index.forget(ref)
		return nil
	}
	k, known := s.index.thread(ref)
	if !known || k.inLog() {
		return nil
	}
	keep := s.endedPlaces(k.summary)
	for _, p := range places {
		if len(keep) > 0 && p == keep[0] {
			continue
		}
		if err := s.stale(p, fmt.Errorf("the thread has ended (%s); what is to be done again needs a ref of its own", k.Status)); err != nil {
			return err
		}
	}
	return nil
}

// stale sets a copy of a thread that has ended aside, when it is quiet.
func (s *Store) stale(p messeaf.Place, why error) error {
	if s.written(p, quiet) {
		return errBusy
	}
	return s.setAside(p, why)
}
