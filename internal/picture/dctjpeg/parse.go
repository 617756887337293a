package dctjpeg

import (
	"bytes"
	"encoding/binary"
	"math"
)

// Markers (T.81 table B.1).
const (
	mSOF0  = 0xc0
	mSOF1  = 0xc1
	mSOF2  = 0xc2
	mDHT   = 0xc4
	mJPG   = 0xc8
	mDAC   = 0xcc
	mSOF15 = 0xcf
	mRST0  = 0xd0
	mRST7  = 0xd7
	mSOI   = 0xd8
	mEOI   = 0xd9
	mSOS   = 0xda
	mDQT   = 0xdb
	mDRI   = 0xdd
	mAPP0  = 0xe0
	mAPP14 = 0xee
	mTEM   = 0x01
)

// component is one component of a picture.
type component struct {
	id           byte
	h, v         int // sampling factors
	quant        int // number of its table
	wide, high   int // blocks, with those that fill the last units
	needW, needH int // blocks with samples of the picture
}

// Source is a JPEG with a parsed header.
type Source struct {
	Width, Height int // pixels, as stored
	Model         Model
	Inverted      bool // Adobe's inks: 255 means no ink
	Progressive   bool

	data       []byte
	scans      int // offset of the first scan's segment
	comps      []component
	hMax, vMax int
	mcuW, mcuH int // units of the picture, across and down
	tables     tables
	adobe      int // transform of the Adobe segment; -1: no such segment
	jfif       bool
}

// tables contains the tables that segments between the scans may change.
type tables struct {
	quant   [4][64]uint16 // in the order of a scan; 0: not defined
	dc, ac  [4]*huffman
	restart int // units between two restart markers; 0: none
}

// segment is a marker with its body. end is the offset behind it.
type segment struct {
	marker   byte
	body     []byte
	from     int
	end      int
	complete bool // the data contain the whole body
}

// next finds the segment that begins at or behind at. It skips bytes that are no marker, as all
// decoders do.
func next(data []byte, at int) (segment, bool) {
	for at+1 < len(data) {
		if data[at] != 0xff {
			n := bytes.IndexByte(data[at:], 0xff)
			if n < 0 {
				break
			}
			at += n
			continue
		}
		if data[at+1] == 0xff {
			at++
			continue
		}
		m := data[at+1]
		if m == 0 || m == mTEM || m >= mRST0 && m <= mSOI {
			at += 2
			continue
		}
		if m == mEOI {
			return segment{marker: m, from: at, end: at + 2, complete: true}, true
		}
		s := segment{marker: m, from: at, end: len(data)}
		if at+4 > len(data) {
			return s, true
		}
		n := int(binary.BigEndian.Uint16(data[at+2:]))
		if n >= 2 && at+2+n <= len(data) {
			s.body, s.end, s.complete = data[at+4:at+2+n], at+2+n, true
		} else if n < 2 {
			s.end = at + 2 // no segment: noise
			s.marker = 0
		}
		return s, true
	}
	return segment{}, false
}

// Parse reads the header of a JPEG. The caller must not change the data while it uses the source.
func Parse(data []byte) (*Source, error) {
	if len(data) < 4 || data[0] != 0xff || data[1] != mSOI {
		return nil, broken("no JPEG")
	}
	s := &Source{data: data, adobe: -1}
	for at := 2; ; {
		g, ok := next(data, at)
		switch {
		case !ok || !g.complete && g.marker != 0:
			return nil, ErrCut
		case g.marker == mEOI:
			return nil, broken("no picture before its end")
		case g.marker == mSOS:
			if s.comps == nil {
				return nil, broken("a scan before the frame's header")
			}
			s.scans = g.from
			return s, s.model()
		}
		if err := s.header(g); err != nil {
			return nil, err
		}
		at = g.end
	}
}

func (s *Source) header(g segment) error {
	switch m, b := g.marker, g.body; {
	case m == mSOF0 || m == mSOF1 || m == mSOF2:
		s.Progressive = m == mSOF2
		return s.frame(b)
	case m == 0xc3 || m == 0xc7:
		return unsupported("lossless coding (SOF%d)", m-mSOF0)
	case m == 0xc5 || m == 0xc6:
		return unsupported("hierarchical coding (SOF%d)", m-mSOF0)
	case m > mJPG && m <= mSOF15 && m != mDAC:
		return unsupported("arithmetic coding (SOF%d)", m-mSOF0)
	case m == mAPP14 && len(b) >= 12 && string(b[:5]) == "Adobe":
		s.adobe = int(b[11])
	case m == mAPP0 && len(b) >= 5 && string(b[:5]) == "JFIF\x00":
		s.jfif = true
	default:
		return s.tables.read(g)
	}
	return nil
}

