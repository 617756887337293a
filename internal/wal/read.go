package wal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/messkit/messkit/internal/durable"
)

// Record is a record with its place.
type Record struct {
	File   string // path of its segment
	Offset int64  // of its frame in the segment, in bytes
	Data   []byte // the record
}

// Tail is the end of a log.
type Tail struct {
	File   string // path of the newest segment; "" for a log without one
	Offset int64  // of the next frame, in bytes
	Torn   bool   // a frame without acknowledgement begins there; Open cuts it off
}

// Read calls visit with every record of the log in dir, oldest first. It changes nothing, so it
// works on a read-only disk, and while a program has the log open. In that case it sees the
// records at its start, and a frame in the middle of a write looks torn. Damage is a
// *CorruptError with its File.
func Read(dir string, visit func(Record) error) (Tail, error) {
	files, err := openSegments(dir)
	if err != nil {
		return Tail{}, err
	}
	defer func() {
		for _, f := range files {
			_ = f.Close() // closing after a read cannot lose data
		}
	}()
	var tail Tail
	seal := readSeal(dir)
	for i, f := range files {
		if tail, err = readSegment(f, seal, i == len(files)-1, visit); err != nil {
			return tail, err
		}
	}
	return tail, nil
}

// maxLooks is the number of times that Read lists the segments again because one is missing: a
// program that has the log open may compact it at any time.
const maxLooks = 10

// openSegments opens the valid segments, oldest first. An open file stays readable after its
// removal.
func openSegments(dir string) ([]*os.File, error) {
	for look := 1; ; look++ {
		files, err := openListed(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || look == maxLooks {
			return files, err
		}
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("wal: %w", err)
		}
	}
}

func openListed(dir string) ([]*os.File, error) {
	seqs, _, err := list(dir)
	if err != nil {
		return nil, err
	}
	base, err := baseOf(dir, seqs)
	if err != nil {
		return nil, err
	}
	seqs = seqs[base:]
	if err := noGap(dir, seqs); err != nil {
		return nil, err
	}
	var files []*os.File
	for _, seq := range seqs {
		f, err := durable.Open(filepath.Join(dir, segmentName(seq)), os.O_RDONLY)
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
			return nil, fmt.Errorf("wal: %w", err)
		}
		files = append(files, f)
	}
	return files, nil
}

func readSegment(f *os.File, seal seal, last bool, visit func(Record) error) (Tail, error) {
	tail := Tail{File: f.Name()}
	seq, err := sequence(filepath.Base(f.Name()))
	if err != nil {
		return tail, err
	}
	info, err := f.Stat()
	if err != nil {
		return tail, fmt.Errorf("wal: %w", err)
	}
	s := scanned{ReaderAt: f, path: f.Name(), size: info.Size(), seq: seq, sealed: seal.of(seq), last: last}
	_, end, err := scan(s, nil, func(frame, _ int64, record []byte) error {
		return visit(Record{File: f.Name(), Offset: frame, Data: bytes.Clone(record)})
	})
	tail.Offset = end
	if _, torn := errors.AsType[*TornError](err); torn && last {
		tail.Torn, err = true, nil
	}
	if err != nil {
		return tail, inFile(f.Name(), err)
	}
	return tail, nil
}
