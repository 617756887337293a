package files

import (
	"context"
	"fmt"
	"slices"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/mess/messeaf"
)

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
