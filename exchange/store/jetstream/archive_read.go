package jetstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
	"weak"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/exchange/store/files/archive"
	"github.com/messkit/messkit/exchange/store/files/external"
	"github.com/messkit/messkit/exchange/store/files/logformat"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess/messeaf"
)

// archiveKind is the kind of the document with the index of an archive.
const archiveKind = "archive"

// archiveIndex says which objects have the threads of an archive.
type archiveIndex struct {
	Parts []archivePart `json:"parts"`
}

// archivePart is an object with some threads of an archive.
type archivePart struct {
	Sum     string   `json:"sum"`  // SHA-256 of the object, which is its name
	Size    int      `json:"size"` // bytes
	Threads []string `json:"threads"`
}

// parseIndex decodes an index.
func parseIndex(doc []byte) (x archiveIndex, err error) {
	if err := json.Unmarshal(doc, &x); err != nil {
		return x, err
	}
	for _, p := range x.Parts {
		if !isSum(p.Sum) || p.Size < 0 {
			return archiveIndex{}, fmt.Errorf("%.80q is no name of a part", p.Sum)
		}
	}
	return x, nil
}

// find returns the number of the part that has a thread; -1 for none.
func (x archiveIndex) find(ref string) int {
	return slices.IndexFunc(x.Parts, func(p archivePart) bool { return slices.Contains(p.Threads, ref) })
}

// with returns the index with a new part, which also has the threads of the part with the number
// replaces; -1 for none.
func (x archiveIndex) with(one archivePart, replaces int) archiveIndex {
	added := map[string]bool{}
	for _, ref := range one.Threads {
		added[ref] = true
	}
	var all archiveIndex
	for i, p := range x.Parts {
		p.Threads = slices.DeleteFunc(slices.Clone(p.Threads), func(ref string) bool { return added[ref] })
		switch {
		case i == replaces:
			one.Threads = append(p.Threads, one.Threads...)
		case len(p.Threads) > 0:
			all.Parts = append(all.Parts, p)
		}
	}
	all.Parts = append(all.Parts, one)
	return all
}

func (s *Store) archiveSubject(name string) string { return s.subject("a." + hash(name)) }

// readIndex reads the index of an archive, and its revision; "" for none.
func (s *Store) readIndex(ctx context.Context, name string) (archiveIndex, thread.Rev, error) {
	var x archiveIndex
	seq, err := s.lastReadable(ctx, s.archiveSubject(name), func(r logformat.Record) error {
		is, err := indexOf(r)
		if err == nil {
			x = is
		}
		return err
	})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return archiveIndex{}, "", nil
	}
	if err != nil {
		return archiveIndex{}, "", fmt.Errorf("the index of the archive %s: %w", name, err)
	}
	return x, revOf(seq), nil
}

func indexOf(r logformat.Record) (archiveIndex, error) {
	if r.Kind != archiveKind {
		return archiveIndex{}, errOtherThread
	}
	return parseIndex(r.Doc)
}

// archivedRev is the revision of a thread in an archive. No step follows it.
const archivedRev thread.Rev = "archived"

// readArchived reads a thread from its archive, or returns thread.ErrNoThread.
func (s *Store) readArchived(ctx context.Context, ref string) (t thread.Thread, err error) {
	err = s.inArchive(ctx, ref, func(p archivePart) error {
		t, _, err = s.readPart(ctx, p, ref)
		return err
	})
	return t, err
}

// inArchive calls fn with the part that has a thread. While it reads, another exchange can put the threads
// of the part into a new one.
func (s *Store) inArchive(ctx context.Context, ref string, fn func(archivePart) error) error {
	if !messeaf.ValidRef(ref) {
		return thread.ErrNoThread
	}
	for n := 0; ; n++ {
		x, _, err := s.readIndex(ctx, archive.Of(ref))
		if err != nil {
			return err
		}
		at := x.find(ref)
		if at < 0 {
			return thread.ErrNoThread
		}
		if err := fn(x.Parts[at]); !errors.Is(err, errNoPart) || n == 2 {
			return err
		}
	}
}

