package wal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"
)

// Append writes records, all of them or none, and returns when they are on the disk. Concurrent
// callers share one sync.
//
// After an error the records are not in the log. After an error of the disk they may be (see
// Err). ctx ends the wait for other writes, not a write that has begun.
func (l *Log) Append(ctx context.Context, records ...[]byte) error {
	_, err := l.Put(ctx, records...)
	return err
}

// Put is Append that returns the places of the records.
func (l *Log) Put(ctx context.Context, records ...[]byte) ([]Place, error) {
	return l.PutThen(ctx, nil, records...)
}

// PutThen is Put that calls then with the places before it returns. The records are on the disk
// at that time. The log makes these calls one at a time, in the order in which Open replays the
// records. The function then must not append.
func (l *Log) PutThen(ctx context.Context, then func([]Place), records ...[]byte) ([]Place, error) {
	e, err := newBatch(records)
	if err != nil {
		return nil, err
	}
	e.then = then
	l.mu.Lock()
	l.waiting = append(l.waiting, e)
	l.mu.Unlock()
	for {
		select {
		case <-e.done:
			return e.places, e.err
		case l.turn <- struct{}{}:
			l.commit()
			<-l.turn
		case <-ctx.Done():
			if l.withdraw(e) {
				return nil, ctx.Err()
			}
			<-e.done
			return e.places, e.err
		}
	}
}

func newBatch(records [][]byte) (*batch, error) {
	e := &batch{done: make(chan struct{})}
	for _, r := range records {
		if len(r) > MaxRecord {
			return nil, fmt.Errorf("wal: a record of %d bytes is too large; at most %d", len(r), MaxRecord)
		}
		e.body = binary.AppendUvarint(e.body, uint64(len(r)))
		e.places = append(e.places, placeOf(0, int64(len(e.body)), r))
		e.body = append(e.body, r...)
	}
	if len(e.body) > maxFrame {
		return nil, fmt.Errorf("wal: %d bytes at once are too many; append less than %d", len(e.body), maxFrame)
	}
	return e, nil
}

// withdraw removes a batch whose write has not begun. It returns false after that.
func (l *Log) withdraw(e *batch) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.waiting, e)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// commit writes the waiting records, as many as fit in one frame. The caller holds the turn.
func (l *Log) commit() {
	// The callers of the last write run first, so that their next records share this sync.
	// Otherwise two callers could alternate for a whole time slice of the scheduler, while all
	// others wait.
	runtime.Gosched()
	batches, body := l.take()
	if len(batches) == 0 {
		return
	}
	err := l.write(body)
	at := l.seg.end - int64(len(body))
	for _, e := range batches {
		if e.err = err; err != nil {
			e.places = nil
		}
		move(e.places, l.seg.seq, at)
		at += int64(len(e.body))
		if err == nil && e.then != nil {
			e.then(e.places)
		}
		close(e.done)
	}
}

// move converts places in the body of a frame to places in a segment, whose body begins at byte
// body.
func move(places []Place, seq uint64, body int64) {
	for i := range places {
		places[i].seq, places[i].at = seq, places[i].at+body
	}
}

// take removes and returns the batches of the next frame, with their body.
func (l *Log) take() (batches []*batch, body []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.waiting) && (n == 0 || len(body)+len(l.waiting[n].body) <= maxFrame) {
		body = append(body, l.waiting[n].body...)
		n++
	}
	batches = slices.Clone(l.waiting[:n])
	l.waiting = slices.Delete(l.waiting, 0, n)
	return batches, body
}

// write writes and syncs one frame. The caller holds the turn.
func (l *Log) write(body []byte) error {
	if err := l.Err(); err != nil {
		return err
	}
	if len(body) == 0 {
		return nil
	}
	n := int64(frameBytes + len(body))
	if l.opts.MaxBytes > 0 && l.Size()+n > l.opts.MaxBytes {
		return fmt.Errorf("wal: %s: %w: %d bytes, and the limit is %d", l.dir, ErrFull, l.Size(), l.opts.MaxBytes)
	}
	if l.seg.end > headerBytes && l.seg.end+n > l.opts.SegmentBytes {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	err := l.seg.append(body)
	if err == nil {
		err = l.seg.checkLinked()
	}
	if err != nil {
		// A second sync of the same descriptor is no use: the kernel may have dropped the pages
		// and report success. Only a new read of the file shows its content.
		err = fmt.Errorf("wal: %s: %w; the log writes nothing more until messkit opens it again", l.seg.path, err)
		l.breakWith(err)
		return err
	}
	l.grow(n)
	l.countBytes(n)
	return nil
}

// rotate begins a new segment. If that fails, the log stays usable for records that still fit.
func (l *Log) rotate() error {
	next, err := createSegment(l.dir, l.seg.seq+1, false, l.opts.SegmentBytes)
	if err != nil {
		return l.doubt(fmt.Errorf("wal: %s: new segment: %w", l.dir, err))
	}
	old := l.seg
	l.seg = next
	l.grow(headerBytes)
	l.countBytes(headerBytes)
	return old.close()
}

// Reserve reserves room on the disk for n more bytes, in a new segment if necessary. n must be
// smaller than a segment.
func (l *Log) Reserve(ctx context.Context, n int64) error {
	return l.inTurn(ctx, func() error {
		if l.Room() >= n {
			return nil
		}
		return l.rotate()
	})
}

// Check returns an error if the log's file is no longer at its path. Every Append checks the
// same. Such a log accepts no more records, as after an error of the disk.
func (l *Log) Check(ctx context.Context) error {
	return l.inTurn(ctx, func() error {
		if err := l.seg.checkLinked(); err != nil {
			l.breakWith(fmt.Errorf("wal: %w", err))
		}
		return l.Err()
	})
}

// doubt breaks the log if err leaves open which segment counts.
func (l *Log) doubt(err error) error {
	if errors.Is(err, errUncertain) {
		l.breakWith(err)
	}
	return err
}

// written counts the bytes written to the disk.
type written struct {
	total, today int64 // bytes
	day          time.Time
}

// Written returns the bytes written since Open, and those of today, without the overhead of the
// file system.
func (l *Log) Written() (total, today int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.turn(l.opts.Now())
	return l.written.total, l.written.today
}

// countBytes counts n more bytes.
func (l *Log) countBytes(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.written.turn(l.opts.Now())
	l.written.total += n
	l.written.today += n
}

// turn resets the count of today on another day.
func (w *written) turn(now time.Time) {
	y, m, d := now.Date()
	if day := time.Date(y, m, d, 0, 0, 0, 0, now.Location()); !day.Equal(w.day) {
		w.day, w.today = day, 0
	}
}