// frame reads a frame header (T.81 section B.2.2).
func (s *Source) frame(b []byte) error {
	if s.comps != nil {
		return broken("two frames")
	}
	if len(b) < 6 || len(b) < 6+3*int(b[5]) {
		return broken("a short frame header")
	}
	if b[0] != 8 {
		return unsupported("%d bits a sample, not 8", b[0])
	}
	s.Height, s.Width = int(binary.BigEndian.Uint16(b[1:])), int(binary.BigEndian.Uint16(b[3:]))
	if s.Width == 0 || s.Height == 0 {
		return broken("%d x %d pixels", s.Width, s.Height)
	}
	n := int(b[5])
	if n != 1 && n != 3 && n != 4 {
		return unsupported("%d components", n)
	}
	s.hMax, s.vMax = 1, 1
	for i := range n {
		d := b[6+3*i:]
		c := component{id: d[0], h: int(d[1] >> 4), v: int(d[1] & 15), quant: int(d[2])}
		if c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4 || c.quant > 3 {
			return broken("component %d has sampling %d x %d and table %d", i, c.h, c.v, c.quant)
		}
		if n == 1 {
			c.h, c.v = 1, 1 // its unit is one block, whatever the factors are (T.81 section A.2.2)
		}
		s.hMax, s.vMax = max(s.hMax, c.h), max(s.vMax, c.v)
		s.comps = append(s.comps, c)
	}
	s.mcuW, s.mcuH = ceilDiv(s.Width, 8*s.hMax), ceilDiv(s.Height, 8*s.vMax)
	units := 0
	for i := range s.comps {
		c := &s.comps[i]
		c.wide, c.high = s.mcuW*c.h, s.mcuH*c.v
		c.needW, c.needH = ceilDiv(ceilDiv(s.Width*c.h, s.hMax), 8), ceilDiv(ceilDiv(s.Height*c.v, s.vMax), 8)
		units += c.h * c.v
	}
	if units > 10 && n > 1 {
		return broken("%d blocks in a unit, at most 10 may be", units)
	}
	return nil
}

// model sets the color model by the rules of libjpeg.
func (s *Source) model() error {
	id := [maxComponents]byte{}
	for i, c := range s.comps {
		id[i] = c.id
	}
	switch len(s.comps) {
	case 1:
		s.Model = Gray
	case 3:
		s.Model = YCbCr
		letters := id == [maxComponents]byte{'R', 'G', 'B'}
		if !s.jfif && (s.adobe == 0 || s.adobe < 0 && letters) {
			s.Model = RGB
		}
	case 4:
		s.Model, s.Inverted = CMYK, s.adobe >= 0
		if s.adobe == 2 {
			s.Model = YCCK
		}
	}
	return nil
}

// read reads the tables of a segment.
func (t *tables) read(g segment) error {
	switch g.marker {
	case mDQT:
		return t.readQuant(g.body)
	case mDHT:
		return t.readHuffman(g.body)
	case mDRI:
		if len(g.body) != 2 {
			return broken("a restart interval of %d bytes", len(g.body))
		}
		t.restart = int(binary.BigEndian.Uint16(g.body))
	}
	return nil
}

// readQuant reads quantization tables (T.81 section B.2.4.1).
func (t *tables) readQuant(b []byte) error {
	for len(b) > 0 {
		wide, n := int(b[0]>>4), int(b[0]&15)
		size := 64 * (1 + wide)
		if wide > 1 || n > 3 || len(b) < 1+size {
			return broken("a quantisation table")
		}
		for k := range 64 {
			q := uint16(b[1+k])
			if wide == 1 {
				q = binary.BigEndian.Uint16(b[1+2*k:])
			}
			if q == 0 {
				return broken("a quantizer of 0")
			}
			t.quant[n][k] = q
		}
		b = b[1+size:]
	}
	return nil
}

// readHuffman reads Huffman tables (T.81 section B.2.4.2).
func (t *tables) readHuffman(b []byte) error {
	for len(b) > 0 {
		if len(b) < 17 {
			return broken("a short Huffman table")
		}
		class, n, sum := b[0]>>4, b[0]&15, 0
		for _, c := range b[1:17] {
			sum += int(c)
		}
		if class > 1 || n > 3 || sum > 256 || len(b) < 17+sum {
			return broken("a Huffman table")
		}
		h, err := newHuffman([16]byte(b[1:17]), b[17:17+sum])
		if err != nil {
			return err
		}
		if class == 0 {
			t.dc[n] = h
		} else {
			t.ac[n] = h
		}
		b = b[17+sum:]
	}
	return nil
}

// Body returns the number of bytes of the scans.
func (s *Source) Body() int { return len(s.data) - s.scans }

// Coarseness returns the coarseness of the quantizer of the brightness: the geometric mean of its
// steps as multiples of those in T.81 annex K.
func (s *Source) Coarseness() float64 {
	const fine = 36 // few of the later steps matter
	sum := 0.0
	for k := 1; k < fine; k++ {
		sum += math.Log(float64(max(1, s.tables.quant[s.comps[0].quant][k])) / float64(annexK[zigzag[k]]))
	}
	return math.Exp(sum / (fine - 1))
}
