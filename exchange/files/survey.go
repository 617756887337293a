package files

import (
	"context"
	"path/filepath"

	"github.com/messkit/messkit/mess/messeaf"
)

// survey makes memory and folders agree at the start: it looks at the names in
// the folders, and reads only the threads that the log does not know.
func (s *Store) survey() error {
	if s.log.Err() == nil {
		if err := s.removeTmp(); err != nil {
			return err
		}
		for _, f := range messeaf.Folders {
			if err := s.root.MkdirAll(string(f), 0o700); err != nil {
				return err
			}
		}
	}
	there, complete := map[string]bool{}, true
	var unknown []messeaf.Place
	var doubtful []string
	for _, f := range messeaf.Folders {
		places, err := messeaf.ListFolder(s.tree(), f)
		if err != nil {
			s.cfg.Log.Warn("a folder cannot be read; its threads are missing until it can", "path", filepath.Join(s.dir, string(f)), "err", err)
			complete = false
		}
		for _, p := range places {
			there[p.Ref] = true
			switch known, inLog := s.index.has(p.Ref); {
			case ending(p.Folder) && !known, !known && !s.archived(p.Ref):
				unknown = append(unknown, p)
			case !ending(p.Folder) && !inLog: // it has ended, and a copy lies where it began
				doubtful = append(doubtful, p.Ref)
			}
		}
		s.tellIgnored(f)
	}
	if complete {
		s.forgetMissing(there)
	}
	if err := s.adoptAll(context.Background(), unknown); err != nil {
		return err
	}
	s.project.doubt(append(s.index.inLog(), doubtful...))
	return nil
}

// tellIgnored tells once of what lies in a state folder and is no thread.
func (s *Store) tellIgnored(f messeaf.Folder) {
	all, err := messeaf.Ignored(s.tree(), f)
	if err != nil {
		return // it was said that the folder cannot be read
	}
	for _, one := range all {
		s.project.ignored(one)
	}
}

// forgetMissing forgets the threads that have ended and that a person has
// removed or archived.
func (s *Store) forgetMissing(there map[string]bool) {
	var gone []string
	s.index.each(func(k *kept) bool {
		if !k.inLog() && !there[k.Ref] {
			gone = append(gone, k.Ref)
		}
		return true
	})
	for _, ref := range gone {
		s.index.forget(ref)
	}
}
