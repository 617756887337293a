package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"iter"
)

// Markers of JPEG (ITU T.81 table B.1).
const (
	markDHT   = 0xc4
	markRST0  = 0xd0
	markRST7  = 0xd7
	markEOI   = 0xd9
	markSOS   = 0xda
	markDQT   = 0xdb
	markDRI   = 0xdd
	markJFIF  = 0xe0
	markEXIF  = 0xe1
	markAdobe = 0xee
)

// segment is one marker segment. The segment of a scan ends at the next marker.
type segment struct {
	marker byte
	body   []byte // without marker, length and entropy-coded data
	whole  []byte
	from   int // place in the file, bytes
}

// segments iterates over the segments of a JPEG, including its EOI. It ends early at the end of a
// cut file, and skips bytes between segments, as decoders do.
func segments(data []byte) iter.Seq[segment] {
	return func(yield func(segment) bool) {
		for at := nextMarker(data, 2); at >= 0; { // after SOI
			m, end := data[at+1], at+2
			if m == markEOI {
				yield(segment{marker: m, whole: data[at:end], from: at})
				return
			}
			if at+4 > len(data) {
				return
			}
			n := int(binary.BigEndian.Uint16(data[at+2:]))
			if n < 2 || at+2+n > len(data) {
				return
			}
			end += n
			next := nextMarker(data, end)
			s := segment{marker: m, body: data[at+4 : end], whole: data[at:end], from: at}
			if m == markSOS && next >= 0 {
				s.whole = data[at:next]
			}
			if !yield(s) {
				return
			}
			at = next
		}
	}
}

// nextMarker finds the next marker that begins a segment: no stuffed byte, no fill byte, no
// restart (T.81 section B.1.1). It returns -1 if there is none.
func nextMarker(data []byte, at int) int {
	for at+1 < len(data) {
		i := bytes.IndexByte(data[at:len(data)-1], 0xff)
		if i < 0 {
			return -1
		}
		at += i
		if m := data[at+1]; m != 0 && m != 0xff && (m < markRST0 || m > markRST7) {
			return at
		}
		at++
	}
	return -1
}

// isFrame reports whether a marker begins a frame header (SOF0 to SOF15
// without DHT, JPG and DAC).
func isFrame(m byte) bool { return m >= 0xc0 && m <= 0xcf && m != markDHT && m != 0xc8 && m != 0xcc }

// jpegWeight returns the number of samples per pixel in memory for decoding to pixels, and for
// four inks that of the mixture, too. Coefficients need memory only for a band, even in a
// progressive picture (package dctjpeg).
func jpegWeight(data []byte, c image.Config) float64 {
	for s := range segments(data) {
		if !isFrame(s.marker) || len(s.body) < 6 {
			continue
		}
		most, sum, inks := 1, 0, 0
		for i := 6; i+2 < len(s.body); i += 3 {
			area := int(s.body[i+1]>>4) * int(s.body[i+1]&15)
			most, sum, inks = max(most, area), sum+area, inks+1
		}
		w := max(1, float64(sum)/float64(most))
		if inks == 4 {
			w += 4
		}
		return w
	}
	return modelBytes(c.ColorModel)
}

// maxScans is the largest number of scans that Fit decodes. Encoders write about ten. A small
// file with many thousands takes minutes.
const maxScans = 100

// repairJPEG repairs typical faults of cameras. It removes padding after the end, and adds the
// Huffman tables of T.81 annex K if there are none, as in the frames of a motion JPEG.
func repairJPEG(data []byte) (mended []byte, changes []string, err error) {
	scans, firstScan, tables, end := 0, 0, false, len(data)
	for s := range segments(data) {
		switch s.marker {
		case markDHT:
			tables = true
		case markEOI:
			end = s.from + len(s.whole)
		case markSOS:
			if scans++; scans == 1 {
				firstScan = s.from
			}
		}
	}
	if scans > maxScans {
		return nil, nil, fmt.Errorf("picture: the JPEG has %d scans, and the limit is %d; send it as a plain JPEG", scans, maxScans)
	}
	if end < len(data) {
		data, changes = data[:end], append(changes, "cut off what came after its end")
	}
	if scans > 0 && !tables {
		standard, err := standardTables()
		if err != nil {
			return nil, nil, err
		}
		data = bytes.Join([][]byte{data[:firstScan], standard, data[firstScan:]}, nil)
		changes = append(changes, "added the tables that its camera left out")
	}
	return data, changes, nil
}

// standardTables returns the Huffman tables of T.81 annex K, as segments. The
// encoder of image/jpeg uses no others.
func standardTables() ([]byte, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewYCbCr(image.Rect(0, 0, 1, 1), image.YCbCrSubsampleRatio420), nil); err != nil {
		return nil, err
	}
	var tables []byte
	for s := range segments(b.Bytes()) {
		if s.marker == markDHT {
			tables = append(tables, s.whole...)
		}
	}
	if tables == nil {
		return nil, errors.New("picture: no standard tables; send a JPEG with its own")
	}
	return tables, nil
}

// stripJPEG keeps the segments with the picture. Of the application data it keeps only those that
// describe the coding of colors.
func stripJPEG(data []byte) []byte {
	out := append(make([]byte, 0, len(data)), data[:2]...) // SOI
	for s := range segments(data) {
		switch m := s.marker; {
		case isFrame(m), m == markDHT, m == markDQT, m == markDRI, m == markSOS, m == markEOI:
			out = append(out, s.whole...)
		case m == markJFIF && len(s.body) >= 14 && bytes.HasPrefix(s.body, []byte("JFIF\x00")):
			out = append(out, 0xff, m, 0, 16)
			out = append(out, s.body[:12]...)
			out = append(out, 0, 0) // a thumbnail without pixels
		case m == markAdobe && len(s.body) >= 12 && bytes.HasPrefix(s.body, []byte("Adobe")):
			out = append(out, 0xff, m, 0, 14)
			out = append(out, s.body[:12]...)
		}
	}
	return out
}

// restarts reports whether a JPEG has restart markers.
func restarts(data []byte) bool {
	for s := range segments(data) {
		if s.marker == markDRI && len(s.body) == 2 && s.body[0]|s.body[1] != 0 {
			return true
		}
	}
	return false
}

// jpegEnds reports whether a JPEG has an EOI marker.
func jpegEnds(data []byte) bool {
	for s := range segments(data) {
		if s.marker == markEOI {
			return true
		}
	}
	return false
}
