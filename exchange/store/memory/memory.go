// Package memory stores threads in memory. They are lost when the process ends.
package memory

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/messkit/messkit/exchange/store/tail"
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Store is a thread.Store in memory.
type Store struct {
	tail tail.Tail

	mu      sync.RWMutex
	threads map[string]*kept
	keys    map[thread.Key]string // to ref
	docs    map[docID]*document
	blobs   map[string][]byte // by SHA-256
	serials map[string]int    // by day
	changed *list.List        // of *kept and *document, oldest change first
	recent  []*kept           // threads with recent messages, in the order in which they become text
	seq     uint64            // of the last change
}

// kept is a thread. Its messages are text unless it is one of the last that changed: most threads
// wait or have ended, and the garbage collector does not scan text.
type kept struct {
	changed
	envelope thread.Packed
	text     string         // the first messages, as lines of JSON
	messages []mess.Message // the others; nil for none
}

// maxRecent is the number of threads whose last messages are not text.
const maxRecent = 256

type docID struct{ kind, id string }

type document struct {
	changed
	docID
	doc []byte
}

// changed has the number of the last change of a thread or document.
type changed struct {
	seq   uint64
	place *list.Element
}

var (
	_ thread.Store          = (*Store)(nil)
	_ thread.EnvelopeReader = (*Store)(nil)
	_ thread.DocumentReader = (*Store)(nil)
)

// New makes an empty store.
func New() *Store {
	return &Store{
		threads: map[string]*kept{}, keys: map[thread.Key]string{}, docs: map[docID]*document{},
		blobs: map[string][]byte{}, serials: map[string]int{}, changed: list.New(),
	}
}

// Append adds one step to a thread.
func (m *Store) Append(_ context.Context, s thread.Step) (thread.Rev, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ref := s.Envelope.Ref
	k := m.threads[ref]
	switch {
	case k == nil && s.After != "":
		return "", thread.ErrNoThread
	case k != nil && k.rev() != s.After:
		return "", thread.ErrStale
	}
	for _, key := range s.Keys {
		if taken, ok := m.keys[key]; ok && taken != ref {
			return "", &thread.TakenError{Key: key, Ref: taken}
		}
	}
	for _, b := range s.Binds {
		if _, ok := m.blobs[b.SHA256]; !ok {
			return "", thread.ErrNoBlob
		}
	}
	if k == nil {
		k = &kept{}
		k.place = m.changed.PushBack(k)
		m.threads[ref] = k
	}
	for _, key := range s.Keys {
		m.keys[key] = ref
	}
	if day, serial, ok := messeaf.ParseRef(ref); ok {
		m.serials[day] = max(m.serials[day], serial)
	}
	return m.store(k, s), nil
}

// store stores a valid step. The caller holds m.mu.
func (m *Store) store(k *kept, s thread.Step) thread.Rev {
	k.envelope = thread.Pack(&s.Envelope)
	if k.messages == nil {
		m.recent = append(m.recent, k)
	}
	k.messages = append(slices.Clip(k.messages), s.Messages...)
	if len(m.recent) > maxRecent {
		m.recent[0].pack()
		m.recent = slices.Delete(m.recent, 0, 1)
	}
	m.touch(&k.changed)
	m.tail.Add(k.seq, thread.Change{Envelope: s.Envelope, Rev: k.rev(), Messages: s.Messages})
	return k.rev()
}

// rev returns the revision of a thread or document: the number of its last change.
func (c *changed) rev() thread.Rev { return thread.Rev(strconv.FormatUint(c.seq, 10)) }

// touch makes a thread or document the newest change. The caller holds m.mu.
func (m *Store) touch(c *changed) {
	m.seq++
	c.seq = m.seq
	m.changed.MoveToBack(c.place)
}

// pack converts the recent messages to text.
func (k *kept) pack() {
	text := []byte(k.text)
	for _, one := range k.messages {
		line, _ := one.JSON() // never fails
		text = append(append(text, line...), '\n')
	}
	k.text, k.messages = string(text), nil
}

// read returns the thread.
func (k *kept) read() (t thread.Thread, err error) {
	t.Envelope = k.envelope.Envelope()
	for line := range strings.Lines(k.text) {
		var one mess.Message
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			return t, fmt.Errorf("%s: message %d: %w", t.Ref, len(t.Messages), err)
		}
		t.Messages = append(t.Messages, one)
	}
	t.Messages = append(t.Messages, k.messages...)
	return t, nil
}

