package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
)

// The file of a device: a header of headerSize bytes, and then for each series its tiers, one after
// the other, each with its slots. So its size has a limit.
const (
	headerSize = 4096
	maxSeries  = 8
)

// seriesSize is the size of one series in a file, in bytes.
var seriesSize = func() (n int64) {
	for _, t := range tiers {
		n += t.count * slotSize
	}
	return n
}()

// seriesName names a series of a device: one quantity in one unit.
type seriesName struct {
	Quantity string `json:"quantity"`
	Unit     string `json:"unit,omitempty"`
}

// header is the first line of a file.
type header struct {
	Version int          `json:"messkit_history"`
	Series  []seriesName `json:"series"` // in the order of the file
}

// deviceFile is an open file of a device. Only one goroutine uses it.
type deviceFile struct {
	*os.File
	header header
}

// errDamaged says that a file is no history.
var errDamaged = errors.New("this file is no history of readings")

// openFile opens the file of a device for reading and, with write, for writing; it makes the file
// then. Without write it returns fs.ErrNotExist if there is none.
func openFile(dir *os.Root, name string, write bool) (*deviceFile, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR | os.O_CREATE
	}
	f, err := dir.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	d := &deviceFile{File: f, header: header{Version: 1}}
	if err := d.readHeader(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return d, nil
}

// readHeader reads the header. An empty file has none yet.
func (f *deviceFile) readHeader() error {
	data := make([]byte, headerSize)
	n, err := f.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n == 0 {
		return nil
	}
	if err := json.Unmarshal(data[:n], &f.header); err != nil || f.header.Version != 1 || len(f.header.Series) > maxSeries {
		return fmt.Errorf("%s: %w", f.Name(), errDamaged)
	}
	return nil
}

// place returns the position of a series. It adds a missing one, unless the file is full: then it
// returns -1.
func (f *deviceFile) place(name seriesName) (int, error) {
	i := slices.Index(f.header.Series, name)
	if i >= 0 || len(f.header.Series) >= maxSeries {
		return i, nil
	}
	f.header.Series = append(f.header.Series, name)
	data, err := json.Marshal(f.header)
	if err != nil {
		return -1, err
	}
	if len(data) >= headerSize {
		return -1, fmt.Errorf("%s: the names of the quantities are too long", f.Name())
	}
	line := slices.Repeat([]byte{' '}, headerSize)
	copy(line, data)
	line[headerSize-1] = '\n'
	if _, err := f.WriteAt(line, 0); err != nil {
		return -1, err
	}
	return len(f.header.Series) - 1, nil
}

// offset returns the position of a bucket in the file.
func offset(series, tierIndex int, number int64) int64 {
	at := int64(headerSize) + int64(series)*seriesSize
	for _, t := range tiers[:tierIndex] {
		at += t.count * slotSize
	}
	return at + number%tiers[tierIndex].count*slotSize
}

// write joins a bucket with what the file has of the same time.
func (f *deviceFile) write(series, tierIndex int, number int64, b bucket) error {
	at := offset(series, tierIndex, number)
	slot := make([]byte, slotSize)
	if _, err := f.ReadAt(slot, at); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if n, old, valid := decodeBucket(slot); valid && n == number {
		b = old.followedBy(b)
	}
	_, err := f.WriteAt(b.encode(number), at)
	return err
}

// read calls each for all valid buckets of a tier of a series from number first to last.
func (f *deviceFile) read(series, tierIndex int, first, last int64, each func(number int64, b bucket)) error {
	t := tiers[tierIndex]
	data := make([]byte, t.count*slotSize)
	n, err := f.ReadAt(data, offset(series, tierIndex, 0))
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	for i := int64(0); (i+1)*slotSize <= int64(n); i++ {
		number, b, valid := decodeBucket(data[i*slotSize : (i+1)*slotSize])
		if valid && number%t.count == i && number >= first && number <= last {
			each(number, b)
		}
	}
	return nil
}
