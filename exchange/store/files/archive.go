package files

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/internal/wal"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	// archiveEvery is the longest time between two searches for threads that ended long
	// ago, and archiveLate the time between two additions to archives of past periods.
	archiveEvery = time.Hour
	archiveLate  = 24 * time.Hour
	// archiveAtOnce is the largest number of threads that the store archives in one step.
	archiveAtOnce = 1000
)

// retain archives the threads that ended long ago, and removes attachments that no thread
// names any more, until ctx ends.
func (s *Store) retain(ctx context.Context) error {
	every := archiveEvery
	if after := s.cfg.ArchiveAfter; after > 0 {
		every = min(archiveEvery, max(time.Second, after/24))
	}
	var late time.Time
	cleaned := time.Now()
	for ctx.Err() == nil {
		if s.cfg.ArchiveAfter > 0 && s.log.Err() == nil {
			now := time.Now()
			past := now.Sub(late) >= archiveLate
			err := s.archiveBefore(ctx, s.cfg.Now().Add(-s.cfg.ArchiveAfter), past)
			switch {
			case errors.Is(err, wal.ErrMoved), errors.Is(err, errBusy), ctx.Err() != nil: // the next search finds the rest
			case err != nil:
				s.project.logOnce("archive", err)
			case past:
				late = now
			}
		}
		wait.For(ctx, every)
		if ctx.Err() == nil && time.Since(cleaned) >= archiveEvery {
			cleaned = time.Now()
			if err := s.blobs.clean(s.used()); err != nil {
				s.project.logOnce("attachments", err)
			}
		}
	}
	return nil
}

// archiveBefore moves threads that ended before t from their folders into archives: those
// of archives that become full, and with past those of periods that were over at t.
func (s *Store) archiveBefore(ctx context.Context, t time.Time, past bool) error {
	x := s.index
	if x.ended.log == nil {
		return nil
	}
	if x.restingBefore(t) {
		if err := s.keepEnded(ctx, 1); err != nil {
			return err
		}
	}
	var busy error // another program writes to a thread; archive the others
	move := func(name string, threads []entry) error {
		err := s.archiveAll(ctx, name, threads)
		if errors.Is(err, errBusy) {
			busy, err = err, nil
		}
		return err
	}
	due := map[string][]entry{} // by archive
	for _, b := range x.dueBlocks(t) {
		all, err := x.ended.read(b, unchangedName)
		if err != nil {
			return err
		}
		for i, e := range all {
			if b.dead&place(i).mask() != 0 || !e.Updated.Before(t) {
				continue
			}
			name := archiveOf(e.Ref)
			if due[name] = append(due[name], e); len(due[name]) >= threadsOf(name) {
				if err := move(name, due[name]); err != nil {
					return err
				}
				delete(due, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(due)) {
		if !past || !periodEnd(name).Before(t) {
			continue
		}
		if err := move(name, due[name]); err != nil {
			return err
		}
	}
	return busy
}

// archiveAll moves threads into an archive. While others take steps, it then leaves the disk
// and the processor to them for as long as that took.
func (s *Store) archiveAll(ctx context.Context, name string, threads []entry) error {
	for some := range slices.Chunk(threads, archiveAtOnce) {
		began := time.Now()
		if err := s.archiveSome(ctx, name, some); err != nil {
			return err
		}
		if s.project.steps.Load() > 0 {
			wait.For(ctx, time.Since(began))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// archiveSome moves threads into an archive. The archive is on the disk before the folders
// go, and the log forgets the threads last. If the program dies in between, the next start
// finds each thread in its folder, in the archive, or in both.
func (s *Store) archiveSome(ctx context.Context, name string, threads []entry) error {
	w, err := s.newArchive(name)
	if err != nil {
		return err
	}
	defer w.discard()
	for _, e := range threads {
		if err := errors.Join(ctx.Err(), w.add(ctx, e)); err != nil {
			return err
		}
	}
	if len(w.added) == 0 {
		return w.busy
	}
	if err := w.finish(); err != nil {
		return err
	}
	return errors.Join(s.leaveFolders(ctx, w.added), w.busy)
}

// leaveFolders removes the folders of archived threads, and forgets the threads. A thread that
// has changed since stays as it is.
func (s *Store) leaveFolders(ctx context.Context, archived []archivedThread) error {
	refs := make([]string, len(archived))
	for i, a := range archived {
		refs[i] = a.Ref
	}
	defer s.locks.Lock(refs...)()
	if err := errors.Join(s.root.RemoveAll(archivedDir), s.root.Mkdir(archivedDir, 0o700)); err != nil {
		return err
	}
	var gone []record
	for _, a := range archived {
		e, ok := s.index.endedEntry(a.Ref)
		if !ok || e.seq != a.seq || !slices.Equal(s.contents(a.place), a.files) {
			continue
		}
		if err := s.removeFolder(a); err != nil {
			s.project.logOnce(a.Ref, err)
			continue
		}
		gone = append(gone, record{Gone: a.Ref})
	}
	s.crash("folders removed")
	if err := s.store(ctx, gone); err != nil {
		return err
	}
	return s.keepEnded(ctx, endedAtOnce)
}

// archivedDir has the folders of archived threads that are about to go. No ref ends in .zip.
const archivedDir = "tmp/archived.zip"

// removeFolder removes the folder of an archived thread. If another program has written
// there since the store read it, the store sets the folder aside.
func (s *Store) removeFolder(a archivedThread) error {
	gone := a.place
	gone.Path = path.Join(archivedDir, path.Base(a.place.Path))
	if err := s.root.Rename(a.place.Path, gone.Path); err != nil {
		return err
	}
	s.crash("folder moved")
	if !slices.Equal(s.contents(gone), a.files) {
		return s.setAside(gone, errors.New("another program changed the thread while the exchange archived it"))
	}
	return s.root.RemoveAll(gone.Path)
}

// crash is a place where the program could die while it archives.
func (s *Store) crash(step string) {
	if s.atCrash != nil {
		s.atCrash(step)
	}
}

// archivedThread is a thread that an archive has, and its folder as it was then.
type archivedThread struct {
	entry
	place messeaf.Place
	files []signature
}