// find returns a copy of a thread.
func (m *Store) find(ref string) (kept, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	k := m.threads[ref]
	if k == nil {
		return kept{}, thread.ErrNoThread
	}
	return *k, nil
}

// Read reads a thread.
func (m *Store) Read(_ context.Context, ref string) (thread.Thread, thread.Rev, error) {
	k, err := m.find(ref)
	if err != nil {
		return thread.Thread{}, "", err
	}
	t, err := k.read()
	return t, k.rev(), err
}

// Envelope reads the envelope of a thread.
func (m *Store) Envelope(_ context.Context, ref string) (thread.Envelope, error) {
	k, err := m.find(ref)
	if err != nil {
		return thread.Envelope{}, err
	}
	return k.envelope.Envelope(), nil
}

// Lookup returns the thread that has claimed a key.
func (m *Store) Lookup(_ context.Context, k thread.Key) (string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	ref, ok := m.keys[k]
	if !ok {
		return "", thread.ErrNoThread
	}
	return ref, nil
}

// Feed calls fn with the changes after a position until ctx ends or fn returns an error.
func (m *Store) Feed(ctx context.Context, after thread.Pos, fn func(thread.Change) error) error {
	return m.tail.Follow(ctx, m, after, fn)
}

// Since calls fn with the changes after a number, in the current state of their threads and
// documents.
func (m *Store) Since(seq uint64, fn func(tail.Change) error) error {
	m.mu.RLock()
	var all []any
	for e := m.changed.Back(); e != nil && seqOf(e.Value) > seq; e = e.Prev() {
		switch one := e.Value.(type) {
		case *kept:
			all = append(all, *one)
		case *document:
			all = append(all, *one)
		}
	}
	m.mu.RUnlock()
	for _, one := range slices.Backward(all) {
		var c tail.Change
		switch one := one.(type) {
		case kept:
			c = tail.Change{Seq: one.seq, Change: thread.Change{Envelope: one.envelope.Envelope(), Rev: one.rev()}}
		case document:
			c = one.change()
		}
		if err := fn(c); err != nil {
			return err
		}
	}
	return nil
}

func seqOf(one any) uint64 {
	if k, ok := one.(*kept); ok {
		return k.seq
	}
	return one.(*document).seq
}

func (d document) change() tail.Change {
	c := thread.Change{Kind: d.kind, ID: d.id, Doc: d.doc}
	if d.doc != nil {
		c.Rev = d.rev()
	}
	return tail.Change{Seq: d.seq, Change: c}
}

// Serials returns the highest serials by day.
func (m *Store) Serials() map[string]int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.serials)
}

// Put stores or removes a small document.
func (m *Store) Put(_ context.Context, kind, id string, doc []byte, after thread.Rev) (thread.Rev, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := docID{kind, id}
	d := m.docs[name]
	switch {
	case d == nil && after != "", d != nil && d.change().Rev != after:
		return "", thread.ErrStale
	case d == nil:
		d = &document{docID: name}
		d.place = m.changed.PushBack(d)
		m.docs[name] = d
	}
	d.doc = bytes.Clone(doc)
	m.touch(&d.changed)
	if doc == nil {
		delete(m.docs, name)
		m.changed.Remove(d.place)
	}
	c := d.change()
	m.tail.Add(c.Seq, c.Change)
	return c.Rev, nil
}

// Document returns a document, or nil. The caller must not change it.
func (m *Store) Document(_ context.Context, kind, id string) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if d := m.docs[docID{kind, id}]; d != nil {
		return d.doc, nil
	}
	return nil, nil
}

// Stage keeps bytes for a later step.
func (m *Store) Stage(_ context.Context, data io.Reader, max int64) (thread.Staged, error) {
	b, err := io.ReadAll(io.LimitReader(data, max+1))
	if err != nil {
		return thread.Staged{}, err
	}
	if int64(len(b)) > max {
		return thread.Staged{}, thread.ErrTooLarge
	}
	sum := sha256.Sum256(b)
	s := thread.Staged{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(b))}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.blobs[s.SHA256] = b
	return s, nil
}

// Blob opens staged bytes.
func (m *Store) Blob(_ context.Context, sum string) (io.ReadSeekCloser, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	b, ok := m.blobs[sum]
	if !ok {
		return nil, thread.ErrNoBlob
	}
	return closer{bytes.NewReader(b)}, nil
}

type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }

// Close does nothing.
func (m *Store) Close() error { return nil }
