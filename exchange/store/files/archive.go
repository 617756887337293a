package files

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
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
			if err := s.blobs.Clean(s.used()); err != nil {
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
	move := func(name string, threads []logformat.Entry) error {
		err := s.archiveAll(ctx, name, threads)
		if errors.Is(err, errBusy) {
			busy, err = err, nil
		}
		return err
	}
	due, err := x.countDue(t)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(due)) {
		all := past && archive.PeriodEnd(name).Before(t)
		if d := due[name]; all || d.threads >= archive.Capacity(name) {
			if err := x.eachDue(t, name, d.blocks, all, move); err != nil {
				return err
			}
		}
	}
	return busy
}

// dueThreads are the threads of one archive that ended before a time.
type dueThreads struct {
	threads int
	blocks  []block // where they are
}

// countDue counts the threads that ended before t, by archive. It keeps no entries: there can be a
// million.
func (x *index) countDue(t time.Time) (map[string]*dueThreads, error) {
	due := map[string]*dueThreads{}
	for _, b := range x.dueBlocks(t) {
		all, err := x.dueIn(b, t)
		if err != nil {
			return nil, err
		}
		for _, e := range all {
			name := archive.Of(e.Ref)
			d := due[name]
			if d == nil {
				d = &dueThreads{}
				due[name] = d
			}
			if d.threads++; len(d.blocks) == 0 || d.blocks[len(d.blocks)-1].at != b.at {
				d.blocks = append(d.blocks, b)
			}
		}
	}
	return due, nil
}

// dueIn returns the entries of a block whose threads ended before t.
func (x *index) dueIn(b block, t time.Time) (due []logformat.Entry, err error) {
	all, err := x.ended.read(b, logformat.UnchangedName)
	for i, e := range all {
		if b.dead&place(i).mask() == 0 && e.Updated.Before(t) {
			due = append(due, e)
		}
	}
	return due, err
}

// eachDue calls move with the threads of an archive that ended before t, as many at a time as a full
// archive has, and with rest also with the others.
func (x *index) eachDue(t time.Time, name string, blocks []block, rest bool, move func(name string, threads []logformat.Entry) error) error {
	var some []logformat.Entry
	for _, b := range blocks {
		all, err := x.dueIn(b, t)
		if err != nil {
			return err
		}
		for _, e := range all {
			if archive.Of(e.Ref) != name {
				continue
			}
			if some = append(some, e); len(some) < archive.Capacity(name) {
				continue
			}
			if err := move(name, some); err != nil {
				return err
			}
			some = nil
		}
	}
	if len(some) == 0 || !rest {
		return nil
	}
	return move(name, some)
}

// archiveAll moves threads into an archive. While others take steps, it then leaves the disk
// and the processor to them for as long as that took.
func (s *Store) archiveAll(ctx context.Context, name string, threads []logformat.Entry) error {
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
func (s *Store) archiveSome(ctx context.Context, name string, threads []logformat.Entry) error {
	w, err := archive.NewWriter(s.root, name)
	if err != nil {
		return err
	}
	defer w.Discard()
	var moved []archivedThread
	var busy error // another program writes to a thread now; archive the others
	for _, e := range threads {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a, err := s.archivable(ctx, e)
		switch {
		case errors.Is(err, errBusy):
			busy = err
		case err != nil:
			s.project.logOnce(e.Ref, err)
		case a != nil:
			if err := w.Add(a.place); err != nil {
				return err
			}
			moved = append(moved, *a)
		}
	}
	if len(moved) == 0 {
		return busy
	}
	if err := w.Finish(); err != nil {
		return err
	}
	s.crash("archive written")
	if err := w.Install(); err != nil {
		return err
	}
	s.crash("archive renamed")
	return errors.Join(s.leaveFolders(ctx, moved), busy)
}

// errOtherFiles is why a thread stays in its folder.
var errOtherFiles = errors.New("the folder has files that are not of the thread, so the exchange does not archive it; move them elsewhere")

// archivable returns a thread that can move into an archive now, with its folder. It returns nil
// for a thread that does not have exactly one folder.
func (s *Store) archivable(ctx context.Context, e logformat.Entry) (*archivedThread, error) {
	places := s.endedPlaces(e.Summary)
	if len(places) != 1 {
		return nil, nil
	}
	if s.changedWithin(places[0], quiet) {
		if wait.For(ctx, quiet); s.changedWithin(places[0], quiet) {
			return nil, errBusy
		}
	}
	a := archivedThread{e, places[0], s.contents(places[0])}
	m, err := a.place.ReadEnvelope(s.tree())
	if err == nil && (m.Ref != e.Ref || !m.Status.Terminal()) {
		err = external.Problem(a.place, "", "the envelope does not say that the thread %s has ended, so the exchange does not archive it", e.Ref)
	}
	own, attachments, more := a.place.Whole(s.tree())
	if err = errors.Join(err, more); err == nil && len(own)+len(attachments) != len(a.files) {
		err = errOtherFiles
	}
	return &a, err
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
	var gone []logformat.Record
	for _, a := range archived {
		k, ok := s.index.thread(a.Ref)
		if !ok || k.seq != a.Seq || !slices.Equal(s.contents(a.place), a.files) {
			continue
		}
		if err := s.removeFolder(a); err != nil {
			s.project.logOnce(a.Ref, err)
			continue
		}
		gone = append(gone, logformat.Record{Gone: a.Ref})
	}
	s.crash("folders removed")
	if err := s.store(ctx, gone); err != nil {
		return err
	}
	if s.index.endedDue() {
		wait.Notify(s.compactDue)
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
	logformat.Entry
	place messeaf.Place
	files []signature
}

// archived reports whether an archive has a thread. It also returns true if the store cannot
// read the archive that would have it.
func (s *Store) archived(ref string) bool {
	_, err := archive.Find(s.root, ref)
	return !errors.Is(err, fs.ErrNotExist)
}

// Archived returns the threads that only an archive has. The feed does not have them.
func (s *Store) Archived(context.Context) ([]string, error) {
	all, err := archive.Refs(s.root)
	return slices.DeleteFunc(all, func(ref string) bool { known, _ := s.index.has(ref); return known }), err
}

// readArchived reads a thread from its archive.
func (s *Store) readArchived(ref string) (thread.Thread, error) {
	t, err := archive.Read(s.root, ref)
	if errors.Is(err, fs.ErrNotExist) {
		err = thread.ErrNoThread
	}
	if err != nil {
		return thread.Thread{}, err
	}
	return external.Thread(t), nil
}
