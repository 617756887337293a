// Package memory has a store that lives as long as its process.
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
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Store is a thread.Store that lives as long as its process.
type Store struct {
	mu      sync.RWMutex
	threads map[string]*kept
	clients map[clientID]string // to ref
	serials map[string]int      // by day
	changed *list.List          // of *kept, newest change first
	seq     uint64              // of the last change
	newest  []*kept             // that have ended last; some may stand there twice
	docs    map[string]map[string][]byte
}

// kept is a thread. Once it has ended its messages are kept as text, and some
// time later its envelope too. Most threads have ended, few of them are read
// again, and the garbage collector need not look at text: else each round of it
// takes the longer the more has ever been done.
type kept struct {
	envelope *thread.Envelope // nil once it is text
	messages []mess.Message
	ver      uint64

	ended   bool
	lines   []byte // the messages of one that has ended, as lines of JSON
	text    []byte // its envelope, as JSON; then outline is what a filter looks at
	outline outline

	place *list.Element
	seq   uint64            // of its last change
	blobs map[string][]byte // staged, by SHA-256
	names map[string]string // bound, name to SHA-256
}

// outline is of an envelope what a filter looks at.
type outline struct {
	requestor, executor string
	status              mess.Code
	updated             time.Time
	held                []string // who has held it, but for the executor
}

// newestEnded is how many of the threads that have ended last have envelopes that
// are not text yet: those are on the first pages of a list.
const newestEnded = 256

type clientID struct{ requestor, id string }

var _ thread.Store = (*Store)(nil)

// New makes an empty store.
func New() *Store {
	return &Store{
		threads: map[string]*kept{}, clients: map[clientID]string{}, serials: map[string]int{},
		changed: list.New(), docs: map[string]map[string][]byte{},
	}
}

// Create stores a new thread.
func (m *Store) Create(_ context.Context, c thread.Create) (thread.Thread, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := clientID{c.Requestor, c.ClientID}
	if ref, ok := m.clients[id]; ok && c.ClientID != "" {
		return thread.Thread{}, &thread.ExistsError{Ref: ref}
	}
	m.serials[c.Day]++
	t := c.Build(messeaf.Ref(c.Day, m.serials[c.Day], c.Token))
	k := &kept{envelope: new(t.Envelope), messages: t.Messages, ver: t.Ver}
	for _, f := range c.Files {
		k.bind([]thread.Bind{{Name: f.Name, SHA256: k.keep(f.Data).SHA256}})
	}
	k.place = m.changed.PushFront(k)
	m.touch(k)
	m.threads[t.Ref] = k
	if c.ClientID != "" {
		m.clients[id] = t.Ref
	}
	return t, nil
}

// touch moves k to the front of what has changed.
func (m *Store) touch(k *kept) {
	m.seq++
	k.seq = m.seq
	m.changed.MoveToFront(k.place)
}

// Append stores one step.
func (m *Store) Append(_ context.Context, s thread.Step) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.threads[s.Envelope.Ref]
	if !ok {
		return thread.ErrNoThread
	}
	if k.ver+1 != s.Envelope.Ver {
		return thread.ErrStale
	}
	for _, b := range s.Binds {
		if _, ok := k.blobs[b.SHA256]; !ok {
			return thread.ErrNoBlob
		}
	}
	k.bind(s.Binds)
	k.ver, k.envelope, k.text = s.Envelope.Ver, new(s.Envelope), nil
	k.messages = append(k.messages, s.Messages...)
	if k.ended = k.ended || s.Envelope.Status.Terminal(); k.ended {
		m.end(k)
	}
	m.touch(k)
	return nil
}

// keep keeps the bytes of a file.
func (k *kept) keep(data []byte) thread.Staged {
	sum := sha256.Sum256(data)
	s := thread.Staged{SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data))}
	if k.blobs == nil {
		k.blobs = map[string][]byte{}
	}
	k.blobs[s.SHA256] = data
	return s
}

// bind gives kept files their names.
func (k *kept) bind(binds []thread.Bind) {
	for _, b := range binds {
		if k.names == nil {
			k.names = map[string]string{}
		}
		k.names[b.Name] = b.SHA256
	}
}

// end makes text of the messages of a thread that has ended, and of the envelope
// of one that has ended earlier.
func (m *Store) end(k *kept) {
	lines := [][]byte{k.lines}
	for _, one := range k.messages {
		line, _ := one.JSON() // never fails
		lines = append(lines, line, []byte("\n"))
	}
	k.lines, k.messages = slices.Concat(lines...), nil
	if m.newest = append(m.newest, k); len(m.newest) > newestEnded {
		m.newest[0].pack()
		m.newest[0] = nil
		m.newest = m.newest[1:]
	}
}

