package exchange

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
	"sync"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Memory is a Store that lives as long as its process.
type Memory struct {
	mu      sync.RWMutex
	threads map[string]*kept
	clients map[clientID]string // to ref
	serials map[string]int      // by day
	changed *list.List          // of *kept, newest change first
	seq     uint64              // of the last change
	docs    map[string]map[string][]byte
}

type kept struct {
	Thread
	ended []byte // its messages, once it has ended, as lines of JSON; then Messages is nil
	place *list.Element
	seq   uint64            // of its last change
	blobs map[string][]byte // staged, by SHA-256
	names map[string]string // bound, name to SHA-256
}

type clientID struct{ requestor, id string }

var _ Store = (*Memory)(nil)

// NewMemory makes an empty store.
func NewMemory() *Memory {
	return &Memory{
		threads: map[string]*kept{}, clients: map[clientID]string{}, serials: map[string]int{},
		changed: list.New(), docs: map[string]map[string][]byte{},
	}
}

// Create stores a new thread.
func (m *Memory) Create(_ context.Context, c Create) (Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := clientID{c.Requestor, c.ClientID}
	if ref, ok := m.clients[id]; ok && c.ClientID != "" {
		return Thread{}, &ExistsError{Ref: ref}
	}
	m.serials[c.Day]++
	t := c.Build(messeaf.Ref(c.Day, m.serials[c.Day], c.Token))
	k := &kept{Thread: t}
	k.place = m.changed.PushFront(k)
	m.touch(k)
	m.threads[t.Ref] = k
	if c.ClientID != "" {
		m.clients[id] = t.Ref
	}
	return t, nil
}

// touch moves k to the front of what has changed.
func (m *Memory) touch(k *kept) {
	m.seq++
	k.seq = m.seq
	m.changed.MoveToFront(k.place)
}

// Append stores one step.
func (m *Memory) Append(_ context.Context, s Step) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.threads[s.Envelope.Ref]
	if !ok {
		return ErrNoThread
	}
	if k.Ver+1 != s.Envelope.Ver {
		return ErrStale
	}
	for _, b := range s.Binds {
		if _, ok := k.blobs[b.SHA256]; !ok {
			return ErrNoBlob
		}
	}
	for _, b := range s.Binds {
		if k.names == nil {
			k.names = map[string]string{}
		}
		k.names[b.Name] = b.SHA256
	}
	k.Envelope = s.Envelope
	if k.ended == nil {
		k.Messages = append(k.Messages, s.Messages...)
	} else {
		k.end(s.Messages)
	}
	if s.Envelope.Status.Terminal() && k.ended == nil {
		k.end(k.Messages)
		k.Messages = nil
	}
	m.touch(k)
	return nil
}

// end keeps messages of a thread that has ended as text. Most threads have, few of
// them are read again, and the garbage collector need not look at text: else each
// round of it takes the longer the more has ever been done.
func (k *kept) end(messages []mess.Message) {
	lines := [][]byte{k.ended}
	for _, m := range messages {
		line, _ := m.JSON() // never fails
		lines = append(lines, line, []byte("\n"))
	}
	k.ended = slices.Concat(lines...)
}

// Thread reads a thread.
func (m *Memory) Thread(_ context.Context, ref string) (Thread, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	k, ok := m.threads[ref]
	if !ok {
		return Thread{}, ErrNoThread
	}
	t := Thread{Envelope: k.Envelope, Messages: slices.Clip(k.Messages)}
	for line := range bytes.Lines(k.ended) {
		var one mess.Message
		if err := json.Unmarshal(line, &one); err != nil {
			return Thread{}, fmt.Errorf("%s: message %d: %w", ref, len(t.Messages), err)
		}
		t.Messages = append(t.Messages, one)
	}
	return t, nil
}

// Find returns the thread that requestor made with the client id.
func (m *Memory) Find(_ context.Context, requestor, id string) (string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	ref, ok := m.clients[clientID{requestor, id}]
	if !ok {
		return "", ErrNoThread
	}
	return ref, nil
}

