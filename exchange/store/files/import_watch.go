package files

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Listener takes what other programs have put into the folders.
type Listener interface {
	// PostExternal hands over a message that another program has put into a thread, and that
	// nobody has judged.
	PostExternal(ctx context.Context, ref string, m mess.Message) error
}

// Run brings the folders after the log, hands over what other programs have put
// into them, archives what has ended long ago, and makes the log shorter.
func (s *Store) Run(ctx context.Context, to Listener) error {
	s.project.mu.Lock()
	s.project.to = to
	s.project.mu.Unlock()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.watch(ctx) })
	g.Go(func() error { return s.project.run(ctx) })
	g.Go(func() error { return s.retain(ctx) })
	g.Go(func() error { return s.compactor(ctx) })
	return g.Wait()
}

// maxWatched bounds the threads whose folders are watched for what other
// programs append. The system gives each of its users so many watches; each
// takes a kilobyte.
const maxWatched = 8192

// watcher has the system tell what happens in folders, so that nobody asks when
// nothing happens.
type watcher struct {
	mu   sync.Mutex
	in   *fsnotify.Watcher // nil until there is one
	dirs map[string]string // watched folder of each thread
	full bool              // it was said that there are too many
}

// open begins to watch the state folders.
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

// watchIgnored watches the folder of a thread that could not be taken in.
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
		s.project.checkAfter(ref, quiet) // for what was written before
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, fsnotify.ErrClosed):
		// It has moved, it was told that it cannot be read, or we are at the end.
	case !w.full:
		w.full = true
		s.cfg.Log.Warn("too many threads are open to watch each folder; what other programs append is seen when the thread changes next", "watched", len(w.dirs))
	}
}

// unwatch notes that a thread's folder has moved, which ends the watch.
func (w *watcher) unwatch(ref string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if dir := w.dirs[ref]; dir != "" {
		_ = w.in.Remove(dir) // the system may have done so
		delete(w.dirs, ref)
	}
}

// unchangedSince reports whether a state folder has the names that it had when it was listed.
func (s *Store) unchangedSince(f messeaf.Folder, listed map[messeaf.Folder]time.Time) bool {
	info, err := s.root.Lstat(string(f))
	return err == nil && !listed[f].IsZero() && info.ModTime().Equal(listed[f])
}

// watch notes what other programs do in the folders until ctx ends.
func (s *Store) watch(ctx context.Context) error {
	if err := s.watcher.open(s); err != nil {
		s.cfg.Log.Warn("what other programs put into the folders is seen at the next start only", "err", err)
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

// onEvent looks at the thread that something has happened to, when it has been
// quiet for a moment.
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
			_, _ = s.listFolder(messeaf.Folder(state)) // the start says that it cannot be read
		}
		return
	}
	if inside == "" && (e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename)) {
		s.watcher.unwatch(ref)
	}
	s.project.checkAfter(ref, quiet)
}

// checkForNew looks at the threads that nobody knows: they were put there before
// the folders were watched.
func (s *Store) checkForNew() {
	s.checkFolders(s.listed, func(ref string) bool { known, _ := s.index.has(ref); return !known })
}

// checkAllFolders looks at every thread that is not known to have ended: so much has
// happened that the system has not told all.
func (s *Store) checkAllFolders() {
	s.checkFolders(nil, func(ref string) bool { known, inLog := s.index.has(ref); return inLog || !known })
}

// checkFolders looks at the threads that wanted selects. It skips folders that are as they were when
// the store listed them.
func (s *Store) checkFolders(listed map[messeaf.Folder]time.Time, wanted func(ref string) bool) {
	for _, f := range messeaf.Folders {
		if s.unchangedSince(f, listed) {
			continue
		}
		places, err := s.listFolder(f)
		if err != nil {
			continue // the start says that it cannot be read
		}
		for _, p := range places {
			if wanted(p.Ref) {
				s.project.checkAfter(p.Ref, quiet)
			}
		}
	}
}
