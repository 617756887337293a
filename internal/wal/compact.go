package wal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/internal/durable"
)

// Compact replaces the content of the log with records, crash-safe: Open finds the old records
// or the new ones, never a mix. No Append runs meanwhile. records may take a lock of the
// appenders only if these do not hold it while they append.
func (l *Log) Compact(ctx context.Context, records iter.Seq[[]byte]) error {
	return l.inTurn(ctx, func() error {
		next, err := createSegment(l.dir, l.seg.seq+1, true, l.opts.SegmentBytes, fillWith(ctx, records, &[]Place{}, false))
		if err != nil {
			return l.doubt(fmt.Errorf("wal: %s: compact: %w", l.dir, err))
		}
		old := l.seg
		l.seg = next
		l.grow(next.end - l.Size())
		l.countBytes(next.end)
		if err := old.close(); err != nil {
			return fmt.Errorf("wal: %s: %w", old.path, err)
		}
		return errors.Join(l.removeBefore(next.seq), l.closeReaders(next.seq))
	})
}

// Repack replaces the present content of the log with other records, while Append continues.
// It is as crash-safe as Compact.
//
// cut runs between two appends, and must not append. The records that it returns replace the
// earlier content; Repack reads them while others append. moved gets the new places before the
// earlier ones become invalid. After an error before that, the log and its places stay
// unchanged.
func (l *Log) Repack(ctx context.Context, cut func() iter.Seq[[]byte], moved func([]Place)) error {
	l.packing.Lock()
	defer l.packing.Unlock()
	var records iter.Seq[[]byte]
	var seq uint64 // of the segment that replaces all earlier ones
	var was int64
	err := l.inTurn(ctx, func() error {
		if l.seg.end > headerBytes {
			if err := l.rotate(); err != nil {
				return err
			}
		}
		// From here on the segment is empty, and none is missing after a crash.
		if err := l.rotate(); err != nil {
			return err
		}
		seq, was, records = l.seg.seq-1, l.Size()-headerBytes, cut()
		return nil
	})
	if err != nil {
		return err
	}
	var places []Place
	base, err := newSegment(l.dir, seq, true, 0, fillWith(ctx, records, &places, true))
	if err != nil {
		return fmt.Errorf("wal: %s: compact: %w", l.dir, err)
	}
	// inTurn returns an error after Close, so that Repack renames nothing in a released folder.
	err = l.inTurn(context.WithoutCancel(ctx), func() error {
		if err := os.Rename(base.tmp(), base.path); err != nil {
			return fmt.Errorf("wal: %w", err)
		}
		l.grow(base.end - was)
		l.countBytes(base.end)
		return nil
	})
	if err != nil {
		return errors.Join(err, base.file.Close(), os.Remove(base.tmp()))
	}
	moved(places)
	err = errors.Join(base.file.Close(), durable.SyncDir(l.dir))
	if err != nil {
		return fmt.Errorf("wal: %s: %w", base.path, err)
	}
	return errors.Join(l.removeBefore(seq), l.closeReaders(seq))
}

// inTurn calls fn between two writes to the log.
func (l *Log) inTurn(ctx context.Context, fn func() error) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	if err := l.Err(); err != nil {
		return err
	}
	return fn()
}

// fillFrame is the size of a frame of a compacted log, in bytes.
const fillFrame = 256 << 10

// syncBytes is the number of bytes after which Repack syncs its segment. The sync of an append
// would otherwise wait for all of these bytes.
const syncBytes = 1 << 20

func fillWith(ctx context.Context, records iter.Seq[[]byte], places *[]Place, often bool) func(*segment) error {
	return func(s *segment) error {
		var body []byte
		done := 0 // number of final places
		synced := int64(0)
		flush := func() error {
			if len(body) == 0 {
				return nil
			}
			move((*places)[done:], s.seq, s.end+frameBytes)
			done = len(*places)
			err := s.put(body)
			body = body[:0]
			if err == nil && often && s.end-synced > syncBytes {
				synced = s.end
				err = s.file.Sync()
			}
			return err
		}
		for r := range records {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if len(r) > MaxRecord {
				return fmt.Errorf("a record of %d bytes is too large; at most %d", len(r), MaxRecord)
			}
			if len(body)+len(r) > fillFrame {
				if err := flush(); err != nil {
					return err
				}
			}
			body = binary.AppendUvarint(body, uint64(len(r)))
			*places = append(*places, placeOf(0, int64(len(body)), r))
			body = append(body, r...)
		}
		if ctx.Err() != nil { // after a cancel, records may have ended early
			return context.Cause(ctx)
		}
		return flush()
	}
}

// removeBefore removes the segments that a base has superseded. Open does the same for segments
// that remain after a crash.
func (l *Log) removeBefore(base uint64) error {
	for seq := base - 1; seq > 0; seq-- {
		err := os.Remove(filepath.Join(l.dir, segmentName(seq)))
		if os.IsNotExist(err) {
			break
		}
		if err != nil {
			return fmt.Errorf("wal: %w", err)
		}
	}
	return durable.SyncDir(l.dir)
}
