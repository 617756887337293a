package thread

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/messkit/messkit/mess"
)

// Store keeps the threads and documents of an exchange. What a method has stored is
// durable when it returns. A store never judges a step; it compares and swaps. It
// promises no more than a stream of messages can keep: each Append and each Put is
// atomic for itself.
type Store interface {
	// Append adds one step to the log of a thread if After is its last revision, and
	// claims keys that no other thread has. The error is ErrStale, a *TakenError,
	// ErrNoBlob, or ErrNoThread for a step of a thread that is not there; then nothing is
	// stored. ErrUnknown says that the step may have been stored, or may still be: read
	// the thread, and compare Envelope.Op.
	Append(ctx context.Context, s Step) (Rev, error)
	// Read reads a thread, or returns ErrNoThread.
	Read(ctx context.Context, ref string) (Thread, Rev, error)
	// Lookup returns the ref of the thread that has claimed a key, or ErrNoThread.
	Lookup(ctx context.Context, k Key) (ref string, err error)
	// Feed calls fn with the steps and documents of all nodes, in the store's order, from
	// after a position on, until ctx ends, which is no error, or fn returns an error,
	// which Feed returns. Of a thread whose steps it has no more, it gives the thread as
	// it is. Once, when fn has had all that was there, it gives a Change with Level.
	Feed(ctx context.Context, after Pos, fn func(Change) error) error
	// Put stores a small document if after is its last revision, or returns ErrStale; nil
	// removes the document, and its revision is "" again. ErrUnknown is as with Append.
	Put(ctx context.Context, kind, id string, doc []byte, after Rev) (Rev, error)
	// Stage stores bytes that a later Step binds to a name. It reads at most max bytes
	// and returns ErrTooLarge beyond.
	Stage(ctx context.Context, data io.Reader, max int64) (Staged, error)
	// Blob opens staged bytes by their SHA-256 in hex, or returns ErrNoBlob.
	Blob(ctx context.Context, sum string) (io.ReadSeekCloser, error)

	Close() error
}

// Folders is a store whose threads also lie in folders, where other programs put files
// beside them. Its attachments can be there alone.
type Folders interface {
	// Attachment opens a file of a thread by its name, or returns ErrNoBlob or
	// ErrNoThread.
	Attachment(ctx context.Context, ref, name string) (io.ReadSeekCloser, error)
}

// EnvelopeReader is a store that reads an envelope faster than a whole thread.
type EnvelopeReader interface {
	// Envelope reads the envelope of a thread, or returns ErrNoThread.
	Envelope(ctx context.Context, ref string) (Envelope, error)
}

// Rev is the revision of a thread or a document; "" is none yet. Revisions are compared
// for equality only.
type Rev string

// Pos is a position in the feed; "" is its beginning. Positions have gaps. They stay good
// when the store is opened again. A position is a decimal number without leading zeros, which
// is compared and never counted with.
type Pos string

// Before reports whether a position of the same feed is before another.
func (p Pos) Before(q Pos) bool { return cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q)) < 0 }

// Key is a name that its owner gives to one thread only: the id that a requester has for
// its request.
type Key struct{ Owner, Name string }

// Step is one change of a thread. Envelope.Op identifies it.
type Step struct {
	After    Rev      // the thread's revision before; "" for a new thread
	Keys     []Key    // that the thread claims
	Envelope Envelope // as it is after the step, with Ver one more than before
	Messages []mess.Message
	Binds    []Bind
}

// Change is one entry of the feed: of a thread, of a document, or the report that fn is
// level with the store.
type Change struct {
	Pos Pos

	Envelope Envelope       // after the step; Ref is "" if the change is none of a thread
	Rev      Rev            // of the thread or document
	Messages []mess.Message // of the step; nil if the change is the thread as it is
	Outline  bool           // the envelope has only ref, client id, parties, status, times and Ver
	Removed  bool           // the thread is not in the store any more

	Kind, ID string // of a document
	Doc      []byte // nil if it was removed

	Level   bool
	Serials map[string]int // with Level: the highest serials by day, also of threads that were removed
}

// Bind gives staged bytes their name in the thread.
type Bind struct {
	Name   string
	SHA256 string
}

// Staged says what was staged.
type Staged struct {
	SHA256 string // hex
	Size   int64  // bytes
}

// What a store answers.
var (
	ErrStale    = errors.New("it has changed since it was read")
	ErrUnknown  = errors.New("it is not known whether it was stored")
	ErrNoThread = errors.New("no such thread")
	ErrNoBlob   = errors.New("no such attachment")
	ErrTooLarge = errors.New("too large")
)

// TakenError says which thread has a key.
type TakenError struct {
	Key Key
	Ref string
}

func (e *TakenError) Error() string { return "the id is taken by " + e.Ref }