// pack makes text of the envelope.
func (k *kept) pack() {
	e := k.envelope
	if e == nil || !e.Status.Terminal() {
		return
	}
	text, err := json.Marshal(e)
	if err != nil {
		return // it stays as it is
	}
	k.outline = outline{requestor: e.Requestor, executor: e.Executor, status: e.Status, updated: e.Updated}
	for _, h := range e.History {
		if id := h.By; id != e.Executor && e.HasHeld(id) && !slices.Contains(k.outline.held, id) {
			k.outline.held = append(k.outline.held, id)
		}
	}
	k.text, k.envelope = text, nil
}

// match reports whether a filter selects the thread.
func (k *kept) match(f thread.Filter) bool {
	if k.envelope != nil {
		return f.Match(*k.envelope)
	}
	o := k.outline
	e := thread.Envelope{Requestor: o.requestor, Executor: o.executor, Status: o.status, Updated: o.updated}
	return f.Match(e) || slices.ContainsFunc(o.held, func(id string) bool {
		e.History = []thread.HistoryEntry{{Action: string(mess.Claimed), By: id}}
		return f.Match(e)
	})
}

// read is the envelope.
func (k *kept) read() (e thread.Envelope, err error) {
	if k.envelope != nil {
		return *k.envelope, nil
	}
	err = json.Unmarshal(k.text, &e)
	return e, err
}

// Thread reads a thread.
func (m *Store) Thread(_ context.Context, ref string) (thread.Thread, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	k, ok := m.threads[ref]
	if !ok {
		return thread.Thread{}, thread.ErrNoThread
	}
	e, err := k.read()
	if err != nil {
		return thread.Thread{}, fmt.Errorf("%s: envelope: %w", ref, err)
	}
	t := thread.Thread{Envelope: e, Messages: slices.Clip(k.messages)}
	for line := range bytes.Lines(k.lines) {
		var one mess.Message
		if err := json.Unmarshal(line, &one); err != nil {
			return thread.Thread{}, fmt.Errorf("%s: message %d: %w", ref, len(t.Messages), err)
		}
		t.Messages = append(t.Messages, one)
	}
	return t, nil
}

// Find returns the thread that requestor made with the client id.
func (m *Store) Find(_ context.Context, requestor, id string) (string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	ref, ok := m.clients[clientID{requestor, id}]
	if !ok {
		return "", thread.ErrNoThread
	}
	return ref, nil
}

// List reads envelopes, newest change first.
func (m *Store) List(_ context.Context, f thread.Filter) (thread.Page, error) {
	from, err := f.From()
	if err != nil {
		return thread.Page{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var page thread.Page
	var last uint64
	for e := m.changed.Front(); e != nil; e = e.Next() {
		k := e.Value.(*kept)
		if k.seq >= from || !k.match(f) {
			continue
		}
		if len(page.Threads) == f.Max() {
			page.Cursor = strconv.FormatUint(last, 10)
			break
		}
		one, err := k.read()
		if err != nil {
			return thread.Page{}, err
		}
		page.Threads = append(page.Threads, one)
		last = k.seq
	}
	return page, nil
}

// Open calls fn with each thread's envelope that has no terminal status.
func (m *Store) Open(_ context.Context, fn func(thread.Envelope) error) error {
	m.mu.RLock()
	var open []thread.Envelope
	for _, k := range m.threads {
		if k.envelope != nil && !k.envelope.Status.Terminal() {
			open = append(open, *k.envelope)
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
func (m *Store) Run(ctx context.Context, _ thread.Listener) error {
	<-ctx.Done()
	return nil
}

// Stage keeps bytes for a later step.
func (m *Store) Stage(_ context.Context, ref string, data io.Reader, max int64) (thread.Staged, error) {
	b, err := io.ReadAll(io.LimitReader(data, max+1))
	if err != nil {
		return thread.Staged{}, err
	}
	if int64(len(b)) > max {
		return thread.Staged{}, thread.ErrTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.threads[ref]
	if !ok {
		return thread.Staged{}, thread.ErrNoThread
	}
	return k.keep(b), nil
}

// Blob opens a bound attachment.
func (m *Store) Blob(_ context.Context, ref, name string) (io.ReadSeekCloser, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	k, ok := m.threads[ref]
	if !ok {
		return nil, thread.ErrNoThread
	}
	sum, ok := k.names[name]
	if !ok {
		return nil, thread.ErrNoBlob
	}
	return closer{bytes.NewReader(k.blobs[sum])}, nil
}

type closer struct{ *bytes.Reader }

func (closer) Close() error { return nil }

// Put stores or removes a small document.
func (m *Store) Put(_ context.Context, kind, id string, doc []byte) error {
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
func (m *Store) Docs(_ context.Context, kind string) (map[string][]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return maps.Clone(m.docs[kind]), nil
}

// Close does nothing.
func (m *Store) Close() error { return nil }
