package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess/messeaf"
)

// folder is the state in which the store left a thread's folder. If the folder differs later,
// another program has changed it.
type folder struct {
	at       messeaf.Folder // "" if there is none yet
	flat     bool           // it is a v1 file of another program's
	fresh    bool           // the thread is new, and no other program has a folder of that name
	rewrite  bool           // the disk may lack data that the store wrote to it
	ver      uint64         // of the envelope in it; 0: unknown
	messages int            // how many of the thread's are in it
	files    []signature    // of the thread's own files, in order
}

// signature identifies the content of a file by its name, size and modification time.
type signature struct {
	name string
	size int64
	mod  time.Time
}

// path returns the path of the thread in the store's folder.
func (f folder) path(ref string) string {
	if f.flat {
		return threadDir(f.at, ref) + messeaf.Ext
	}
	return threadDir(f.at, ref)
}

func (s *Store) tree() tree.Tree { return tree.Tree{Root: s.root} }

// threadDir is where a thread's folder is.
func threadDir(f messeaf.Folder, ref string) string { return path.Join(string(f), ref) }

// signatures returns the signatures of the files in a thread's folder, or of its single file.
func (s *Store) signatures(dir string) ([]signature, error) {
	if info, err := s.root.Lstat(dir); err == nil && !info.IsDir() {
		return []signature{{info.Name(), info.Size(), info.ModTime()}}, nil
	}
	entries, err := fs.ReadDir(s.tree(), dir)
	if err != nil {
		return nil, err
	}
	var list []signature
	for _, e := range entries { // sorted by name, which is by number up to 999
		if _, _, ok := messeaf.ParseFileName(e.Name()); !ok || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		list = append(list, signature{e.Name(), info.Size(), info.ModTime()})
	}
	return list, nil
}

// unchanged reports whether the folder still has the state in which the store left it.
func (s *Store) unchanged(ref string, f folder) bool {
	if f.at == "" {
		return false
	}
	now, err := s.signatures(f.path(ref))
	return err == nil && slices.Equal(now, f.files)
}

// places lists the places of a thread: normally one.
func (s *Store) places(ref string) []messeaf.Place {
	if !messeaf.ValidRef(ref) {
		return nil
	}
	var all []messeaf.Place
	for _, f := range messeaf.Folders {
		dir := threadDir(f, ref)
		if info, err := os.Lstat(filepath.Join(s.dir, dir)); err == nil && info.IsDir() {
			all = append(all, messeaf.Place{Ref: ref, Path: dir, Folder: f})
		}
		for _, ext := range []string{messeaf.Ext, messeaf.ShortExt} {
			if info, err := os.Lstat(filepath.Join(s.dir, dir+ext)); err == nil && info.Mode().IsRegular() {
				all = append(all, messeaf.Place{Ref: ref, Path: dir + ext, Folder: f, Flat: true})
			}
		}
	}
	return all
}

// readEnded reads a thread that has ended from its folder, or from the archive.
func (s *Store) readEnded(ref string) (thread.Thread, error) {
	k, _ := s.index.thread(ref) // an archive can have a thread that the index lacks
	for _, p := range s.endedPlaces(k.Summary) {
		t, err := p.Read(s.tree())
		if errors.Is(err, fs.ErrNotExist) {
			continue // another program has moved it
		}
		if err != nil {
			return thread.Thread{}, err
		}
		in := external.Thread(t)
		in.Ver = max(in.Ver, k.Ver) // a step can have no message, or several
		return in, nil
	}
	return s.readArchived(ref)
}

// endedEnvelope reads the envelope of a thread that has ended, with the requirements of its request. If
// no folder has it, endedEnvelope returns the fields in the summary.
func (s *Store) endedEnvelope(e logformat.Summary) thread.Envelope {
	messages := 1 // the request
	if e.Requires != nil && len(e.Requires) == 0 {
		messages = 0 // it has no requirements
	}
	for _, p := range s.endedPlaces(e) {
		if t, err := p.ReadBeginning(s.tree(), messages); err == nil {
			env := external.Envelope(t.Envelope)
			env.Needs = thread.NeedsOf(thread.Thread{Envelope: env, Messages: t.Messages}.Request())
			return env
		}
	}
	return e.Envelope()
}

// openExternal opens a file in a thread's folder, next to its documents.
func (s *Store) openExternal(ref, name string, k threadState, known bool) (io.ReadSeekCloser, error) {
	if messeaf.ValidAttachment(name) {
		places := s.endedPlaces(k.Summary)
		if k.inLog() {
			places = s.places(ref)
		}
		for _, p := range places {
			if f, err := s.tree().Regular(path.Join(p.Dir(), name)); err == nil {
				return f, nil
			}
		}
		if f, err := archive.Attachment(s.root, ref, name); err == nil {
			return f, nil
		}
	}
	if !known && !s.archived(ref) {
		return nil, thread.ErrNoThread
	}
	return nil, thread.ErrNoBlob
}

// isFree reports whether a ref is unused: the log, the folders and the archive do not have it.
func (s *Store) isFree(ref string) bool {
	known, _ := s.index.has(ref)
	_, err := archive.Find(s.root, ref)
	return !known && len(s.places(ref)) == 0 && err != nil
}

// setAside moves files to the folder set-aside that block a thread and that the store cannot
// repair.
func (s *Store) setAside(p messeaf.Place, cause error) error {
	if err := tree.MakeDir(s.root, "set-aside"); err != nil {
		return err
	}
	to := path.Join("set-aside", s.cfg.Now().UTC().Format("20060102T150405.000000000")+"-"+path.Base(p.Path))
	if err := s.root.Rename(p.Path, to); err != nil {
		return err
	}
	s.cfg.Log.Warn("moved a thread's files to set-aside", "ref", p.Ref, "from", filepath.Join(s.dir, p.Path), "to", filepath.Join(s.dir, to), "err", cause)
	return nil
}

// removeTmp empties the folder of incomplete files.
func (s *Store) removeTmp() error {
	if err := os.RemoveAll(filepath.Join(s.dir, "tmp")); err != nil {
		return err
	}
	return s.root.Mkdir("tmp", 0o700)
}

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
