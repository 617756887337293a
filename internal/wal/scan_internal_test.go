package wal

import (
	"bytes"
	"errors"
	"testing"
)

// changingFile is a segment that changes during the reads. Each read of its first frame finds the next
// state, until the last one.
type changingFile struct{ states [][]byte }

func (l *changingFile) ReadAt(p []byte, at int64) (int, error) {
	now := l.states[0]
	if at >= headerBytes && len(l.states) > 1 {
		l.states = l.states[1:]
	}
	return bytes.NewReader(now).ReadAt(p, at)
}

// During a write, one read of a segment may find the old beginning of a frame, and then the
// intact frame after it. This is no damage unless the next read finds the same.
func TestFrameWrittenDuringScan(t *testing.T) {
	const salt = 7
	header := appendHeader(nil, 1, salt, false)
	// Each frame is one record.
	record := append([]byte{0x80, 0x80, 0x0c}, bytes.Repeat([]byte("x"), 3<<16)...)
	first := appendFrame(nil, salt, record)
	whole := append(append(bytes.Clone(header), first...), appendFrame(nil, salt, []byte{2, 'y', 'y'})...)
	begun := bytes.Clone(whole) // the write of the first frame has only begun
	clear(begun[headerBytes+100 : headerBytes+len(first)])

	read := func(states ...[]byte) (records int, err error) {
		_, _, err = scan(scanned{ReaderAt: &changingFile{states}, size: int64(len(whole)), seq: 1, last: true}, nil, func(_, _ int64, _ []byte) error { records++; return nil })
		return records, err
	}
	if n, err := read(begun, whole); n != 2 || err != nil {
		t.Errorf("read while it is written: %d records, %v", n, err)
	}
	if n, err := read(whole); n != 2 || err != nil {
		t.Errorf("read afterwards: %d records, %v", n, err)
	}
	if n, err := read(begun); n != 0 || !isCorrupt(err) {
		t.Errorf("damaged for good: %d records, %v", n, err)
	}
	if n, err := read(whole[:headerBytes+100]); n != 0 || err == nil || isCorrupt(err) {
		t.Errorf("cut in the first frame: %d records, %v", n, err)
	}
}

func isCorrupt(err error) bool { _, ok := errors.AsType[*CorruptError](err); return ok }