// List reads envelopes, newest change first.
func (m *Memory) List(_ context.Context, f Filter) (Page, error) {
	from, err := f.From()
	if err != nil {
		return Page{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var page Page
	var last uint64
	for e := m.changed.Front(); e != nil; e = e.Next() {
		k := e.Value.(*kept)
		if k.seq >= from || !f.Match(k.Envelope) {
			continue
		}
		if len(page.Threads) == f.Max() {
			page.Cursor = strconv.FormatUint(last, 10)
			break
		}
		page.Threads = append(page.Threads, k.Envelope)
		last = k.seq
	}
	return page, nil
}

// From is the change from which on a page begins, by its number: one beyond the
// first that is shown.
func (f Filter) From() (uint64, error) {
	if f.Cursor == "" {
		return 1<<64 - 1, nil
	}
	n, err := strconv.ParseUint(f.Cursor, 10, 64)
	if err != nil {
		return 0, mess.Refuse(mess.Invalid, "cursor: %q was not given by this exchange; leave it out to start again", f.Cursor)
	}
	return n, nil
}

// Max is how many threads a page holds.
func (f Filter) Max() int {
	if f.Limit <= 0 {
		return 50
	}
	return min(f.Limit, 1000)
}

// Match reports whether the filter selects e. It looks neither at Limit nor at
// Cursor.
func (f Filter) Match(e Envelope) bool {
	return (len(f.Status) == 0 || slices.Contains(f.Status, e.Status)) &&
		(f.Executor == "" || f.Executor == e.Executor) &&
		(f.Requestor == "" || f.Requestor == e.Requestor) &&
		(f.Party == "" || e.Party(f.Party)) &&
		!e.Updated.Before(f.Since)
}

// Open calls fn with each thread's envelope that has no terminal status.
func (m *Memory) Open(_ context.Context, fn func(Envelope) error) error {
	m.mu.RLock()
	var open []Envelope
	for _, k := range m.threads {
		if !k.Status.Terminal() {
			open = append(open, k.Envelope)
		}
	}
	m.mu.RUnlock()
	for _, e := range open {
		if err := fn(e); err != nil {
			return err
		}
	}
	return nil
}

// Run has nothing to tell: nobody else can change what is in this memory.
func (m *Memory) Run(ctx context.Context, _ Listener) error {
	<-ctx.Done()
	return nil
}

// Stage keeps bytes for a later step.
func (m *Memory) Stage(_ context.Context, ref string, data io.Reader, max int64) (Staged, error) {
	b, err := io.ReadAll(io.LimitReader(data, max+1))
	if err != nil {
		return Staged{}, err
	}
	if int64(len(b)) > max {
		return Staged{}, ErrTooLarge
	}
	sum := sha256.Sum256(b)
	s := Staged{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(b))}
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.threads[ref]
	if !ok {
		return Staged{}, ErrNoThread
	}
	if k.blobs == nil {
		k.blobs = map[string][]byte{}
	}
	k.blobs[s.SHA256] = b
	return s, nil
}

// Blob opens a bound attachment.
func (m *Memory) Blob(_ context.Context, ref, name string) (io.ReadSeekCloser, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	k, ok := m.threads[ref]
	if !ok {
		return nil, ErrNoThread
	}
	sum, ok := k.names[name]
	if !ok {
		return nil, ErrNoBlob
	}
	return closer{bytes.NewReader(k.blobs[sum])}, nil
}

type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }

// Put stores or removes a small document.
func (m *Memory) Put(_ context.Context, kind, id string, doc []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if doc == nil {
		delete(m.docs[kind], id)
		return nil
	}
	if m.docs[kind] == nil {
		m.docs[kind] = map[string][]byte{}
	}
	m.docs[kind][id] = bytes.Clone(doc)
	return nil
}

// Docs reads all documents of a kind.
func (m *Memory) Docs(_ context.Context, kind string) (map[string][]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.docs[kind]), nil
}

// Close does nothing.
func (m *Memory) Close() error { return nil }
