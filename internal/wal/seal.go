package wal

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/internal/durable"
)

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