// errNoPart means that a part is not in the object store.
var errNoPart = errors.New("the object store does not have a part of the archive")

// loadedPart is a part in memory.
type loadedPart struct {
	sum string
	in  archive.Memory
}

// part returns a part. The store keeps the last one while there is memory.
func (s *Store) part(ctx context.Context, p archivePart) (*loadedPart, error) {
	s.mu.Lock()
	last := s.lastPart.Value()
	s.mu.Unlock()
	if last != nil && last.sum == p.Sum {
		return last, nil
	}
	data, err := s.getBlob(ctx, p.Sum)
	if errors.Is(err, thread.ErrNoBlob) {
		return nil, fmt.Errorf("%w: %s", errNoPart, p.Sum)
	}
	if err != nil {
		return nil, err
	}
	in, err := archive.Open(data)
	if err != nil {
		return nil, fmt.Errorf("the archive %s: %w", p.Sum, err)
	}
	one := &loadedPart{p.Sum, in}
	s.mu.Lock()
	s.lastPart = weak.Make(one)
	s.mu.Unlock()
	return one, nil
}

// readPart reads a thread from a part of its archive.
func (s *Store) readPart(ctx context.Context, p archivePart, ref string) (thread.Thread, *loadedPart, error) {
	in, err := s.part(ctx, p)
	if err != nil {
		return thread.Thread{}, nil, err
	}
	t, err := in.in.Read(ref)
	if err != nil {
		return thread.Thread{}, nil, fmt.Errorf("%s in the archive %s: %w", ref, p.Sum, err)
	}
	return external.Thread(t), in, nil
}

// Attachment opens an attachment of an archived thread. The bytes of other threads have their SHA-256 as
// name, and Blob opens them.
func (s *Store) Attachment(ctx context.Context, ref, name string) (f io.ReadSeekCloser, err error) {
	err = s.inArchive(ctx, ref, func(p archivePart) error {
		in, err := s.part(ctx, p)
		if err != nil {
			return err
		}
		data, err := in.in.Attachment(ref, name)
		if errors.Is(err, fs.ErrNotExist) {
			return thread.ErrNoBlob
		}
		f = closer{bytes.NewReader(data)}
		return err
	})
	if errors.Is(err, thread.ErrNoThread) {
		err = thread.ErrNoBlob
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Archived returns the refs of the threads in archives. If an exchange was killed while it archived, the
// stream may have some of them too.
func (s *Store) Archived(ctx context.Context) (refs []string, err error) {
	names, hidden := map[string]string{}, map[string]uint64{} // names and unreadable indexes of archives, by subject
	for seq := uint64(1); ; seq++ {
		m, err := s.getMsg(ctx, seq, s.subject("a.>"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		seq = m.Sequence
		r, err := s.record(ctx, m.Header, m.Data)
		if err != nil && !isUnreadable(err) {
			return nil, err
		}
		if s.archiveSubject(r.ID) == m.Subject {
			names[m.Subject] = r.ID
		} else if replaces(m) {
			hidden[m.Subject] = seq
		}
	}
	for subject, seq := range hidden {
		if names[subject] == "" {
			return nil, fmt.Errorf("the index of an archive, sequence %d, is unreadable", seq)
		}
	}
	for _, name := range names {
		x, _, err := s.readIndex(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, p := range x.Parts {
			refs = append(refs, p.Threads...)
		}
	}
	return refs, nil
}

// isFree reports whether the archive lacks a thread. It asks only for refs that are so old that
// their last message in the stream may have expired.
func (s *Store) isFree(ctx context.Context, ref string) (bool, error) {
	day, _, ok := messeaf.ParseRef(ref)
	if at, err := time.Parse(time.DateOnly, day); ok && err == nil && time.Since(at) < s.goneFor/2 {
		return true, nil
	}
	x, _, err := s.readIndex(ctx, archive.Of(ref))
	return x.find(ref) < 0, err
}

// goneRecord reports whether a record says that a thread has gone into an archive.
func goneRecord(r logformat.Record) bool { return r.Gone != "" && !r.HasEnvelope() }
