package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/internal/durable"
)

// Damage is a place in a log with changed bytes. It is an error.
type Damage struct {
	*CorruptError
	// Repaired is true if Open corrected one flipped bit. Nothing is lost.
	Repaired bool
	// Lost has the damaged bytes without Mended. Some of their records may still be readable.
	Lost []byte
	// Copy is the path of a file with Lost; "" without a copy.
	Copy string
}

// Error describes the damage and the repair.
func (d Damage) Error() string {
	where := fmt.Sprintf("%s: byte %d: %s", filepath.Base(d.File), d.Offset, d.What)
	switch {
	case d.Repaired:
		return where + "; messkit turned it back, the log lost nothing, and nothing needs a restore; if it happens again, replace the disk"
	case d.Copy == "":
		return where + "; messkit kept the readable records around it"
	}
	return fmt.Sprintf("%s; messkit kept the readable records around it, and a copy of the damaged bytes is %s", where, d.Copy)
}

// damagedExt is the extension of a file with damaged bytes.
const damagedExt = ".damaged"

// repairer opens a damaged log: it corrects a flipped bit, or else copies the damaged bytes and
// continues after them. With a nil mender, Open fails and leaves the damage unchanged.
type repairer struct {
	dir      string
	reported func(Damage) error
}

func (o Options) repairer(dir string) *repairer {
	if o.Damaged == nil {
		return nil
	}
	return &repairer{dir, o.Damaged}
}

// nextAfter returns the byte at which the scan of a segment continues after the broken frame at
// byte at. err is the reason for the broken frame.
func (m *repairer) nextAfter(s scanned, at int64, err error) (next int64, _ error) {
	if _, torn := errors.AsType[*TornError](err); torn && !s.last {
		err = laterFollows(err, at)
	}
	c, damaged := errors.AsType[*CorruptError](err)
	if m == nil || !damaged {
		return 0, err
	}
	c.File = s.path
	rest := make([]byte, max(0, s.size-at))
	if _, err := s.ReadAt(rest, at); err != nil && !ended(err) {
		return 0, err
	}
	if pos, bit, ok := flipped(rest, s.salt); ok && m.turnBack(s.path, at+pos, rest[pos]^bit) == nil {
		c.What = fmt.Sprintf("bit %d of byte %d had flipped", bits.TrailingZeros8(bit), at+pos)
		return at, m.reported(Damage{CorruptError: c, Repaired: true})
	}
	i, more := 0, false
	if len(rest) > 0 {
		i, more = wholeFrame(rest[1:], s.salt)
	}
	if more {
		rest = rest[:i+1]
	}
	if err := m.lose(c, rest, fmt.Sprintf("%016x-%08x", s.seq, at)); err != nil {
		return 0, err
	}
	switch {
	case more:
		return at + int64(i) + 1, nil
	case s.last:
		return 0, &TornError{Offset: at}
	}
	return s.size, nil
}

// turnBack writes one byte of a segment, and syncs it.
func (m *repairer) turnBack(path string, at int64, is byte) error {
	f, err := durable.Open(path, os.O_RDWR)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{is}, at)
	return errors.Join(err, f.Sync(), f.Close())
}

// lose stores a copy of damaged bytes, and reports the damage.
func (m *repairer) lose(c *CorruptError, lost []byte, name string) error {
	lost = bytes.TrimRight(lost, "\x00")
	d := Damage{CorruptError: c, Lost: lost, Copy: filepath.Join(m.dir, name+damagedExt)}
	if len(lost) == 0 || durable.Replace(d.Copy, lost) != nil { // on a read-only disk the segment itself stays
		d.Copy = ""
	}
	return m.reported(d)
}

