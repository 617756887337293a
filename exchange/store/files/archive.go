package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess/messeaf"
)

// lookEvery is how often it is looked for threads that ended long ago.
const lookEvery = time.Hour

// retain archives the threads that ended long ago, and removes attachments that
// nobody names any more.
func (s *Store) retain(ctx context.Context) error {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		if s.cfg.ArchiveAfter > 0 && s.log.Err() == nil {
			s.archiveBefore(ctx, s.cfg.Now().Add(-s.cfg.ArchiveAfter))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		if err := s.blobs.clean(s.used()); err != nil {
			s.project.complain("attachments", err)
		}
	}
}

func (s *Store) archiveBefore(ctx context.Context, before time.Time) {
	refs, err := s.endedBefore(before)
	if err != nil {
		s.project.complain("archive", err)
	}
	for _, ref := range refs {
		if ctx.Err() != nil {
			return
		}
		for _, p := range s.places(ref) {
			if err := Archive(s.root, p); err != nil {
				s.project.complain(ref, err)
				continue
			}
			if err := s.store(ctx, []record{{Gone: ref}}); err != nil {
				s.project.complain(ref, err)
			}
		}
	}
}

var dated = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}-`)

// archiveFolder is where the archive of a thread is: by its month, if its ref
// has one.
func archiveFolder(ref string) string {
	if dated.MatchString(ref) {
		return "archive/" + ref[:7]
	}
	return "archive/other"
}

// ArchiveName is where the archive of a thread is in an exchange's folder.
func ArchiveName(ref string) string { return path.Join(archiveFolder(ref), ref+messeaf.ZipExt) }

// Archive makes an archive of a thread in an exchange's folder, and removes the
// thread when the archive is on the disk.
func Archive(root *os.Root, p messeaf.Place) error {
	if err := errors.Join(makeDir(root, archiveFolder(p.Ref)), root.MkdirAll("tmp", 0o700)); err != nil {
		return err
	}
	tmp := path.Join("tmp", p.Ref+messeaf.ZipExt)
	f, err := root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = messeaf.Archive(f, tree{root}, p)
	if err == nil {
		err = readsAs(f, p.Ref)
	}
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, root.Remove(tmp))
	}
	if err := root.Rename(tmp, ArchiveName(p.Ref)); err != nil {
		return err
	}
	if err := syncDir(root, archiveFolder(p.Ref)); err != nil {
		return err
	}
	return root.RemoveAll(p.Path)
}

// makeDir makes a folder and its parents. Their names are on the disk when it returns.
func makeDir(root *os.Root, name string) error {
	if _, err := root.Lstat(name); err == nil {
		return nil
	}
	if err := root.MkdirAll(name, 0o700); err != nil {
		return err
	}
	for name != "." {
		name = path.Dir(name)
		if err := syncDir(root, name); err != nil {
			return err
		}
	}
	return nil
}

// readsAs reports whether what was written can be read again.
func readsAs(f *os.File, ref string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	_, err = readArchive(f, info.Size(), ref)
	return err
}

func readArchive(r io.ReaderAt, size int64, ref string) (messeaf.Thread, error) {
	fsys, err := messeaf.OpenArchive(r, size)
	if err != nil {
		return messeaf.Thread{}, err
	}
	places, err := messeaf.List(fsys)
	if err != nil {
		return messeaf.Thread{}, err
	}
	for _, p := range places {
		if p.Ref == ref {
			return p.Read(fsys)
		}
	}
	return messeaf.Thread{}, thread.ErrNoThread
}

// openArchive opens the archive of a thread.
func (s *Store) openArchive(ref string) (*os.File, int64, error) {
	if !messeaf.ValidRef(ref) {
		return nil, 0, fs.ErrNotExist
	}
	f, err := s.tree().regular(ArchiveName(ref))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func (s *Store) archived(ref string) bool {
	f, _, err := s.openArchive(ref)
	if err != nil {
		return false
	}
	return f.Close() == nil
}

// readArchived reads a thread from the archive.
func (s *Store) readArchived(ref string) (thread.Thread, error) {
	f, size, err := s.openArchive(ref)
	if err != nil {
		return thread.Thread{}, thread.ErrNoThread
	}
	defer f.Close()
	t, err := readArchive(f, size, ref)
	if err != nil {
		return thread.Thread{}, errors.Join(errors.New(filepath.Join(s.dir, ArchiveName(ref))), err)
	}
	return inward(t), nil
}

// maxArchived bounds an attachment that is read out of an archive, in bytes.
const maxArchived = 256 << 20

type bytesFile struct{ *bytes.Reader }

func (bytesFile) Close() error { return nil }

// archivedBlob reads an attachment out of the archive.
func (s *Store) archivedBlob(ref, name string) (io.ReadSeekCloser, error) {
	f, size, err := s.openArchive(ref)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fsys, err := messeaf.OpenArchive(f, size)
	if err != nil {
		return nil, err
	}
	in, err := fsys.Open(path.Join(ref, name))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, maxArchived))
	return bytesFile{bytes.NewReader(data)}, errors.Join(err, in.Close())
}

// archivedSerial is the highest serial of a day in the archive, 0 if there is
// none.
func (s *Store) archivedSerial(day string) int {
	highest := 0
	entries, _ := fs.ReadDir(s.tree(), archiveFolder(day+"-")) // none, if it is not there
	for _, e := range entries {
		if d, serial, ok := messeaf.ParseRef(strings.TrimSuffix(e.Name(), messeaf.ZipExt)); ok && d == day {
			highest = max(highest, serial)
		}
	}
	return highest
}
