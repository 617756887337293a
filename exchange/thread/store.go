package thread

import (
	"context"
	"errors"
	"io"

	"github.com/messkit/messkit/mess"
)

// Store keeps threads. Every method is durable when it returns. A store never
// judges a step; it compares and swaps.
type Store interface {
	// Create stores a new thread. Its ref is {day}-{serial}-{token} with the
	// next serial of that day, never given before; build makes the thread for
	// that ref, with Ver 1. If the requestor has used the client id before,
	// nothing is stored and the error is an *ExistsError.
	Create(ctx context.Context, c Create) (Thread, error)
	// Append stores one step: the new envelope, whose Ver is one more than the
	// stored one's, and the messages that belong to it, or returns ErrStale.
	Append(ctx context.Context, s Step) error
	// Thread reads a thread, or returns ErrNoThread.
	Thread(ctx context.Context, ref string) (Thread, error)
	// Find returns the ref of the thread that requestor made with the client id,
	// or ErrNoThread.
	Find(ctx context.Context, requestor, clientID string) (string, error)
	// List reads envelopes, newest change first.
	List(ctx context.Context, f Filter) (Page, error)
	// Open calls fn with each thread's envelope that has no terminal status.
	Open(ctx context.Context, fn func(Envelope) error) error
	// Run does what the store has to do beside its calls, and tells what other
	// processes have put into it, until ctx ends.
	Run(ctx context.Context, to Listener) error

	// Stage stores bytes that a later Step binds to a name. It reads at most
	// max bytes and returns ErrTooLarge beyond.
	Stage(ctx context.Context, ref string, data io.Reader, max int64) (Staged, error)
	// Blob opens a bound attachment, or returns ErrNoBlob.
	Blob(ctx context.Context, ref, name string) (io.ReadSeekCloser, error)

	// Put stores a small document by kind and id (executors, keys, routing); nil
	// removes it.
	Put(ctx context.Context, kind, id string, doc []byte) error
	// Docs reads all documents of a kind.
	Docs(ctx context.Context, kind string) (map[string][]byte, error)

	Close() error
}

// Listener takes what other processes have put into a store.
type Listener interface {
	// Changed tells of a thread that is new, or that another process has changed.
	Changed(e Envelope)
	// Said hands over a message that somebody has put into a thread, and that
	// nobody has judged.
	Said(ctx context.Context, ref string, m mess.Message) error
}

// Create is a thread to be made.
type Create struct {
	Day       string // 2006-01-02
	Token     string // from the client id; "" for none
	Requestor string
	ClientID  string
	Build     func(ref string) Thread
	Files     []File // that the request brings
}

// File is an attachment that a new thread begins with.
type File struct {
	Name string
	Data []byte
}

// Step is one change of a thread.
type Step struct {
	Envelope Envelope // as it is after the step
	Messages []mess.Message
	Binds    []Bind
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
	ErrStale    = errors.New("the thread has changed since it was read")
	ErrNoThread = errors.New("no such thread")
	ErrNoBlob   = errors.New("no such attachment")
	ErrTooLarge = errors.New("too large")
)

// ExistsError says that a requestor has used a client id before.
type ExistsError struct{ Ref string }

func (e *ExistsError) Error() string { return "the client id is taken by " + e.Ref }
