package wal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

// TornError is a segment that ends in the middle of a frame: the power failed during the
// write, before its acknowledgement.
type TornError struct {
	Offset int64 // of the torn frame, in bytes; all before it is intact
}

func (e *TornError) Error() string {
	return fmt.Sprintf("ends at byte %d in the middle of a frame", e.Offset)
}

// CorruptError is damage to acknowledged records.
type CorruptError struct {
	File   string // path of the segment
	Offset int64  // of the damaged frame, in bytes
	Rule   string // that it breaks, one of the Rule constants
	What   string
}

// The rules of a valid log. See docs/reference/journal.md.
const (
	RuleName           = "name"
	RuleSequence       = "sequence"
	RuleHeader         = "header"
	RuleHeaderChecksum = "header-checksum"
	RuleFlags          = "flags"
	RuleTail           = "tail"
	RuleChecksum       = "checksum"
	RuleRecords        = "records"
	RuleClosed         = "closed"
)

func (e *CorruptError) Error() string {
	return fmt.Sprintf("byte %d: %s; restore the file from a backup, or move the log away to start a new one", e.Offset, e.What)
}

type header struct {
	salt uint32
	base bool
}

func parseHeader(b []byte, seq uint64) (header, error) {
	if len(b) < headerBytes || string(b[:8]) != magic {
		return header{}, &CorruptError{Rule: RuleHeader, What: "not the header of a segment"}
	}
	if crc32.Checksum(b[:24], castagnoli) != binary.LittleEndian.Uint32(b[24:]) {
		return header{}, &CorruptError{Rule: RuleHeaderChecksum, What: "the header's checksum is wrong"}
	}
	if got := binary.LittleEndian.Uint64(b[8:]); got != seq {
		return header{}, &CorruptError{Rule: RuleSequence, What: fmt.Sprintf("the header says segment %d, the name says %d", got, seq)}
	}
	flags := binary.LittleEndian.Uint32(b[20:])
	if flags&^flagBase != 0 {
		return header{}, &CorruptError{Rule: RuleFlags, What: fmt.Sprintf("unknown flags %#x; a newer program has written it", flags)}
	}
	return header{salt: binary.LittleEndian.Uint32(b[16:]), base: flags&flagBase != 0}, nil
}

// visit gets the offset of a frame, the offset of a record in it, and the record, which is
// valid during the call only.
type visit func(frame, at int64, record []byte) error

// scanned is a segment during its scan.
type scanned struct {
	io.ReaderAt
	path   string
	size   int64 // in bytes
	seq    uint64
	salt   uint32
	sealed int64 // end of the segment at the last graceful shutdown, in bytes; all frames before it were on the disk
	last   bool  // no later segment follows
}

// scan calls v with every record of a segment, and returns the byte of the next frame. The error
// is a *TornError, a *CorruptError, an error of v, or one of the disk. With a mender, scan
// continues after damage.
func scan(s scanned, m *repairer, v visit) (header, int64, error) {
	f := framesAt(s, 0, s.size)
	h, err := f.header(s.seq)
	if err != nil {
		return header{}, 0, err
	}
	s.salt = h.salt
	at := int64(headerBytes)
	for at < max(s.size, s.sealed) {
		body, err := f.next(h.salt)
		if err != nil {
			return h, at, err
		}
		if body == nil {
			whole, err := settled(s, at, s.size, h.salt)
			if err = s.promised(err, at); !whole && err == nil {
				return h, at, nil
			}
			if !whole {
				next, err := m.nextAfter(s, at, err)
				if err != nil {
					return h, at, err
				}
				at = next
			}
			if at >= s.size {
				return h, at, nil
			}
			f = framesAt(s, at, s.size)
			continue
		}
		if err := eachRecord(body, at+frameBytes, func(p int64, record []byte) error { return v(at, p, record) }); err != nil {
			return h, at, located(err, at)
		}
		at += frameBytes + int64(len(body))
	}
	return h, at, nil
}

// promised returns the error for the end of a segment at byte at, without an intact frame at or
// after it. An end before s.sealed is damage.
func (s scanned) promised(err error, at int64) error {
	if _, torn := errors.AsType[*TornError](err); (torn || err == nil) && at < s.sealed {
		return &CorruptError{Offset: at, Rule: RuleClosed, What: fmt.Sprintf("no whole frame is there, although messkit closed the log properly at byte %d", s.sealed)}
	}
	return err
}

// settled reads a place without an intact frame again, because a program may be writing it: whole
// reports an intact frame. Otherwise err has the end of the segment.
func settled(r io.ReaderAt, at, size int64, salt uint32) (whole bool, err error) {
	rest := make([]byte, max(0, size-at))
	for range 2 { // one read may find the old beginning of a frame, and the new frame after it
		if _, err := r.ReadAt(rest, at); err != nil && !ended(err) {
			return false, err
		}
		if _, ok := frame(rest, salt); ok {
			return true, nil
		}
		err = ending(rest, at, salt)
		if _, damaged := errors.AsType[*CorruptError](err); !damaged {
			return false, err
		}
	}
	return false, err
}

