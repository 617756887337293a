package files

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

const (
	// importBatch is the maximum number of threads that one batch adds to the log. importBytes
	// is the maximum total size of a batch, unless a single thread is larger.
	importBatch = 500
	importBytes = 16 << 20
	// maxExternal is the maximum size of one imported thread, in bytes.
	maxExternal = 64 << 20
)

// externalThread is a thread of another program that the store imports.
type externalThread struct {
	place    messeaf.Place
	contents []signature // before the read
	records  []logformat.Record
	err      error
}

// importAll imports threads that the log does not have: another program has made them, or the
// log was lost. It logs the threads that it cannot import.
func (s *Store) importAll(ctx context.Context, places []messeaf.Place) error {
	order.By(places, func(a, b messeaf.Place) int { return cmp.Or(cmp.Compare(a.Ref, b.Ref), external.CompareProgress(a, b)) })
	if len(places) > 1000 {
		s.cfg.Log.Info("reading threads that the log does not know", "threads", len(places))
	}
	var ref string
	for len(places) > 0 {
		some := s.nextBatch(places)
		places = places[len(some):]
		all := s.readPlaces(some)
		var records []logformat.Record
		for _, a := range all {
			switch {
			case a.place.Ref == ref: // the place with the most progress came first
				s.project.checkLater([]string{ref})
			case a.err != nil:
				s.project.noteIgnored(a.place, a.contents, a.err)
				s.project.logOnce(a.place.Ref, a.err)
			default:
				records = append(records, a.records...)
			}
			ref = a.place.Ref
		}
		if err := s.store(ctx, records); err != nil {
			return err
		}
	}
	return nil
}

// nextBatch returns the places of the next batch.
func (s *Store) nextBatch(places []messeaf.Place) []messeaf.Place {
	var bytes int64
	for i, p := range places[:min(importBatch, len(places))] {
		size, _ := s.size(p) // the read reports the error
		if bytes += size; bytes > importBytes && i > 0 {
			return places[:i]
		}
	}
	return places[:min(importBatch, len(places))]
}

// size returns the total size of a thread's own files, in bytes.
func (s *Store) size(p messeaf.Place) (int64, error) {
	files, err := s.signatures(p.Path)
	var bytes int64
	for _, f := range files {
		bytes += f.size
	}
	return bytes, err
}

// readPlaces reads threads as records of the log.
func (s *Store) readPlaces(places []messeaf.Place) []externalThread {
	all := make([]externalThread, len(places))
	var g errgroup.Group
	g.SetLimit(8)
	for i, p := range places {
		g.Go(func() error {
			all[i].place, all[i].contents = p, s.contents(p)
			all[i].records, all[i].err = s.readPlace(p)
			return nil
		})
	}
	_ = g.Wait() // the functions return no error
	return all
}

// readPlace reads a thread that the log does not know, as records of the log.
// Its errors are of type messeaf.Problems, or of the file system.
func (s *Store) readPlace(p messeaf.Place) ([]logformat.Record, error) {
	if size, err := s.size(p); err != nil {
		return nil, err
	} else if size > maxExternal {
		return nil, external.Problem(p, "", "has %d bytes; %d are the most that an exchange takes in", size, maxExternal)
	}
	files, err := p.ReadFiles(s.tree())
	if err != nil {
		return nil, err
	}
	if err := p.TooMany(files); err != nil {
		return nil, err
	}
	t, err := p.Parse(files)
	if err != nil {
		return nil, err
	}
	if t.Envelope.Ref != p.Ref {
		return nil, external.Problem(p, "ref", "is %s, and the name says %s; make them the same", t.Envelope.Ref, p.Ref)
	}
	return external.Reader{Look: s.root.Lstat, Now: s.cfg.Now, Log: s.cfg.Log}.Records(p, t)
}

