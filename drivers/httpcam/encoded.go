package httpcam

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
)

// picture is an encoded picture without anything behind it.
type picture struct {
	data []byte
	mime string
}

const (
	jpegMagic = "\xff\xd8"
	pngMagic  = "\x89PNG\r\n\x1a\n"
)

var (
	errNoPicture = errors.New("neither JPEG nor PNG")
	errTooLarge  = errors.New("larger than max_bytes")
)

// brokenError tells that a picture is not whole: the next one may be.
type brokenError struct{ why error }

func (e *brokenError) Error() string { return "the picture is not whole: " + e.why.Error() }
func (e *brokenError) Unwrap() error { return e.why }

// readPicture reads one JPEG or PNG of at most limit bytes, and no byte
// behind its end: cameras pad, and an open stream may send nothing more.
func readPicture(r *bufio.Reader, limit int) (picture, error) {
	p := &pen{r: r, limit: limit}
	switch {
	case begins(r, jpegMagic):
		return p.finish("image/jpeg", p.jpeg())
	case begins(r, pngMagic):
		return p.finish("image/png", p.png())
	}
	if _, err := r.Peek(1); err != nil {
		return picture{}, noEOF(err)
	}
	return picture{}, errNoPicture
}

func begins(r *bufio.Reader, magic string) bool {
	head, err := r.Peek(len(magic))
	return err == nil && string(head) == magic
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// inspect compares the size that a picture claims with maxPixels. It decodes
// nothing.
func (p picture) inspect(maxPixels int) error {
	decode := jpeg.DecodeConfig
	if p.mime == "image/png" {
		decode = png.DecodeConfig
	}
	c, err := decode(bytes.NewReader(p.data))
	if err != nil {
		return &brokenError{err}
	}
	return checkPixels(c, maxPixels)
}

func checkPixels(c image.Config, limit int) error {
	switch n := int64(c.Width) * int64(c.Height); {
	case n == 0:
		return &brokenError{errors.New("it has no pixels")}
	case n > int64(limit):
		return fmt.Errorf("the picture has %d x %d pixels, above max_pixels %d; lower the camera's resolution or raise max_pixels", c.Width, c.Height, limit)
	}
	return nil
}

// slackBytes is what the buffer of a picture may have beyond it.
const slackBytes = 256 << 10

// pen copies from r what belongs to a picture.
type pen struct {
	r     *bufio.Reader
	out   bytes.Buffer
	limit int
}

func (p *pen) finish(mime string, err error) (picture, error) {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return picture{}, &brokenError{errors.New("it is cut short")}
	case err != nil:
		return picture{}, err
	}
	data := p.out.Bytes()
	if cap(data)-len(data) > slackBytes { // several cameras wait for their pictures to be decoded
		data = bytes.Clone(data)
	}
	return picture{data: data, mime: mime}, nil
}

func (p *pen) write(b []byte) error {
	if p.out.Len()+len(b) > p.limit {
		return errTooLarge
	}
	p.out.Write(b)
	return nil
}

// copy takes n bytes. Memory grows with what arrives, not with what was
// promised.
func (p *pen) copy(n int64) error {
	if n > int64(p.limit-p.out.Len()) {
		return errTooLarge
	}
	_, err := io.CopyN(&p.out, p.r, n)
	return err
}

func (p *pen) byte() (byte, error) {
	b, err := p.r.ReadByte()
	if err != nil {
		return 0, err
	}
	return b, p.write([]byte{b})
}

// Markers of ITU-T T.81, table B.1.
const (
	markerTEM  = 0x01
	markerRST0 = 0xd0
	markerRST7 = 0xd7
	markerSOI  = 0xd8
	markerEOI  = 0xd9
	markerSOS  = 0xda
)

// jpeg walks the segments up to the EOI marker (T.81 §B.1). A thumbnail's EOI
// lies within a segment and does not count.
func (p *pen) jpeg() error {
	if err := p.copy(2); err != nil { // SOI
		return err
	}
	scanned := false
	m, err := p.marker()
	for ; err == nil; m, err = p.marker() {
		switch {
		case m == markerEOI && !scanned:
			return &brokenError{errors.New("it ends before its pixels")}
		case m == markerEOI:
			return nil
		case m == markerSOI, m == 0:
			return &brokenError{fmt.Errorf("marker %#02x within it", m)}
		case m == markerTEM, m >= markerRST0 && m <= markerRST7:
			continue
		}
		if err = p.segment(); err != nil {
			return err
		}
		if m == markerSOS {
			scanned = true
			if err = p.entropy(); err != nil {
				return err
			}
		}
	}
	return err
}

// marker takes 0xff, fill bytes, and the marker's code.
func (p *pen) marker() (byte, error) {
	b, err := p.byte()
	if err == nil && b != 0xff {
		return 0, &brokenError{fmt.Errorf("%#02x where a marker should be", b)}
	}
	for err == nil && b == 0xff {
		b, err = p.byte()
	}
	return b, err
}

func (p *pen) segment() error {
	head, err := p.r.Peek(2)
	if err != nil {
		return err
	}
	n := binary.BigEndian.Uint16(head)
	if n < 2 {
		return &brokenError{fmt.Errorf("a segment of %d bytes", n)}
	}
	return p.copy(int64(n))
}

// entropy takes coded pixels up to the next marker, where 0xff00 and restart
// markers are part of the pixels (T.81 §B.1.1.5).
func (p *pen) entropy() error {
	for {
		chunk, err := p.r.ReadSlice(0xff)
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		ended := err == nil && chunk[len(chunk)-1] == 0xff
		if ended {
			if chunk, err = chunk[:len(chunk)-1], p.r.UnreadByte(); err != nil {
				return err
			}
		}
		if werr := p.write(chunk); werr != nil {
			return werr
		}
		if err != nil {
			return err
		}
		if !ended {
			continue
		}
		next, err := p.r.Peek(2)
		if err != nil {
			return err
		}
		if m := next[1]; m != 0 && (m < markerRST0 || m > markerRST7) {
			return nil
		}
		if err := p.copy(2); err != nil {
			return err
		}
	}
}

// png walks the chunks up to IEND (PNG, third edition, §5.3).
func (p *pen) png() error {
	if err := p.copy(int64(len(pngMagic))); err != nil {
		return err
	}
	for {
		head, err := p.r.Peek(8)
		if err != nil {
			return err
		}
		n, kind := binary.BigEndian.Uint32(head), string(head[4:])
		if err := p.copy(8 + int64(n) + 4); err != nil { // length and type, data, checksum
			return err
		}
		if kind == "IEND" {
			return nil
		}
	}
}