// frames reads the frames of a segment one after the other.
type frames struct {
	r    *bufio.Reader
	left int64  // unread bytes of the segment
	body []byte // of the last frame
}

func framesAt(r io.ReaderAt, at, size int64) *frames {
	return &frames{r: bufio.NewReaderSize(io.NewSectionReader(r, at, size-at), fillFrame), left: size - at}
}

func (f *frames) header(seq uint64) (header, error) {
	b := make([]byte, headerBytes)
	n, err := io.ReadFull(f.r, b)
	if err != nil && !ended(err) {
		return header{}, err
	}
	f.left -= int64(n)
	return parseHeader(b[:n], seq)
}

// ended reports whether err is the end of the file. A program may cut off the reserved end of a
// segment during the scan.
func ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// next returns the body of the next frame, which is valid until the next call. It returns nil if
// there is no intact frame.
func (f *frames) next(salt uint32) ([]byte, error) {
	if f.left < frameBytes {
		return nil, nil
	}
	var head [frameBytes]byte
	if _, err := io.ReadFull(f.r, head[:]); ended(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	f.left -= frameBytes
	n := binary.LittleEndian.Uint32(head[:])
	if n == 0 || n > maxFrame || int64(n) > f.left {
		return nil, nil
	}
	f.body = slices.Grow(f.body[:0], int(n))[:n]
	if _, err := io.ReadFull(f.r, f.body); ended(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	f.left -= int64(n)
	if checksum(salt, f.body) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, nil
	}
	return f.body, nil
}

// frame returns the body of the frame at the start of b, if it is whole.
func frame(b []byte, salt uint32) ([]byte, bool) {
	if len(b) < frameBytes {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(b)
	if n == 0 || n > maxFrame || int64(n) > int64(len(b)-frameBytes) {
		return nil, false
	}
	body := b[frameBytes : frameBytes+int(n)]
	return body, checksum(salt, body) == binary.LittleEndian.Uint32(b[4:])
}

// ending classifies the rest of a segment at byte at, which does not begin with an intact frame.
// It returns nil for unused reserved room, a *TornError if no intact frame follows, and otherwise
// a *CorruptError.
func ending(rest []byte, at int64, salt uint32) error {
	if len(bytes.TrimLeft(rest, "\x00")) == 0 {
		return nil
	}
	// The log writes a frame only after the sync of the frame before it. If an intact frame
	// follows, this frame was intact, too.
	if next, ok := wholeFrame(rest[1:], salt); ok {
		return &CorruptError{Offset: at, Rule: RuleChecksum, What: fmt.Sprintf("the frame's checksum is wrong, and a whole frame follows at byte %d", at+1+int64(next))}
	}
	return &TornError{Offset: at}
}

// maxSearch bounds the bytes that the search for an intact frame sums up, so that bytes forged
// to look like many long frames cost no more than seconds.
const maxSearch = 1 << 30

func wholeFrame(b []byte, salt uint32) (int, bool) {
	spent := 0
	for i := 0; i+frameBytes < len(b) && spent < maxSearch; i++ {
		n := binary.LittleEndian.Uint32(b[i:])
		if n == 0 || n > maxFrame || int64(n) > int64(len(b)-i-frameBytes) {
			continue
		}
		spent += int(n)
		if _, ok := frame(b[i:], salt); ok {
			return i, true
		}
	}
	return 0, false
}

var errRecords = errors.New("the checksum is right, but the records in the frame do not fill it")

// eachRecord calls replay with each record of the body of a frame, which is at
// byte at.
func eachRecord(body []byte, at int64, replay func(int64, []byte) error) error {
	for len(body) > 0 {
		n, used := binary.Uvarint(body)
		if used <= 0 || n > uint64(len(body)-used) {
			return errRecords
		}
		end := used + int(n)
		if err := replay(at+int64(used), body[used:end:end]); err != nil {
			return err
		}
		body, at = body[end:], at+int64(end)
	}
	return nil
}

func located(err error, at int64) error {
	if errors.Is(err, errRecords) {
		return &CorruptError{Offset: at, Rule: RuleRecords, What: err.Error()}
	}
	return fmt.Errorf("record in the frame at byte %d: %w", at, err)
}

// inFile returns an error with the path of its segment.
func inFile(path string, err error) error {
	if _, torn := errors.AsType[*TornError](err); torn {
		err = laterFollows(err, 0)
	}
	if c, ok := errors.AsType[*CorruptError](err); ok {
		c.File = path
	}
	return fmt.Errorf("wal: %s: %w", path, err)
}

// laterFollows returns the error for a torn frame at byte at of a segment that is not the newest.
// This is damage.
func laterFollows(torn error, at int64) error {
	return &CorruptError{Offset: at, Rule: RuleTail, What: torn.Error() + ", and a later segment follows"}
}
