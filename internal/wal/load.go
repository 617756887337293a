package wal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/messkit/messkit/internal/durable"
)

// load replays the segments in dir and opens the last one for appending.
func (l *Log) load(replay func(Place, []byte) error) error {
	seal := readSeal(l.dir) // before the mender renames a damaged last segment
	seqs, err := l.cleanSegments()
	if err != nil {
		return err
	}
	if err := noGap(l.dir, seqs); err != nil {
		return err
	}
	for i, seq := range seqs {
		if err := l.loadSegment(seq, seal.of(seq), i == len(seqs)-1, replay); err != nil {
			return err
		}
	}
	if len(seqs) > 0 {
		last := seqs[len(seqs)-1]
		l.orderly = seal.seq > last || seal.seq == last && seal.end >= l.ended
		return nil
	}
	if l.seg, err = createSegment(l.dir, l.first(), true, l.opts.SegmentBytes); err != nil {
		return fmt.Errorf("wal: %s: new segment: %w", l.dir, err)
	}
	l.grow(headerBytes)
	l.countBytes(headerBytes)
	return nil
}

// noGap returns an error if a segment between two others is missing. A renamed damaged segment is
// not missing.
func noGap(dir string, seqs []uint64) error {
	for i, seq := range seqs {
		for missing := seqs[max(0, i-1)] + 1; missing < seq; missing++ {
			name := filepath.Join(dir, segmentName(missing))
			if _, err := os.Stat(name + damagedExt); err == nil {
				continue // renamed
			}
			return inFile(name, &CorruptError{Rule: RuleSequence, What: "is missing"})
		}
	}
	return nil
}

// cleanSegments lists the valid segments, oldest first, and removes the files of an interrupted
// Compact or rotation.
func (l *Log) cleanSegments() ([]uint64, error) {
	seqs, left, err := list(l.dir)
	if err != nil {
		return nil, err
	}
	for _, name := range left {
		if err := os.Remove(filepath.Join(l.dir, name)); err != nil && !unwritable(err) {
			return nil, fmt.Errorf("wal: %w", err)
		}
	}
	if m := l.opts.repairer(l.dir); m != nil {
		if seqs, err = m.headers(seqs); err != nil {
			return nil, err
		}
	}
	base, err := baseOf(l.dir, seqs)
	if err != nil {
		return nil, err
	}
	return seqs[base:], l.remove(seqs[:base])
}

// list returns the numbers of the segments in dir, oldest first, and the names of unfinished
// segments.
func list(dir string) (seqs []uint64, left []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("wal: %w", err)
	}
	for _, f := range files {
		name := f.Name()
		if strings.HasSuffix(name, ".wal.tmp") {
			left = append(left, name)
		}
		if !strings.HasSuffix(name, ".wal") {
			continue
		}
		seq, err := sequence(name)
		if err != nil {
			return nil, nil, inFile(filepath.Join(dir, name), err)
		}
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	return seqs, left, nil
}

// sequence returns the number in the name of a segment.
func sequence(name string) (uint64, error) {
	hex := strings.TrimSuffix(name, ".wal")
	seq, err := strconv.ParseUint(hex, 16, 64)
	if err != nil || name != segmentName(seq) {
		return 0, &CorruptError{Rule: RuleName, What: "not a segment's name"}
	}
	return seq, nil
}

// baseOf returns the index of the first segment that counts: the newest base supersedes all
// before it.
func baseOf(dir string, seqs []uint64) (int, error) {
	for i := len(seqs) - 1; i > 0; i-- {
		h, err := readHeader(filepath.Join(dir, segmentName(seqs[i])), seqs[i])
		if err != nil || h.base {
			return i, err
		}
	}
	return 0, nil
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
	f, err := durable.Open(path, os.O_RDONLY)
	if err != nil {
		return header{}, fmt.Errorf("wal: %w", err)
	}
	b := make([]byte, headerBytes)
	n, err := f.ReadAt(b, 0)
	if err := f.Close(); err != nil {
		return header{}, fmt.Errorf("wal: %w", err)
	}
	if n < headerBytes && err != nil && n > 0 {
		err = nil // too short: parseHeader returns a better error
	}
	if err != nil {
		return header{}, fmt.Errorf("wal: %s: %w", path, err)
	}
	h, err := parseHeader(b[:n], seq)
	if err != nil {
		return header{}, inFile(path, err)
	}
	return h, nil
}

// loadSegment replays one segment, and keeps the last one open.
func (l *Log) loadSegment(seq uint64, sealed int64, last bool, replay func(Place, []byte) error) error {
	path := filepath.Join(l.dir, segmentName(seq))
	f, err := durable.Open(path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("wal: %w", err), f.Close())
	}
	s := scanned{ReaderAt: f, path: path, size: info.Size(), seq: seq, sealed: sealed, last: last}
	h, end, err := scan(s, l.opts.repairer(l.dir), func(_, at int64, record []byte) error {
		return replay(placeOf(seq, at, record), record)
	})
	err = errors.Join(err, f.Close())
	if torn, ok := errors.AsType[*TornError](err); ok && last {
		err = nil
		end = torn.Offset
	}
	if err != nil {
		return inFile(path, err)
	}
	if !last {
		l.grow(end)
		return nil
	}
	l.ended = end
	if sealed > end { // the handler knows the part that resume cuts off; the seal must not cover later records at its place
		err = seal{seq, end}.write(l.dir)
	}
	if err == nil {
		err = l.resume(segment{path: path, seq: seq, salt: h.salt, end: end}, info.Size())
	}
	if unwritable(err) || errors.Is(err, syscall.EIO) { // every record was readable
		l.breakWith(fmt.Errorf("%w; the log writes nothing until messkit opens it again", err))
		err = nil
	}
	if err == nil {
		l.grow(end)
	}
	return err
}

// resume opens the last segment for appending, and cuts it off after its last intact frame. A
// frame must never follow a torn one.
func (l *Log) resume(s segment, was int64) error {
	f, err := durable.Open(s.path, os.O_RDWR)
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

// first returns the number of the first segment for a log without segments. It follows the
// numbers of renamed segments.
func (l *Log) first() uint64 {
	first := uint64(1)
	names, _ := filepath.Glob(filepath.Join(l.dir, "*.wal"+damagedExt)) // the pattern is well formed
	for _, name := range names {
		if seq, err := sequence(strings.TrimSuffix(filepath.Base(name), damagedExt)); err == nil {
			first = max(first, seq+1)
		}
	}
	return first
}