// importExternal imports a thread that another program has made.
func (s *Store) importExternal(ctx context.Context, ref string) error {
	places := s.places(ref)
	if len(places) == 0 {
		s.project.noteIgnored(messeaf.Place{Ref: ref}, nil, nil)
		return nil
	}
	p := slices.MinFunc(places, external.CompareProgress)
	if !isEndedFolder(p.Folder) && s.archived(ref) {
		return s.setAsideStale(p, errors.New("the thread has ended, and is in the archive; to repeat it, use a new ref"))
	}
	if s.changedWithin(p, quiet) {
		return errBusy
	}
	contents := s.contents(p)
	records, err := []logformat.Record(nil), s.project.ignoredReason(p, contents)
	if err == nil {
		records, err = s.readPlace(p)
		s.project.noteIgnored(p, contents, err)
	}
	if err != nil {
		s.watcher.watchIgnored(s, p)
		return ignoredError{err}
	}
	if err := s.store(ctx, records); err != nil {
		return err
	}
	if len(places) > 1 {
		s.project.checkAfter(ref, retrySoon)
	}
	if records[0].Thread == nil {
		return nil
	}
	var e thread.Envelope
	if err := json.Unmarshal(records[0].Envelope, &e); err != nil {
		return err // Marshal has made it
	}
	s.cfg.Log.Info("another program has made a thread", "ref", ref, "intent", e.Intent)
	s.project.mark(ref, e.Status.Terminal())
	return nil
}

// Listener receives the messages that other programs put into the folders.
type Listener interface {
	// PostExternal passes a message to the exchange that another program has put into a thread,
	// and that the exchange has not judged.
	PostExternal(ctx context.Context, ref string, m mess.Message) error
}

// Run updates the folders, passes messages of other programs to the Listener, archives old
// threads, and compacts the log. It returns when ctx ends.
func (s *Store) Run(ctx context.Context, to Listener) error {
	s.project.mu.Lock()
	s.project.to = to
	s.project.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.watch(ctx) })
	g.Go(func() error { return s.project.run(ctx) })
	g.Go(func() error { return s.project.runReleases(ctx) })
	g.Go(func() error { return s.retain(ctx) })
	g.Go(func() error { return s.compactor(ctx) })
	return g.Wait()
}

// maxWatched is the maximum number of threads whose folders the store watches for changes of
// other programs. The system limits the watches of a user; each takes a kilobyte.
const maxWatched = 8192

// watcher subscribes to the system's events for folders, so that the store does not poll.
type watcher struct {
	mu   sync.Mutex
	in   *fsnotify.Watcher // nil until there is one
	dirs map[string]string // watched folder of each thread
	full bool              // the log output has the warning about too many threads
}

