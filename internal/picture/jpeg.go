package picture

import (
	"bytes"
	"encoding/binary"
	"image"
	"iter"
)

// Markers of JPEG (ITU T.81 table B.1).
const (
	markSOF2 = 0xc2
	markEOI  = 0xd9
	markSOS  = 0xda
	markCOM  = 0xfe
)

// segment is one marker segment before the first scan.
type segment struct {
	marker   byte
	body     []byte // without marker and length
	from, to int    // in the file, with the marker
}

// segments walks through the header of a JPEG up to and with its first SOS. It
// ends where the file is broken.
func segments(data []byte) iter.Seq[segment] {
	return func(yield func(segment) bool) {
		at := 2 // after SOI
		for at+4 <= len(data) && data[at] == 0xff {
			m := data[at+1]
			if m == 0xff { // fill
				at++
				continue
			}
			n := int(binary.BigEndian.Uint16(data[at+2:]))
			if n < 2 || at+2+n > len(data) {
				return
			}
			s := segment{m, data[at+4 : at+2+n], at, at + 2 + n}
			if !yield(s) || m == markSOS {
				return
			}
			at = s.to
		}
	}
}

// isFrame reports whether a marker begins a frame header (SOF0 to SOF15
// without DHT, JPG and DAC).
func isFrame(m byte) bool { return m >= 0xc0 && m <= 0xcf && m != 0xc4 && m != 0xc8 && m != 0xcc }

// jpegWeight counts the samples, and for a progressive picture the
// coefficients, that the decoder keeps of each pixel.
func jpegWeight(data []byte, c image.Config) float64 {
	for s := range segments(data) {
		if !isFrame(s.marker) || len(s.body) < 6 {
			continue
		}
		most, sum := 1, 0
		for i := 6; i+2 < len(s.body); i += 3 {
			area := int(s.body[i+1]>>4) * int(s.body[i+1]&15)
			most, sum = max(most, area), sum+area
		}
		samples := max(1, float64(sum)/float64(most))
		if s.marker == markSOF2 {
			return samples * (1 + 4)
		}
		return samples
	}
	return modelBytes(c.ColorModel)
}

// repairJPEG cuts off what comes after the end of the picture: some cameras pad
// their frames.
func repairJPEG(data []byte) ([]byte, []string) {
	at := len(data)
	for s := range segments(data) {
		if s.marker == markSOS {
			at = s.to
		}
	}
	for at+1 < len(data) {
		i := bytes.IndexByte(data[at:], 0xff)
		if i < 0 || at+i+1 >= len(data) {
			break
		}
		at += i
		if data[at+1] == markEOI {
			if end := at + 2; end < len(data) {
				return data[:end], []string{"cut off what came after its end"}
			}
			break
		}
		at++
	}
	return data, nil
}

// stripJPEG leaves out comments and all application data but JFIF's and Adobe's
// (which says how the colours are coded).
func stripJPEG(data []byte) []byte {
	var out []byte
	last := 0
	for s := range segments(data) {
		app := s.marker >= 0xe0 && s.marker <= 0xef
		jfif := s.marker == 0xe0 && bytes.HasPrefix(s.body, []byte("JFIF\x00"))
		if app && !jfif && s.marker != 0xee || s.marker == markCOM {
			out = append(out, data[last:s.from]...)
			last = s.to
		}
	}
	if last == 0 {
		return data
	}
	return append(out, data[last:]...)
}
