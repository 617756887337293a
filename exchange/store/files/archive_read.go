package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/store/files/tree"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess/messeaf"
)

// archive is an open archive of threads.
type archive struct {
	fs.FS
	file *os.File // nil: another one closes it
}

// Close closes the archive.
func (a archive) Close() error { return a.file.Close() }

// openArchive opens an archive by its path.
func openArchive(t tree.Tree, name string) (archive, error) {
	f, err := t.Regular(name)
	if err != nil {
		return archive{}, err
	}
	fsys, err := archiveIn(f)
	if err != nil {
		return archive{}, errors.Join(fmt.Errorf("%s: %w", filepath.Join(t.Name(), name), err), f.Close())
	}
	return archive{fsys, f}, nil
}

// archiveIn returns the files of the archive that an open file contains.
func archiveIn(f *os.File) (fs.FS, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return messeaf.OpenArchive(f, info.Size())
}

// place returns where a thread is in the archive.
func (a archive) place(ref string) (messeaf.Place, error) {
	if info, err := fs.Stat(a, ref); err == nil && info.IsDir() {
		return messeaf.Place{Ref: ref, Path: ref}, nil
	}
	for _, ext := range []string{messeaf.Ext, messeaf.ShortExt} {
		if info, err := fs.Stat(a, ref+ext); err == nil && info.Mode().IsRegular() {
			return messeaf.Place{Ref: ref, Path: ref + ext, Flat: true}, nil
		}
	}
	places, err := messeaf.List(a) // another program has another layout
	if i := slices.IndexFunc(places, func(p messeaf.Place) bool { return p.Ref == ref }); i >= 0 {
		return places[i], nil
	}
	return messeaf.Place{}, errors.Join(err, thread.ErrNoThread)
}

// refInArchive returns the thread of a file in an archive of several.
func refInArchive(name string) string {
	ref, _, inFolder := strings.Cut(name, "/")
	if !inFolder {
		ref = strings.TrimSuffix(strings.TrimSuffix(name, messeaf.Ext), messeaf.ShortExt)
	}
	return ref
}

// inArchive calls fn with the archive that has a thread, and with the place of the thread
// in it. It returns fs.ErrNotExist or thread.ErrNoThread if there is none.
func (s *Store) inArchive(ref string, fn func(archive, messeaf.Place) error) error {
	name, err := FindArchive(s.root, ref)
	if err != nil {
		return err
	}
	a, err := openArchive(s.tree(), name)
	if err != nil {
		return err
	}
	p, err := a.place(ref)
	if err == nil {
		err = fn(a, p)
	}
	return errors.Join(err, a.Close())
}

// archived reports whether an archive has a thread. It also returns true if the store cannot
// read the archive that would have it.
func (s *Store) archived(ref string) bool {
	_, err := FindArchive(s.root, ref)
	return !errors.Is(err, fs.ErrNotExist)
}

// readArchived reads a thread from its archive.
func (s *Store) readArchived(ref string) (t thread.Thread, err error) {
	err = s.inArchive(ref, func(a archive, p messeaf.Place) error {
		in, err := p.Read(a)
		t = fromFile(in)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = thread.ErrNoThread
	}
	if err != nil {
		return thread.Thread{}, err
	}
	return t, nil
}

// maxArchived is the largest attachment that the store reads out of an archive, in bytes.
const maxArchived = 256 << 20

type bytesFile struct{ *bytes.Reader }

func (bytesFile) Close() error { return nil }

// archivedBlob reads an attachment out of the archive of a thread.
func (s *Store) archivedBlob(ref, name string) (f io.ReadSeekCloser, err error) {
	err = s.inArchive(ref, func(a archive, p messeaf.Place) error {
		in, err := a.Open(path.Join(p.Dir(), name))
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(in, maxArchived))
		f = bytesFile{bytes.NewReader(data)}
		return errors.Join(err, in.Close())
	})
	return f, err
}

// archivedSerial returns the highest serial of a day among the archived threads, or 0.
func (s *Store) archivedSerial(day string) int {
	highest := 0
	count := func(name string) {
		if d, serial, ok := messeaf.ParseRef(name); ok && d == day {
			highest = max(highest, serial)
		}
	}
	month := day[:len("2006-01")]
	alone, _ := s.tree().ReadDir(path.Join("archive", month)) // none, if it is not there
	for _, e := range alone {
		count(strings.TrimSuffix(e.Name(), messeaf.ZipExt))
	}
	archives, _ := s.tree().ReadDir("archive")
	for _, e := range archives {
		name := strings.TrimSuffix(e.Name(), messeaf.ZipExt)
		if name != month && !strings.HasPrefix(name, day) {
			continue
		}
		if a, err := openArchive(s.tree(), path.Join("archive", e.Name())); err == nil {
			threads, _ := fs.ReadDir(a, ".")
			for _, t := range threads {
				count(refInArchive(t.Name()))
			}
			_ = a.Close() // it was read
		}
	}
	return highest
}
