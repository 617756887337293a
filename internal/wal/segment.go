package wal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/internal/durable"
)

// A segment's header, little endian:
//
//	0  magic    8 bytes
//	8  seq      uint64, the number in its name
//	16 salt     uint32, random
//	20 flags    uint32, bit 0: everything before this segment is superseded
//	24 crc32c   uint32, of bytes 0 to 23
//
// A frame begins with the length of the body (uint32) and the crc32c of salt, length and body
// (uint32). The body follows. It holds records, each after its length as uvarint. Because of the
// salt, a record cannot look like a frame.
const (
	magic       = "messkwal"
	headerBytes = 28
	frameBytes  = 8
	flagBase    = 1
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// segment is a file that is open for appending.
type segment struct {
	path string
	seq  uint64
	salt uint32
	file *os.File
	end  int64 // of the last frame, in bytes; the next frame begins here
}

func segmentName(seq uint64) string { return fmt.Sprintf("%016x.wal", seq) }

func appendHeader(b []byte, seq uint64, salt uint32, base bool) []byte {
	var flags uint32
	if base {
		flags = flagBase
	}
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint32(b, salt)
	b = binary.LittleEndian.AppendUint32(b, flags)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// appendFrame appends body as a frame.
func appendFrame(b []byte, salt uint32, body []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(body)))
	b = binary.LittleEndian.AppendUint32(b, checksum(salt, body))
	return append(b, body...)
}

func checksum(salt uint32, body []byte) uint32 {
	head := binary.LittleEndian.AppendUint32(nil, salt)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(body)))
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, body)
}

// createSegment makes a segment as a whole or not at all: the segment gets its name when it is on
// the disk. fill writes its first frames.
func createSegment(dir string, seq uint64, base bool, reserve int64, fill ...func(*segment) error) (segment, error) {
	s, err := newSegment(dir, seq, base, reserve, fill...)
	if err != nil {
		return segment{}, err
	}
	if err := os.Rename(s.tmp(), s.path); err != nil {
		return segment{}, errors.Join(errUncertain, err, s.file.Close())
	}
	if err := durable.SyncDir(dir); err != nil {
		return segment{}, errors.Join(errUncertain, err, s.file.Close())
	}
	return s, nil
}

// newSegment makes a segment that does not have its name yet.
func newSegment(dir string, seq uint64, base bool, reserve int64, fill ...func(*segment) error) (segment, error) {
	var salt [4]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return segment{}, err
	}
	s := segment{path: filepath.Join(dir, segmentName(seq)), seq: seq, salt: binary.LittleEndian.Uint32(salt[:])}
	f, err := os.OpenFile(s.tmp(), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return segment{}, err
	}
	s.file = f
	if err := s.build(base, reserve, fill); err != nil {
		return segment{}, errors.Join(err, f.Close(), os.Remove(s.tmp()))
	}
	return s, nil
}

// tmp is the path of the segment until it is on the disk.
func (s *segment) tmp() string { return s.path + ".tmp" }

// errUncertain: a new segment may or may not exist after a crash, so records in the old one may
// or may not count.
var errUncertain = errors.New("the log writes nothing more until messkit opens it again")

func (s *segment) build(base bool, size int64, fill []func(*segment) error) error {
	if size > 0 {
		if err := reserve(s.file, size); err != nil {
			return fmt.Errorf("reserve %d bytes: %w", size, err)
		}
	}
	if _, err := s.file.WriteAt(appendHeader(nil, s.seq, s.salt, base), 0); err != nil {
		return err
	}
	s.end = headerBytes
	for _, f := range fill {
		if err := f(s); err != nil {
			return err
		}
	}
	return s.file.Sync()
}

// append writes one frame and syncs it.
func (s *segment) append(body []byte) error {
	if err := s.put(body); err != nil {
		return err
	}
	return s.file.Sync()
}

// errGone: the file of the log has lost its name, so that Open cannot find new records.
var errGone = errors.New("no longer exists, or is another file now")

// checkLinked returns an error if the file of the segment has lost its name.
func (s *segment) checkLinked() error {
	mine, err := s.file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(s.path)
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(mine, named) {
		err = fmt.Errorf("%s %w", s.path, errGone)
	}
	return err
}

func (s *segment) put(body []byte) error {
	frame := appendFrame(make([]byte, 0, frameBytes+len(body)), s.salt, body)
	if _, err := s.file.WriteAt(frame, s.end); err != nil {
		return err
	}
	s.end += int64(len(frame))
	return nil
}

// close releases the unused reserved room, and closes the file.
func (s *segment) close() error {
	if s.file == nil {
		return nil // opened for reading only
	}
	return errors.Join(s.file.Truncate(s.end), s.file.Close())
}

// seal has the end of a log at its last graceful shutdown. All bytes before it were on the disk,
// so an incomplete frame there is damage, not the effect of a power cut. A seal stays true when
// the log grows.
type seal struct {
	seq uint64 // of the newest segment
	end int64  // of its last frame, in bytes
}

// sealName is the name of the file with the seal.
const sealName = "closed"

const sealForm = "%016x %d"

// text returns the content of the seal's file, with a checksum.
func (s seal) text() string {
	line := fmt.Sprintf(sealForm, s.seq, s.end)
	return fmt.Sprintf("%s %08x\n", line, crc32.Checksum([]byte(line), castagnoli))
}

func (s seal) write(dir string) error {
	if err := durable.Replace(filepath.Join(dir, sealName), []byte(s.text())); err != nil {
		return fmt.Errorf("wal: %w", err)
	}
	return nil
}

// readSeal reads the seal of a log. It returns an empty seal if the file is missing or damaged.
func readSeal(dir string) (s seal) {
	data, err := os.ReadFile(filepath.Join(dir, sealName))
	if err != nil {
		return seal{}
	}
	if _, err := fmt.Sscanf(string(data), sealForm, &s.seq, &s.end); err != nil || string(data) != s.text() || s.end < 0 {
		return seal{}
	}
	return s
}

// of returns the end of a segment by the seal, in bytes, or 0 if the seal is for another segment.
func (s seal) of(seq uint64) int64 {
	if s.seq != seq {
		return 0
	}
	return s.end
}
