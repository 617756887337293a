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

// Compact replaces all that is in the log with records, crash-safe: whoever
// opens the log afterwards finds the old records or the new ones, never a mix.
// No Append runs meanwhile, so records may be read from what the appenders
// guard only if they do not hold that guard while they append.
func (l *Log) Compact(ctx context.Context, records iter.Seq[[]byte]) error {
	_, err := l.Repack(ctx, records)
	return err
}

// Repack is Compact, and tells where the records lie now; all other places are
// gone. That is so with an error as well, unless the places are nil: then those
// from before hold.
func (l *Log) Repack(ctx context.Context, records iter.Seq[[]byte]) ([]Place, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	if err := l.Err(); err != nil {
		return nil, err
	}
	places := []Place{}
	next, err := createSegment(l.dir, l.seg.seq+1, true, l.opts.SegmentBytes, fillWith(ctx, records, &places))
	if err != nil {
		return nil, l.doubt(fmt.Errorf("wal: %s: compact: %w", l.dir, err))
	}
	old := l.seg
	l.seg = next
	l.grow(next.end - l.Size())
	l.wrote(next.end)
	if err := old.close(); err != nil {
		return places, fmt.Errorf("wal: %s: %w", old.path, err)
	}
	return places, errors.Join(l.removeBefore(next.seq), l.closeReaders(next.seq))
}

// fillFrame is the size from which the records of a compacted log share a
// frame, in bytes.
const fillFrame = 256 << 10

func fillWith(ctx context.Context, records iter.Seq[[]byte], places *[]Place) func(*segment) error {
	return func(s *segment) error {
		var body []byte
		done := 0 // places that are where they are to be
		flush := func() error {
			if len(body) == 0 {
				return nil
			}
			move((*places)[done:], s.seq, s.end+frameBytes)
			done = len(*places)
			err := s.put(body)
			body = body[:0]
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
		if ctx.Err() != nil { // whoever gives the records may have none to give
			return context.Cause(ctx)
		}
		return flush()
	}
}

// removeBefore removes the segments that a base has superseded. Open does the
// same for what is left after a crash.
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
