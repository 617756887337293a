package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/messkit/messkit/internal/wal"
)

// Err returns why the journal cannot take records any more, or nil. An executor must not act
// while it is not nil.
func (j *Journal) Err() error {
	j.write.RLock()
	defer j.write.RUnlock()
	return j.err()
}

// Check does the same as Err and also checks that the files are still in place.
func (j *Journal) Check(ctx context.Context) error {
	j.write.RLock()
	defer j.write.RUnlock()
	if j.log == nil {
		return j.openErr
	}
	return j.log.Check(ctx)
}

// err implements Err. The caller holds write.
func (j *Journal) err() error {
	if j.log == nil {
		return j.openErr
	}
	return j.log.Err()
}

// NoSpace reports whether err means a full disk or a full journal, and not a broken disk.
func NoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, wal.ErrFull)
}

// Size returns the size of the journal on the disk, in bytes, without reserved space.
func (j *Journal) Size() int64 {
	j.write.RLock()
	defer j.write.RUnlock()
	if j.log == nil {
		return 0
	}
	return j.log.Size()
}

// roomPerTask is the space for the intent and the report of one task, in bytes. Images are not
// part of a report, so it is ample.
const roomPerTask = 16 << 10

// minRoom is the least space, in bytes, for a new task.
const minRoom = 128 << 10

// EnsureRoom returns nil if there is space for another task and for the reports of all running
// tasks. It reports a full disk before a task begins, and not in the middle of it.
func (j *Journal) EnsureRoom(ctx context.Context) error {
	if err := j.Check(ctx); err != nil {
		return err
	}
	need := j.neededRoom()
	fits, err := j.hasRoom(need)
	if fits || err != nil {
		return err
	}
	if live, _ := j.liveSize(); j.Size() > 2*(live+compactBytes) || j.Size()+need > j.opts.MaxBytes && live+need < j.opts.MaxBytes/2 {
		if err := j.compact(ctx); err != nil {
			return err
		}
	}
	if err := j.reserve(ctx, need); err != nil {
		return err
	}
	if fits, err := j.hasRoom(need); fits || err != nil {
		return err
	}
	return fmt.Errorf("journal: %w: reports that the exchange has not taken yet fill it", wal.ErrFull)
}

// reserve reserves need more bytes on the disk.
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

// neededRoom returns the space in bytes that a new task requires.
func (j *Journal) neededRoom() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := int64(minRoom)
	for _, s := range j.tasks {
		if s.Open() {
			n += roomPerTask
		}
	}
	return min(n, segmentBytes/2)
}

// hasRoom reports whether need bytes are reserved on the disk and within the limit. The error says
// why the journal cannot take records at all.
func (j *Journal) hasRoom(need int64) (bool, error) {
	j.write.RLock()
	defer j.write.RUnlock()
	if err := j.err(); err != nil {
		return false, err
	}
	return j.log.Room() >= need && j.log.Size()+need <= j.opts.MaxBytes, nil
}

// Repair repairs a journal that could not write, or returns why that is not possible yet. After a
// disk error the contents of the disk are unknown: the kernel may still show data that it
// failed to write. So Repair opens and reads the files anew, writes the state of memory to a new
// file and syncs it; it never uses the old descriptor again. For a working journal, Repair only
// writes the records that the disk lacks.
func (j *Journal) Repair(ctx context.Context) error {
	if err := j.Check(ctx); err == nil {
		return j.compactIfNeeded(ctx)
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
		j.writtenBefore += total
		_ = j.log.Close() // it is broken, and its error is known
		j.log = nil
	}
	// The state in memory wins over these records: it holds every acknowledged one.
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
		j.openErr = fmt.Errorf("journal: %w", err)
		return j.openErr
	}
	j.log, j.openErr = log, nil
	return nil
}

// ErrInUse reports that another program has locked the folder.
var ErrInUse = wal.ErrInUse

// Lock keeps other programs away from a folder's devices before a journal exists, with a lock
// file at path. Close or the end of the program releases it. On a read-only file system there
// is no lock and no error.
func Lock(path string) (io.Closer, error) { return wal.Lock(path) }