// headers repairs the headers of segments. It renames a segment with an irreparable header,
// because its frames cannot be checked without the salt.
func (m *repairer) headers(seqs []uint64) (good []uint64, _ error) {
	for _, seq := range seqs {
		path := filepath.Join(m.dir, segmentName(seq))
		_, err := readHeader(path, seq)
		c, damaged := errors.AsType[*CorruptError](err)
		if !damaged || c.Rule != RuleHeader && c.Rule != RuleHeaderChecksum {
			good = append(good, seq) // it is intact, or baseOf returns its error
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("wal: %w", err)
		}
		if pos, bit, ok := flippedHeader(data, seq); ok && m.turnBack(path, pos, data[pos]^bit) == nil {
			c.What = fmt.Sprintf("bit %d of byte %d of the header had flipped", bits.TrailingZeros8(bit), pos)
			if err := m.reported(Damage{CorruptError: c, Repaired: true}); err != nil {
				return nil, err
			}
			good = append(good, seq)
			continue
		}
		if err := m.reported(Damage{CorruptError: c, Lost: bytes.TrimRight(data, "\x00"), Copy: path + damagedExt}); err != nil {
			return nil, err
		}
		if err := os.Rename(path, path+damagedExt); err != nil {
			return nil, fmt.Errorf("wal: cannot set %s aside: %w", path, err)
		}
		if err := os.Remove(filepath.Join(m.dir, sealName)); err != nil && !os.IsNotExist(err) { // a later segment may get its number
			return nil, fmt.Errorf("wal: %w", err)
		}
	}
	return good, nil
}

// flippedHeader finds the one flipped bit of a header.
func flippedHeader(data []byte, seq uint64) (pos int64, bit byte, ok bool) {
	if len(data) < headerBytes {
		return 0, 0, false
	}
	b := bytes.Clone(data[:headerBytes])
	for i := range b {
		for bit := byte(1); bit != 0; bit <<= 1 {
			b[i] ^= bit
			_, err := parseHeader(b, seq)
			b[i] ^= bit
			if err == nil {
				return int64(i), bit, true
			}
		}
	}
	return 0, 0, false
}

// flipped finds the one flipped bit of the frame at the start of b.
func flipped(b []byte, salt uint32) (pos int64, bit byte, ok bool) {
	if len(b) < frameBytes {
		return 0, 0, false
	}
	whole := func(pos int64, bit byte) bool {
		b[pos] ^= bit
		defer func() { b[pos] ^= bit }()
		body, ok := frame(b, salt)
		return ok && eachRecord(body, 0, func(int64, []byte) error { return nil }) == nil
	}
	if n := binary.LittleEndian.Uint32(b); n > 0 && n <= maxFrame && int64(n) <= int64(len(b)-frameBytes) {
		body := b[frameBytes : frameBytes+int(n)]
		pos, bit := syndrome(checksum(salt, body)^binary.LittleEndian.Uint32(b[4:]), len(body))
		if pos += frameBytes; bit != 0 && whole(pos, bit) {
			return pos, bit, true
		}
	}
	for i := range frameBytes * 8 { // the length, or the checksum
		if pos, bit := int64(i/8), byte(1)<<(i%8); whole(pos, bit) {
			return pos, bit, true
		}
	}
	return 0, 0, false
}

// syndrome returns the one bit of n bytes that changes their checksum by diff; 0 if none does.
// A checksum is linear: the effect of a bit depends only on the number of bytes after it.
func syndrome(diff uint32, n int) (pos int64, bit byte) {
	var changes [8]uint32
	for b := range changes {
		changes[b] = castagnoli[1<<b]
	}
	for i := n - 1; i >= 0; i-- {
		for b, c := range changes {
			if c == diff {
				return int64(i), 1 << b
			}
			changes[b] = castagnoli[byte(c)] ^ c>>8
		}
	}
	return 0, 0
}

// Records returns the records of a damaged frame. ok reports whether they fill the frame. If so,
// none is missing, but the content of some has changed.
func (d Damage) Records() (records [][]byte, ok bool) {
	if len(d.Lost) < frameBytes {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(d.Lost)
	if int64(n) > int64(len(d.Lost)-frameBytes) {
		return nil, false
	}
	err := eachRecord(d.Lost[frameBytes:frameBytes+int(n)], 0, func(_ int64, r []byte) error {
		records = append(records, r)
		return nil
	})
	return records, err == nil && int(n)+frameBytes == len(d.Lost)
}
