package thread

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/messkit/messkit/mess"
)

// Store stores the threads and documents of an exchange. When a method returns, its changes are
// durable. A store does not judge a step; it compares and swaps. It promises no more than a
// stream of messages can: each Append and each Put is atomic by itself.
type Store interface {
	// Append adds one step to the log of a thread if After is its last revision, and claims keys
	// that no other thread has. After the errors ErrStale, *TakenError, ErrNoBlob and ErrNoThread
	// (a step of an unknown thread) the store has not changed. After ErrUnknown the store may have
	// the step, now or later: read the thread, and compare Envelope.Op.
	Append(ctx context.Context, s Step) (Rev, error)
	// Read returns a thread, or ErrNoThread.
	Read(ctx context.Context, ref string) (Thread, Rev, error)
	// Lookup returns the ref of the thread that has claimed a key, or ErrNoThread.
	Lookup(ctx context.Context, k Key) (ref string, err error)
	// Feed calls fn with the steps and documents of all nodes after a position, in the order of the
	// store. It returns nil after ctx ends, or the error of fn. If the store has lost the steps of
	// a thread, Feed gives the whole thread. When fn has reached the present, Feed gives one Change
	// with Level.
	Feed(ctx context.Context, after Pos, fn func(Change) error) error
	// Put stores a small document if after is its last revision, or returns ErrStale. A nil
	// document removes it, and its revision is "" again. ErrUnknown has the same meaning as in
	// Append.
	Put(ctx context.Context, kind, id string, doc []byte, after Rev) (Rev, error)
	// Stage stores bytes for a later Step. It reads at most max bytes, and returns ErrTooLarge
	// beyond.
	Stage(ctx context.Context, data io.Reader, max int64) (Staged, error)
	// Blob opens staged bytes by their SHA-256 in hex, or returns ErrNoBlob. The caller closes it.
	Blob(ctx context.Context, sum string) (io.ReadSeekCloser, error)

	Close() error
}

// Folders is a store whose threads also have folders, where other programs may write files. Some
// attachments are only there.
type Folders interface {
	// Attachment opens a file of a thread by its name, or returns ErrNoBlob or ErrNoThread. The
	// caller closes it.
	Attachment(ctx context.Context, ref, name string) (io.ReadSeekCloser, error)
}

// EnvelopeReader is a store that reads an envelope faster than a whole thread.
type EnvelopeReader interface {
	// Envelope returns the envelope of a thread, or ErrNoThread.
	Envelope(ctx context.Context, ref string) (Envelope, error)
}

// EnvelopeFeeder is a store whose feed is faster without the messages of steps.
type EnvelopeFeeder interface {
	// FeedEnvelopes works like Store.Feed, and leaves out the messages. From the beginning of the feed on, it
	// may leave out changes of a thread or a document that has later ones, and give outlines of threads
	// that have ended.
	FeedEnvelopes(ctx context.Context, after Pos, fn func(Change) error) error
}

// Snapshotter is a store whose FeedEnvelopes begins with a snapshot instead of all steps.
type Snapshotter interface {
	// Snapshot adds what has changed since the last snapshot, if that is enough, and reports whether it
	// has written. One process of a home calls it from time to time.
	Snapshot(ctx context.Context) (wrote bool, err error)
}

// Shared is a store that several exchanges may use at the same time. The revision of a document is
// its position in the feed.
type Shared interface {
	// Shared does nothing.
	Shared()
}

// Archiver is a store that moves threads that ended long ago into archives. They leave the feed and
// their keys, and Read still reads them.
type Archiver interface {
	// Archived returns the refs of the threads in archives. The feed can have some of them too.
	Archived(ctx context.Context) ([]string, error)
}

// DocumentReader is a store that reads one document.
type DocumentReader interface {
	// Document returns a document, or nil if there is none.
	Document(ctx context.Context, kind, id string) ([]byte, error)
}

// Recaller is a store whose feed gives no single steps of the time before the start of the program.
type Recaller interface {
	// Recalls returns the last changes of that time, with each step, and the position before them; ""
	// if they are all. After an error there are no more.
	Recalls() (after Pos, changes iter.Seq2[Change, error])
}

// Admitter is a store that falls behind if too many threads begin.
type Admitter interface {
	// Admit waits a moment if the store is behind, or returns ErrBusy. Callers call it before they
	// make threads for others.
	Admit(ctx context.Context) error
}

// Rev is the revision of a thread or a document; "" is none yet. Callers compare revisions for
// equality only.
type Rev string

// Pos is a position in the feed; "" is its beginning. A position is a decimal number without
// leading zeros. Positions have gaps, and stay valid after a restart. Callers compare them with
// Before, and do not count with them.
type Pos string

// Before reports whether p is before a position of the same feed.
func (p Pos) Before(q Pos) bool { return cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)) < 0 }

// Number returns the position as a number; 0 for "". Two positions of one feed have two numbers, in the
// same order.
func (p Pos) Number() uint64 {
	n, _ := strconv.ParseUint(string(p), 10, 64) // a store has made it
	return n
}

// Back returns an earlier position, which has at most n changes between it and p.
func (p Pos) Back(n uint64) Pos {
	if at := p.Number(); at > n {
		return Pos(strconv.FormatUint(at-n, 10))
	}
	return ""
}

// Key is a name that its owner may give to one thread only, such as a client id.
type Key struct{ Owner, Name string }

// Step is one change of a thread. Envelope.Op identifies it.
type Step struct {
	After    Rev      // last revision of the thread; "" for a new one
	Keys     []Key    // for the thread
	Envelope Envelope // after the step, with Ver + 1
	Messages []mess.Message
	Binds    []Bind
}

// Change is one entry of the feed: a change of a thread or of a document, or the report that fn has
// reached the present.
type Change struct {
	Pos Pos

	Envelope Envelope       // after the step; Ref is "" for a change of no thread
	Rev      Rev            // of the thread or document
	Messages []mess.Message // of the step; nil if Envelope is the whole news
	Outline  bool           // the envelope has only ref, client id, parties, status, required capabilities, times and Ver
	Devices  []string       // of an outline, as Envelope.Devices returns them
	Removed  bool           // the store has removed the thread; Envelope has only Ref, or is an outline of its end

	Kind, ID string // of a document
	Doc      []byte // nil: the document does not exist any more

	Level   bool
	Serials map[string]int // with Level: the highest serials by day, removed threads included
}

// Bind gives staged bytes their name in the thread.
type Bind struct {
	Name   string
	SHA256 string
}

// Staged describes staged bytes.
type Staged struct {
	SHA256 string // hex
	Size   int64  // bytes
}

// Errors of a store.
var (
	ErrStale    = errors.New("another writer has changed it")
	ErrUnknown  = errors.New("the store may or may not have it")
	ErrNoThread = errors.New("no such thread")
	ErrNoBlob   = errors.New("no such attachment")
	ErrTooLarge = errors.New("too large")
	ErrBusy     = errors.New("the store has too much to do for new threads now")
)

// DamagedError means that the store has an unreadable record of a thread. The thread takes no more steps.
type DamagedError struct {
	Ref      string
	Sequence uint64 // of the record; 0 if it is unknown
}

func (e *DamagedError) Error() string {
	if e.Sequence == 0 {
		return e.Ref + " has an unreadable record in the store"
	}
	return fmt.Sprintf("%s has an unreadable record in the store, sequence %d", e.Ref, e.Sequence)
}

// TakenError names the thread that has a key.
type TakenError struct {
	Key Key
	Ref string
}

func (e *TakenError) Error() string { return "the id belongs to " + e.Ref }
