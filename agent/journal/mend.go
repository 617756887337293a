package journal

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/messkit/messkit/internal/wal"
)

// Err tells why nothing can be written any more, or nil. An executor whose
// journal cannot be written must not touch the world.
func (j *Journal) Err() error {
	j.write.RLock()
	defer j.write.RUnlock()
	return j.err()
}

// Check is Err, and looks whether the journal is still where it will be looked
// for.
func (j *Journal) Check(ctx context.Context) error {
	j.write.RLock()
	defer j.write.RUnlock()
	if j.log == nil {
		return j.lost
	}
	return j.log.Check(ctx)
}

// err is Err with write held.
func (j *Journal) err() error {
	if j.log == nil {
		return j.lost
	}
	return j.log.Err()
}

// NoSpace reports whether err says that there is no room, and not that the disk
// is broken.
func NoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, wal.ErrFull)
}

// Size is how long the journal is on the disk, in bytes, without what is
// reserved.
func (j *Journal) Size() int64 {
	j.write.RLock()
	defer j.write.RUnlock()
	if j.log == nil {
		return 0
	}
	return j.log.Size()
}

// taskRoom is what one task may need for its intent and its report, in bytes:
// pictures are no part of a report, so it is some kilobytes in fact.
const taskRoom = 16 << 10

// lowRoom is the least room, in bytes, in which a task may be begun.
const lowRoom = 128 << 10

// Ready returns nil if there is room for another task beside those that run,
// and for what they all will have to say. Where the disk is about to be full it
// is said here, before anything is begun, and not in its midst.
func (j *Journal) Ready(ctx context.Context) error {
	if err := j.Check(ctx); err != nil {
		return err
	}
	need := j.need()
	fits, err := j.fits(need)
	if fits || err != nil {
		return err
	}
	if live, _ := j.live(); j.Size() > 2*(live+compactBytes) || j.Size()+need > j.opts.MaxBytes && live+need < j.opts.MaxBytes/2 {
		if err := j.compact(ctx); err != nil {
			return err
		}
	}
	if err := j.reserve(ctx, need); err != nil {
		return err
	}
	if fits, err := j.fits(need); fits || err != nil {
		return err
	}
	return fmt.Errorf("journal: %w: reports that the exchange has not taken yet fill it", wal.ErrFull)
}

// reserve has room on the disk for so many bytes more.
func (j *Journal) reserve(ctx context.Context, need int64) error {
	j.write.RLock()
	defer j.write.RUnlock()
	if err := j.err(); err != nil {
		return err
	}
	if err := j.log.Reserve(ctx, need); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return nil
}

// need is the room without which no further task is begun, in bytes.
func (j *Journal) need() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := int64(lowRoom)
	for _, s := range j.tasks {
		if s.Open() {
			n += taskRoom
		}
	}
	return min(n, segmentBytes/2)
}

// fits reports whether need bytes are reserved on the disk, and allowed. The
// error is why nothing can be written at all.
func (j *Journal) fits(need int64) (bool, error) {
	j.write.RLock()
	defer j.write.RUnlock()
	if err := j.err(); err != nil {
		return false, err
	}
	return j.log.Room() >= need && j.log.Size()+need <= j.opts.MaxBytes, nil
}

// Mend makes a journal that could not be written good again, or tells why that
// is not possible yet. After an error of the disk nobody knows what is on it:
// the kernel may show what it has failed to write. So the files are opened
// and read anew, and all that is known is written to a new one and synced; the
// old descriptor is never asked again. While the journal is in order, Mend only
// writes what the disk lacks.
func (j *Journal) Mend(ctx context.Context) error {
	if err := j.Check(ctx); err == nil {
		return j.tidy(ctx)
	} else if ctx.Err() != nil {
		return err
	}
	j.write.Lock()
	defer j.write.Unlock()
	if errors.Is(j.err(), wal.ErrClosed) {
		return j.err()
	}
	if j.log != nil {
		total, _ := j.log.Written()
		j.before += total
		_ = j.log.Close() // it is broken, and its error known
		j.log = nil
	}
	// What is read is not believed: memory knows what was acknowledged.
	log, err := j.open(func(data []byte) error { _, _, err := parse(data); return err }, nil)
	if err == nil {
		if err = log.Err(); err == nil {
			err = j.rewrite(ctx, log)
		}
		if err != nil {
			err = errors.Join(err, log.Close())
		}
	}
	if err != nil {
		j.lost = fmt.Errorf("journal: %w", err)
		return j.lost
	}
	j.log, j.lost = log, nil
	return nil
}
