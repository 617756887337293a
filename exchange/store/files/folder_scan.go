package files

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/mess/messeaf"
)

// prepareFolders makes the folders, rebuilds damaged threads and scans the folders after the
// store has read the log.
func (s *Store) prepareFolders() error {
	if err := s.makeFolders(); err != nil {
		return err
	}
	if err := s.repair(context.Background()); err != nil {
		return err
	}
	if err := s.scanFolders(); err != nil {
		return err
	}
	if err := s.log.Err(); err != nil {
		s.cfg.Log.Error("cannot store anything; threads stay read-only", "err", err)
		return nil
	}
	if s.compactAt.Store(2*s.index.bytes() + firstCompact); s.damage.gaps() {
		s.compactAt.Store(0) // compact now: the new log omits the damaged records
	}
	if err := s.compact(context.Background()); err != nil && s.log.Err() == nil {
		s.cfg.Log.Error("the exchange cannot make its log shorter now; it tries again later", "err", err)
	}
	return s.blobs.Clean(s.used())
}

// clockStep is the time in which a file system can give two changes of a folder the same time.
const clockStep = 3 * time.Second

// scanFolders makes memory and folders agree at the start. It reads the names in each state
// folder once, and opens only the threads that the log does not have.
func (s *Store) scanFolders() error {
	there, complete := []uint64(nil), true
	ended := s.index.ended.atStart()
	var unknown []messeaf.Place
	var doubtful []string
	s.listed = map[messeaf.Folder]time.Time{}
	for _, f := range messeaf.Folders {
		if info, err := s.root.Lstat(string(f)); err == nil && time.Since(info.ModTime()) > clockStep {
			s.listed[f] = info.ModTime()
		}
		places, err := s.listFolder(f)
		if err != nil {
			s.cfg.Log.Warn("cannot read a folder; its threads are missing until messkit can read it", "path", filepath.Join(s.dir, string(f)), "err", err)
			complete = false
		}
		for _, p := range places {
			h := s.index.ended.ofRef(p.Ref)
			there = append(there, h)
			known, inLog := s.index.inMemory(p.Ref)
			if !known {
				_, known = slices.BinarySearch(ended, h)
			}
			switch {
			case isEndedFolder(p.Folder) && !known, !known && !s.archived(p.Ref):
				unknown = append(unknown, p)
			case !isEndedFolder(p.Folder) && !inLog: // it has ended, and a copy is in the folder of an open thread
				doubtful = append(doubtful, p.Ref)
			}
		}
	}
	if complete {
		slices.Sort(there)
		if err := s.forgetMissing(there); err != nil {
			return err
		}
	}
	s.index.ended.fullHashes, s.index.ended.loading = nil, false
	if err := s.importAll(context.Background(), unknown); err != nil {
		return err
	}
	if len(s.index.docsOf(diskKind)) > 0 {
		s.index.markRewrite()
	}
	s.project.checkLater(append(s.index.inLog(), doubtful...))
	return nil
}

// listFolder lists the threads of a state folder, and logs once each entry that is not a thread.
// It reads the names of the folder once.
func (s *Store) listFolder(f messeaf.Folder) ([]messeaf.Place, error) {
	names := s.tree().Listed(string(f))
	places, err := messeaf.ListFolder(names, f)
	if ignored, err := messeaf.Ignored(names, f); err == nil { // else the caller has the same error
		for _, one := range ignored {
			s.project.logIgnored(one)
		}
	}
	return places, err
}

// makeFolders makes the state folders. It does nothing on a read-only disk.
func (s *Store) makeFolders() error {
	if s.log.Err() != nil {
		return nil
	}
	if err := s.removeTmp(); err != nil {
		return err
	}
	for _, f := range messeaf.Folders {
		if err := tree.MakeDir(s.root, string(f)); err != nil {
			return err
		}
	}
	return nil
}

// forgetMissing forgets the threads that have ended and that a person has removed
// or archived.
func (s *Store) forgetMissing(there []uint64) error {
	var gone []logformat.Record
	d := &s.index.ended
	missing := func(hash uint64) bool {
		_, found := slices.BinarySearch(there, hash)
		return !found
	}
	s.index.each(func(k *threadState) bool {
		if !k.inLog() && missing(d.ofRef(k.Ref)) {
			gone = append(gone, logformat.Record{Gone: k.Ref})
		}
		return true
	})
	for p, hash := range d.fullHashes {
		if p := place(p); hash != 0 && !d.isDead(p) && missing(hash) {
			e, err := d.entry(p)
			if err != nil {
				return err
			}
			if e.Ref != "" {
				gone = append(gone, logformat.Record{Gone: e.Ref})
			}
		}
	}
	return s.store(context.Background(), gone)
}
