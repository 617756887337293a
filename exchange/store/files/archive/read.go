package archive

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

// opened is an open archive of threads.
type opened struct {
	fs.FS
	file *os.File // nil: another one closes it
}

// Close closes the archive.
func (a opened) Close() error { return a.file.Close() }

// open opens an archive by its path.
func open(t tree.Tree, name string) (opened, error) {
	f, err := t.Regular(name)
	if err != nil {
		return opened{}, err
	}
	fsys, err := filesIn(f)
	if err != nil {
		return opened{}, errors.Join(fmt.Errorf("%s: %w", filepath.Join(t.Name(), name), err), f.Close())
	}
	return opened{fsys, f}, nil
}

// filesIn returns the files of the archive that an open file contains.
func filesIn(f *os.File) (fs.FS, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return messeaf.OpenArchive(f, info.Size())
}

// place returns where a thread is in the archive.
func (a opened) place(ref string) (messeaf.Place, error) {
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

// refOf returns the thread of a file in an archive of several.
func refOf(name string) string {
	ref, _, inFolder := strings.Cut(name, "/")
	if !inFolder {
		ref = strings.TrimSuffix(strings.TrimSuffix(name, messeaf.Ext), messeaf.ShortExt)
	}
	return ref
}

// within calls fn with the archive that has a thread, and with the place of the thread in it. It
// returns fs.ErrNotExist or thread.ErrNoThread if there is none.
func within(root *os.Root, ref string, fn func(opened, messeaf.Place) error) error {
	name, err := Find(root, ref)
	if err != nil {
		return err
	}
	a, err := open(tree.Tree{Root: root}, name)
	if err != nil {
		return err
	}
	p, err := a.place(ref)
	if err == nil {
		err = fn(a, p)
	}
	return errors.Join(err, a.Close())
}

// Read reads a thread from its archive. It returns fs.ErrNotExist or thread.ErrNoThread if there
// is none.
func Read(root *os.Root, ref string) (t messeaf.Thread, err error) {
	err = within(root, ref, func(a opened, p messeaf.Place) error {
		t, err = p.Read(a)
		return err
	})
	return t, err
}

// maxArchived is the largest attachment that Attachment reads out of an archive, in bytes.
const maxArchived = 256 << 20

type bytesFile struct{ *bytes.Reader }

func (bytesFile) Close() error { return nil }

// Attachment reads an attachment out of the archive of a thread.
func Attachment(root *os.Root, ref, name string) (f io.ReadSeekCloser, err error) {
	err = within(root, ref, func(a opened, p messeaf.Place) error {
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

// Refs returns the refs of all archived threads, in any order. An archive that it cannot read is an error.
func Refs(root *os.Root) (refs []string, err error) {
	t := tree.Tree{Root: root}
	entries, err := t.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name := path.Join(folder, e.Name())
		if e.IsDir() {
			alone, wrong := t.ReadDir(name)
			for _, one := range alone {
				if ref, ok := strings.CutSuffix(one.Name(), messeaf.ZipExt); ok && messeaf.ValidRef(ref) {
					refs = append(refs, ref)
				}
			}
			err = errors.Join(err, wrong)
		} else if strings.HasSuffix(name, messeaf.ZipExt) {
			more, wrong := refsIn(t, name)
			refs, err = append(refs, more...), errors.Join(err, wrong)
		}
	}
	return refs, err
}

// refsIn returns the refs of the threads in one archive.
func refsIn(t tree.Tree, name string) (refs []string, err error) {
	a, err := open(t, name)
	if err != nil {
		return nil, err
	}
	places, err := messeaf.List(a)
	for _, p := range places {
		refs = append(refs, p.Ref)
	}
	return refs, errors.Join(err, a.Close())
}

// HighestSerial returns the highest serial of a day among the archived threads, or 0.
func HighestSerial(root *os.Root, day string) int {
	t := tree.Tree{Root: root}
	highest := 0
	count := func(name string) {
		if d, serial, ok := messeaf.ParseRef(name); ok && d == day {
			highest = max(highest, serial)
		}
	}
	month := day[:len("2006-01")]
	alone, _ := t.ReadDir(path.Join(folder, month)) // none, if it is not there
	for _, e := range alone {
		count(strings.TrimSuffix(e.Name(), messeaf.ZipExt))
	}
	archives, _ := t.ReadDir(folder)
	for _, e := range archives {
		name := strings.TrimSuffix(e.Name(), messeaf.ZipExt)
		if name != month && !strings.HasPrefix(name, day) {
			continue
		}
		if a, err := open(t, path.Join(folder, e.Name())); err == nil {
			threads, _ := fs.ReadDir(a, ".")
			for _, one := range threads {
				count(refOf(one.Name()))
			}
			_ = a.Close() // it was read
		}
	}
	return highest
}