// open starts to watch the state folders.
func (w *watcher) open(s *Store) error {
	in, err := fsnotify.NewWatcher()
	if err != nil {
		return err
	}
	for _, f := range messeaf.Folders {
		if err := in.Add(filepath.Join(s.dir, string(f))); err != nil {
			return errors.Join(err, in.Close())
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.in, w.dirs = in, map[string]string{}
	return nil
}

// thread watches the folder of a thread that is open, and no other.
func (w *watcher) thread(s *Store, ref string, f folder) {
	dir := ""
	if !f.flat && (f.at == messeaf.Received || f.at == messeaf.Executing) {
		dir = filepath.Join(s.dir, threadDir(f.at, ref))
	}
	w.set(s, ref, dir)
}

// watchIgnored watches the folder of a thread that the store could not import.
func (w *watcher) watchIgnored(s *Store, p messeaf.Place) {
	if !p.Flat {
		w.set(s, p.Ref, filepath.Join(s.dir, p.Path))
	}
}

// set watches one folder for a thread; "" is none.
func (w *watcher) set(s *Store, ref, dir string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	was := w.dirs[ref]
	if w.in == nil || was == dir {
		return
	}
	if was != "" {
		_ = w.in.Remove(was) // the system may have done so
		delete(w.dirs, ref)
	}
	if dir == "" {
		return
	}
	err := fs.ErrInvalid
	if len(w.dirs) < maxWatched {
		err = w.in.Add(dir)
	}
	switch {
	case err == nil:
		w.dirs[ref] = dir
		s.project.checkAfter(ref, quiet) // for changes before the watch
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, fsnotify.ErrClosed):
	// The folder has moved, the log output already has the error, or the store is closing.
	case !w.full:
		w.full = true
		s.cfg.Log.Warn("too many threads are open to watch each folder; messkit reads additions of other programs when the thread changes next", "watched", len(w.dirs))
	}
}

// unwatch removes the watch of a thread whose folder has moved.
func (w *watcher) unwatch(ref string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dir := w.dirs[ref]; dir != "" {
		_ = w.in.Remove(dir) // the system may have done so
		delete(w.dirs, ref)
	}
}

// unchangedSince reports whether a state folder has had no new or removed names since the store
// listed it.
func (s *Store) unchangedSince(f messeaf.Folder, listed map[messeaf.Folder]time.Time) bool {
	info, err := s.root.Lstat(string(f))
	return err == nil && !listed[f].IsZero() && info.ModTime().Equal(listed[f])
}

// watch handles the changes of other programs in the folders until ctx ends.
func (s *Store) watch(ctx context.Context) error {
	if err := s.watcher.open(s); err != nil {
		s.cfg.Log.Warn("cannot watch the folders; messkit reads additions of other programs at the next start only", "err", err)
		<-ctx.Done()
		return nil
	}
	s.checkForNew()
	for _, ref := range s.index.open() {
		k, _ := s.index.thread(ref)
		s.watcher.thread(s, ref, k.folder)
	}
	in := s.watcher.in
	for {
		select {
		case <-ctx.Done():
			return in.Close()
		case e, ok := <-in.Events:
			if ok {
				s.onEvent(e)
			}
		case err, ok := <-in.Errors:
			if ok && errors.Is(err, fsnotify.ErrEventOverflow) {
				s.checkAllFolders()
			}
		}
	}
}

// onEvent schedules a check of the thread that an event is about.
func (s *Store) onEvent(e fsnotify.Event) {
	rel, err := filepath.Rel(s.dir, e.Name)
	if err != nil {
		return
	}
	state, rest, _ := strings.Cut(filepath.ToSlash(rel), "/")
	ref, inside, _ := strings.Cut(rest, "/")
	ref = strings.TrimSuffix(strings.TrimSuffix(ref, messeaf.Ext), messeaf.ShortExt)
	if !messeaf.ValidRef(ref) {
		if !strings.HasPrefix(ref, ".") {
			_, _ = s.listFolder(messeaf.Folder(state)) // the start logs the error
		}
		return
	}
	if inside == "" && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		s.watcher.unwatch(ref)
	}
	s.project.checkAfter(ref, quiet)
}

// checkForNew schedules a check of the threads that the index does not have. Other programs have
// made them before the watch began.
func (s *Store) checkForNew() {
	s.checkFolders(s.listed, func(ref string) bool { known, _ := s.index.has(ref); return !known })
}

// checkAllFolders schedules a check of every thread that may be open, because the system dropped
// events.
func (s *Store) checkAllFolders() {
	s.checkFolders(nil, func(ref string) bool { known, inLog := s.index.has(ref); return inLog || !known })
}

// checkFolders schedules a check of the threads that wanted selects. It skips folders that have
// not changed since the store listed them.
func (s *Store) checkFolders(listed map[messeaf.Folder]time.Time, wanted func(ref string) bool) {
	for _, f := range messeaf.Folders {
		if s.unchangedSince(f, listed) {
			continue
		}
		places, err := s.listFolder(f)
		if err != nil {
			continue // the start logs the error
		}
		for _, p := range places {
			if wanted(p.Ref) {
				s.project.checkAfter(p.Ref, quiet)
			}
		}
	}
}
