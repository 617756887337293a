// Package wal is a write-ahead log: records that are on the disk when Append
// returns, and that come back in order when the log is opened again. It knows
// nothing of what is in them.
//
// On disk a log is a folder of segments. A segment is a header and a row of
// frames; a frame is everything that was written and synced at once, under one
// checksum. So of all that a power cut can tear, only the last frame is ever
// torn, and nothing in it had been promised to anybody: it is cut off. A frame
// that is damaged before a good one is damage of another kind, and Open says
// where it is instead of guessing.
package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/messkit/messkit/internal/durable"
)

// Options of a log.
type Options struct {
	// SegmentBytes is the size at which a new segment is begun. It is also what
	// is reserved on the disk for each, so that a full disk is noticed when a
	// segment is begun and not in the middle of one.
	SegmentBytes int64
	// MaxBytes bounds the whole log; Append refuses with ErrFull what would go
	// beyond. 0: no bound.
	MaxBytes int64
	// Now tells on which day something is written; nil: time.Now.
	Now func() time.Time
	// Damaged is told of damage while Open goes on behind it; replay gets all the rest. The
	// damaged bytes are copied to a file in the folder first. Its error ends Open. nil:
	// damage ends Open.
	Damaged func(Damage) error
}

// DefaultOptions are what Open uses.
func DefaultOptions() Options { return Options{SegmentBytes: 4 << 20} }

// MaxRecord is the largest record, in bytes.
const MaxRecord = 16 << 20

// maxFrame bounds what is written at once. A record always fits.
const maxFrame = MaxRecord + 64

// Errors of Append.
var (
	// ErrFull: the log would grow beyond Options.MaxBytes. Nothing was written;
	// Compact makes room.
	ErrFull = errors.New("full")
	// ErrClosed: the log has been closed. Nothing was written.
	ErrClosed = errors.New("closed")
)

// Log is an open log. Its methods may be called by many goroutines at once.
type Log struct {
	dir  string
	opts Options
	lock *os.File

	ended   int64 // where the last segment ended when the log was opened, in bytes
	orderly bool

	// turn is held by whoever writes to the newest segment or gives segments their names.
	turn chan struct{}

	packing sync.Mutex // held by Repack

	// Guarded by turn.
	seg segment // the one that is written to

	reading sync.RWMutex
	readers map[uint64]*os.File // of segments that records were read from, by number; guarded by reading

	mu      sync.Mutex
	waiting []*entry
	broken  error // why nothing can be written any more
	size    int64 // of all segments, in bytes
	room    int64 // reserved and not used, in bytes
	written written
}

// entry is the records of one Append on their way to the disk.
type entry struct {
	body   []byte        // encoded
	places []Place       // of the records; until they are written, within body
	then   func([]Place) // called when the records are on the disk; nil: nothing
	done   chan struct{}
	err    error
}

// Open opens the log in dir, which is made if it is not there, and calls replay
// with every record in the order in which they were appended. What replay gets
// is its own to keep. A torn tail is cut off; damage anywhere else, unless
// Options.Damaged is told of it, and an error by replay, end Open with an error. A log that is there and cannot be
// written (a full disk, one that is read-only or does not sync) is opened for
// reading: Err says why, and so does every Append.
func Open(dir string, replay func(record []byte) error) (*Log, error) {
	return DefaultOptions().Open(dir, replay)
}

// Open is the package's Open with options.
func (o Options) Open(dir string, replay func(record []byte) error) (*Log, error) {
	return o.OpenPlaces(dir, func(_ Place, record []byte) error { return replay(bytes.Clone(record)) })
}

// OpenPlaces is Open where replay also gets the place of each record, from which
// it can be read again, and the record is only lent.
func (o Options) OpenPlaces(dir string, replay func(at Place, record []byte) error) (*Log, error) {
	if o.SegmentBytes < headerBytes {
		return nil, fmt.Errorf("wal: segments of %d bytes hold nothing; use %d or more", o.SegmentBytes, 4096)
	}
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	lock, err := lockDir(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("wal: %s: %w", dir, err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	l := &Log{dir: dir, opts: o, lock: lock, turn: make(chan struct{}, 1), readers: map[uint64]*os.File{}}
	if err := l.load(replay); err != nil {
		return nil, errors.Join(err, closeLock(lock))
	}
	return l, nil
}

// Size is how much room the log takes, in bytes, without what is reserved.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// Room is how much can still be appended before more must be had of the disk, in
// bytes.
func (l *Log) Room() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.room
}

// Orderly reports whether the log was closed when it was last used, and not left by a
// program that died.
func (l *Log) Orderly() bool { return l.orderly }

// Err tells why nothing can be written any more, or nil. After an error of the
// disk nobody knows what is on it; open the log again, which looks.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Close waits for what is being written, and gives the folder free for others.
func (l *Log) Close() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if errors.Is(l.Err(), ErrClosed) {
		return nil
	}
	if l.Err() == nil {
		_ = seal{l.seg.seq, l.seg.end}.write(l.dir) // without it damage of the last frame looks torn, as after a power cut
	}
	l.breakWith(fmt.Errorf("wal: %s: %w", l.dir, ErrClosed))
	return errors.Join(l.seg.close(), l.closeReaders(math.MaxUint64), closeLock(l.lock))
}

// closeLock gives the folder free; there is no lock where none could be made.
func closeLock(lock *os.File) error {
	if lock == nil {
		return nil
	}
	return lock.Close()
}

// unwritable reports whether err says that a disk takes nothing, and not that
// something is wrong with what is on it.
func unwritable(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// breakWith makes every later Append fail with err.
func (l *Log) breakWith(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = err
}

// grow accounts for n more bytes. The turn is held.
func (l *Log) grow(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size += n
	l.room = max(0, l.opts.SegmentBytes-l.seg.end)
}
