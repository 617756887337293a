package wal

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/messkit/messkit/internal/durable"
)

// Place is the position of a record. It is valid until the next compaction.
type Place struct {
	seq  uint64 // of the segment
	at   int64  // of the record in it, in bytes
	size uint32 // of the record, in bytes
	sum  uint32 // crc32c of the record
}

func placeOf(seq uint64, at int64, record []byte) Place {
	return Place{seq: seq, at: at, size: uint32(len(record)), sum: crc32.Checksum(record, castagnoli)}
}

// Size of the record, in bytes.
func (p Place) Size() int { return int(p.size) }

// ErrMoved means that a compaction has made the place invalid.
var ErrMoved = errors.New("the record has moved")

// Record reads a record again. The error is ErrMoved, an error of the disk, or a *CorruptError.
// With a *CorruptError it also returns the changed bytes.
func (l *Log) Record(p Place) ([]byte, error) { return l.AppendRecord(nil, p) }

// AppendRecord is like Record, and appends the record to b.
func (l *Log) AppendRecord(b []byte, p Place) ([]byte, error) {
	f, err := l.reader(p.seq)
	if err != nil {
		return nil, err
	}
	defer l.reading.RUnlock()
	first := len(b)
	b = slices.Grow(b, int(p.size))[:first+int(p.size)]
	data := b[first:]
	if _, err := f.ReadAt(data, p.at); err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	if crc32.Checksum(data, castagnoli) != p.sum {
		return b, inFile(f.Name(), &CorruptError{Offset: p.at, Rule: RuleChecksum, What: "the record does not match its checksum"})
	}
	return b, nil
}

// reader returns a segment open for reading. The caller then holds l.reading for reading.
func (l *Log) reader(seq uint64) (*os.File, error) {
	for {
		l.reading.RLock()
		if f := l.readers[seq]; f != nil {
			return f, nil
		}
		l.reading.RUnlock()
		if err := l.openReader(seq); err != nil {
			return nil, err
		}
	}
}

func (l *Log) openReader(seq uint64) error {
	l.reading.Lock()
	defer l.reading.Unlock()
	if l.readers[seq] != nil {
		return nil
	}
	if errors.Is(l.Err(), ErrClosed) {
		return l.Err()
	}
	f, err := durable.Open(filepath.Join(l.dir, segmentName(seq)), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrMoved
	}
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	l.readers[seq] = f
	return nil
}

// closeReaders closes the readers of all segments before the given one.
func (l *Log) closeReaders(before uint64) error {
	l.reading.Lock()
	defer l.reading.Unlock()
	var errs []error
	for seq, f := range l.readers {
		if seq < before {
			errs = append(errs, f.Close())
			delete(l.readers, seq)
		}
	}
	return errors.Join(errs...)
}
