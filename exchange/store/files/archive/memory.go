package archive

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/messkit/messkit/exchange/store/files/printing"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Builder makes an archive in memory, for a store that has no folders. It has the same form as the
// archives of folders.
type Builder struct {
	data  bytes.Buffer
	zip   *zip.Writer
	raw   int
	added map[string]map[string]string // SHA-256 of the attachments, by ref and name
	old   *zip.Reader
	keep  []string // refs in old
}

// NewBuilder begins an archive.
func NewBuilder() *Builder {
	b := &Builder{added: map[string]map[string]string{}}
	b.zip = zip.NewWriter(&b.data)
	return b
}

// Size returns the size of what Add has added and Keep keeps, in bytes, before compression.
func (b *Builder) Size() int { return b.raw }

// Keep also takes threads of an earlier archive, unless Add adds them.
func (b *Builder) Keep(old []byte, refs []string) error {
	fsys, err := messeaf.OpenArchive(bytes.NewReader(old), int64(len(old)))
	if err != nil {
		return err
	}
	b.old, b.keep, b.raw = fsys.(*zip.Reader), refs, b.raw+len(old)
	return nil
}

// Add adds a thread with its attachments, by name. It returns an error for a thread that would read in
// another way from the archive. The archive does not have the thread then.
func (b *Builder) Add(t thread.Thread, attachments map[string][]byte) error {
	if !messeaf.ValidRef(t.Ref) {
		return fmt.Errorf("%q is no valid name of a thread", t.Ref)
	}
	files, err := printed(t, func(name string) bool { return attachments[name] != nil })
	if err != nil {
		return err
	}
	sums := map[string]string{}
	for name, data := range attachments {
		if !messeaf.ValidAttachment(name) || files[name] != nil {
			return fmt.Errorf("%q is no valid name of an attachment", name)
		}
		sum := sha256.Sum256(data)
		files[name], sums[name] = data, hex.EncodeToString(sum[:])
	}
	for _, name := range sortedNames(files) {
		out, err := b.zip.CreateHeader(&zip.FileHeader{Name: path.Join(t.Ref, name), Method: zip.Deflate, Modified: t.Updated})
		if err != nil {
			return err
		}
		if _, err := out.Write(files[name]); err != nil {
			return err
		}
		b.raw += len(files[name])
	}
	b.added[t.Ref] = sums
	return nil
}

func sortedNames(files map[string][]byte) (names []string) {
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// printed prints a thread as the files of its folder, without its attachments. It reads them again, and
// returns an error if that gives another thread.
func printed(t thread.Thread, isTaken func(string) bool) (map[string][]byte, error) {
	docs, err := printing.Documents(t.Messages, isTaken)
	if err != nil {
		return nil, err
	}
	text, err := messeaf.PrintEnvelope(t.MESSEAF())
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	var own []messeaf.File
	end := func() {
		name := messeaf.FileName(len(own), t.Ref)
		files[name] = text
		own = append(own, messeaf.File{Name: name, Size: int64(len(text)), Documents: messeaf.Split(text)})
	}
	for _, d := range docs {
		if !d.Fits(int64(len(text))) {
			end()
			text = d.First()
		} else {
			text = append(text, d.Text...)
		}
		for name, data := range d.Files {
			files[name] = data
		}
	}
	end()
	is, err := messeaf.Place{Ref: t.Ref, Path: t.Ref}.Parse(own)
	if err != nil {
		return nil, err
	}
	if is.Envelope.Ref != t.Ref || is.Envelope.Status != t.Status || len(is.Messages) != len(docs) {
		return nil, errors.New("its envelope reads in another way from an archive")
	}
	for i, d := range docs {
		if !sameMessage(is.Messages[i], d.Message) {
			return nil, fmt.Errorf("message %d reads in another way from an archive", i)
		}
	}
	return files, nil
}

// sameMessage compares messages without their refs, which follow from their order.
func sameMessage(a, b mess.Message) bool {
	a.Ref, b.Ref = "", ""
	x, err1 := a.JSON()
	y, err2 := b.JSON()
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}

// Finish ends the archive, reads all of it, and returns it.
func (b *Builder) Finish() ([]byte, error) {
	if b.old != nil {
		for _, f := range b.old.File {
			ref := refOf(f.Name)
			if b.added[ref] != nil || !slices.Contains(b.keep, ref) {
				continue
			}
			if err := b.zip.Copy(f); err != nil {
				return nil, err
			}
		}
	}
	if err := b.zip.Close(); err != nil {
		return nil, err
	}
	return b.data.Bytes(), b.check()
}

// check reads each file of the archive, and the attachments of the added threads.
func (b *Builder) check() error {
	a, err := Open(b.data.Bytes())
	if err != nil {
		return err
	}
	if err := checkFiles(a.in); err != nil {
		return err
	}
	for ref, sums := range b.added {
		for name, want := range sums {
			data, err := a.Attachment(ref, name)
			if err != nil {
				return err
			}
			if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
				return fmt.Errorf("%s: the attachment %s is damaged in the archive", ref, name)
			}
		}
	}
	return nil
}

// Memory is an archive in memory.
type Memory struct{ in opened }

// Open opens an archive in memory.
func Open(data []byte) (Memory, error) {
	fsys, err := messeaf.OpenArchive(bytes.NewReader(data), int64(len(data)))
	return Memory{opened{fsys, nil}}, err
}

// Read reads a thread, or returns thread.ErrNoThread.
func (m Memory) Read(ref string) (messeaf.Thread, error) {
	p, err := m.in.place(ref)
	if err != nil {
		return messeaf.Thread{}, err
	}
	return p.Read(m.in)
}

// Attachment reads an attachment of a thread. It returns thread.ErrNoThread or fs.ErrNotExist if there is
// none.
func (m Memory) Attachment(ref, name string) ([]byte, error) {
	if !messeaf.ValidAttachment(name) {
		return nil, fs.ErrNotExist
	}
	p, err := m.in.place(ref)
	if err != nil {
		return nil, err
	}
	f, err := m.in.Open(path.Join(p.Dir(), name))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxArchived))
	return data, errors.Join(err, f.Close())
}
