package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// load replays the segments in dir and opens the last one for appending.
func (l *Log) load(replay func([]byte) error) error {
	seqs, err := l.tidy()
	if err != nil {
		return err
	}
	for i, seq := range seqs {
		if i > 0 && seq != seqs[i-1]+1 {
			return fmt.Errorf("wal: %s: %s is missing; restore it, or move the log away", l.dir, segmentName(seqs[i-1]+1))
		}
		if err := l.loadSegment(seq, i == len(seqs)-1, replay); err != nil {
			return err
		}
	}
	if len(seqs) > 0 {
		return nil
	}
	if l.seg, err = createSegment(l.dir, 1, true, l.opts.SegmentBytes); err != nil {
		return fmt.Errorf("wal: %s: new segment: %w", l.dir, err)
	}
	l.grow(headerBytes)
	return nil
}

// tidy lists the segments that count, oldest first, and removes what an
// interrupted Compact or rotation has left.
func (l *Log) tidy() ([]uint64, error) {
	files, err := os.ReadDir(l.dir)
	if err != nil {
		return nil, fmt.Errorf("wal: %w", err)
	}
	var seqs []uint64
	for _, f := range files {
		name := f.Name()
		if strings.HasSuffix(name, ".wal.tmp") {
			if err := os.Remove(filepath.Join(l.dir, name)); err != nil && !unwritable(err) {
				return nil, fmt.Errorf("wal: %w", err)
			}
		}
		if hex, ok := strings.CutSuffix(name, ".wal"); ok {
			seq, err := strconv.ParseUint(hex, 16, 64)
			if err != nil || name != segmentName(seq) {
				return nil, fmt.Errorf("wal: %s: not a segment's name; move the file away", filepath.Join(l.dir, name))
			}
			seqs = append(seqs, seq)
		}
	}
	slices.Sort(seqs)
	return l.fromBase(seqs)
}

// fromBase drops the segments before the newest base.
func (l *Log) fromBase(seqs []uint64) ([]uint64, error) {
	for i := len(seqs) - 1; i > 0; i-- {
		h, err := readHeader(filepath.Join(l.dir, segmentName(seqs[i])), seqs[i])
		if err != nil {
			return nil, err
		}
		if h.base {
			return seqs[i:], l.remove(seqs[:i])
		}
	}
	return seqs, nil
}

func (l *Log) remove(seqs []uint64) error {
	for _, seq := range seqs {
		if err := os.Remove(filepath.Join(l.dir, segmentName(seq))); err != nil && !unwritable(err) {
			return fmt.Errorf("wal: %w", err)
		}
	}
	return nil
}

func readHeader(path string, seq uint64) (header, error) {
	f, err := os.Open(path)
	if err != nil {
		return header{}, fmt.Errorf("wal: %w", err)
	}
	b := make([]byte, headerBytes)
	n, err := f.ReadAt(b, 0)
	if err := f.Close(); err != nil {
		return header{}, fmt.Errorf("wal: %w", err)
	}
	if n < headerBytes && err != nil && n > 0 {
		err = nil // too short, which parseHeader says better
	}
	if err != nil {
		return header{}, fmt.Errorf("wal: %s: %w", path, err)
	}
	h, err := parseHeader(b[:n], seq)
	if err != nil {
		return header{}, fmt.Errorf("wal: %s: %w", path, err)
	}
	return h, nil
}

// loadSegment replays one segment, and keeps the last one open.
func (l *Log) loadSegment(seq uint64, last bool, replay func([]byte) error) error {
	path := filepath.Join(l.dir, segmentName(seq))
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	h, end, err := scan(data, seq, replay)
	if torn, ok := errors.AsType[*TornError](err); ok && last {
		err = nil
		end = torn.Offset
	}
	if err != nil {
		return fmt.Errorf("wal: %s: %w", path, err)
	}
	if !last {
		l.grow(end)
		return nil
	}
	err = l.resume(segment{path: path, seq: seq, salt: h.salt, end: end}, int64(len(data)))
	if unwritable(err) {
		l.breakWith(fmt.Errorf("%w; nothing is written until the log is opened again", err))
		err = nil
	}
	if err == nil {
		l.grow(end)
	}
	return err
}

// resume opens the last segment for appending, and cuts off what follows its
// last whole frame: a later frame must never stand behind a torn one.
func (l *Log) resume(s segment, was int64) error {
	f, err := os.OpenFile(s.path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	s.file = f
	if was != s.end {
		err = f.Truncate(s.end)
	}
	if err == nil {
		err = reserve(f, l.opts.SegmentBytes)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("wal: %s: %w", s.path, err), f.Close())
	}
	l.seg = s
	return nil
}
