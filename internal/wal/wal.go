// Package wal is a write-ahead log: records are on the disk when Append returns, and Open
// replays them in order. It does not know their content.
//
// On disk a log is a folder of segments. A segment is a header and a row of frames. A frame has
// the records of one write and sync, under one checksum. A power cut can therefore tear the last
// frame only, before its acknowledgement: Open cuts it off. A damaged frame before an intact one
// is damage of another kind, and Open reports its place instead of guessing.
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
	// SegmentBytes is the size at which the log begins a new segment. The log also reserves it on
	// the disk for each segment. So a full disk leads to an error at the begin of a segment, and
	// not in the middle.
	SegmentBytes int64
	// MaxBytes is the largest size of the log. Append returns ErrFull for records beyond it. 0 is
	// no limit.
	MaxBytes int64
	// Now returns the time for the counts by day; nil for time.Now.
	Now func() time.Time
	// Damaged receives each damage. Before the call, Open copies lost bytes to a file in the
	// folder. Then Open continues with the other records. An error of Damaged ends Open. With
	// nil, damage ends Open.
	Damaged func(Damage) error
}

// DefaultOptions returns the options of Open.
func DefaultOptions() Options { return Options{SegmentBytes: 4 << 20} }

// MaxRecord is the largest record, in bytes.
const MaxRecord = 16 << 20

// maxFrame is the largest body of a frame, in bytes. A record always fits.
const maxFrame = MaxRecord + 64

// Errors of Append.
var (
	// ErrFull means that the log would grow beyond Options.MaxBytes. Append has written nothing;
	// Compact frees room.
	ErrFull = errors.New("full")
	// ErrClosed means that the log is closed. Append has written nothing.
	ErrClosed = errors.New("closed")
)

// Log is an open log. Its methods are safe for concurrent use.
type Log struct {
	dir  string
	opts Options
	lock *os.File

	ended   int64 // end of the last segment at Open, in bytes
	orderly bool

	// A goroutine holds turn while it writes to the newest segment or renames segments.
	turn chan struct{}

	packing sync.Mutex // held by Repack

	// Guarded by turn.
	seg segment // the newest one, for writes

	reading sync.RWMutex
	readers map[uint64]*os.File // open segments for reads, by number; guarded by reading

	mu      sync.Mutex
	waiting []*batch
	broken  error // error that forbids further writes
	size    int64 // of all segments, in bytes
	room    int64 // reserved and not used, in bytes
	written written
}

// batch has the records of one Append before and during their write.
type batch struct {
	body   []byte        // encoded
	places []Place       // of the records; before the write, within body
	then   func([]Place) // called when the records are on the disk; may be nil
	done   chan struct{}
	err    error
}

// Open opens the log in dir, makes the folder if needed, and calls replay with every record in
// the order of the appends. replay may keep the record. Open cuts off a torn tail. It returns an
// error for damage anywhere else, unless Options.Damaged handles it, and for an error of replay.
// It opens a log on a disk without write access (full, read-only, or one that does not sync) for
// reading: Err and every Append return the reason.
func Open(dir string, replay func(record []byte) error) (*Log, error) {
	return DefaultOptions().Open(dir, replay)
}

// Open is the package's Open with options.
func (o Options) Open(dir string, replay func(record []byte) error) (*Log, error) {
	return o.OpenPlaces(dir, func(_ Place, record []byte) error { return replay(bytes.Clone(record)) })
}

// OpenPlaces is Open whose replay also gets the place of each record, for reading it again. The
// record is valid during the call only.
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

// Size returns the size of the log in bytes, without reserved room.
func (l *Log) Size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size
}

// Room returns the bytes that still fit in the reserved room.
func (l *Log) Room() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.room
}

// Orderly reports whether the last program closed the log in a graceful shutdown.
func (l *Log) Orderly() bool { return l.orderly }

// Err returns the error that forbids further writes, or nil. After an error of the disk its
// content is unknown until the next Open.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.broken
}

// Close waits for the running write, and releases the folder.
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

// closeLock releases the folder; without write access there is no lock.
func closeLock(lock *os.File) error {
	if lock == nil {
		return nil
	}
	return lock.Close()
}

// unwritable reports whether err means a disk that accepts no writes, not damaged content.
func unwritable(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// breakWith makes every later Append fail with err.
func (l *Log) breakWith(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = err
}

// grow accounts for n more bytes. The caller holds the turn.
func (l *Log) grow(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.size += n
	l.room = max(0, l.opts.SegmentBytes-l.seg.end)
}
