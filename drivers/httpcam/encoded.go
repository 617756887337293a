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

// picture is one encoded image without trailing bytes.
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

// brokenError reports an incomplete or invalid image. The next image may be valid.
type brokenError struct{ cause error }

func (e *brokenError) Error() string { return "the image is incomplete or invalid: " + e.cause.Error() }
func (e *brokenError) Unwrap() error { return e.cause }

// readPicture reads one JPEG or PNG of at most limit bytes, and no byte after its end,
// because cameras add padding and an open stream may send nothing more.
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

// inspect compares the size in the header of the image with maxPixels. It decodes nothing.
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
		return &brokenError{errors.New("the image has no pixels")}
	case n > int64(limit):
		return fmt.Errorf("the image has %d x %d pixels, above max_pixels %d; lower the resolution of the camera or raise max_pixels", c.Width, c.Height, limit)
	}
	return nil
}

// slackBytes is the largest unused capacity of an image buffer.
const slackBytes = 256 << 10

// pen copies the bytes of an image from r.
type pen struct {
	r     *bufio.Reader
	out   bytes.Buffer
	limit int
}

func (p *pen) finish(mime string, err error) (picture, error) {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return picture{}, &brokenError{errors.New("the image ends early")}
	case err != nil:
		return picture{}, err
	}
	data := p.out.Bytes()
	if cap(data)-len(data) > slackBytes { // saves memory, because several images may wait for their decoder
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

// copy copies n bytes. Memory grows with the received bytes, not with n.
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

// jpeg copies the segments up to the EOI marker (T.81 §B.1). The EOI of a thumbnail is
// inside a segment and does not count.
func (p *pen) jpeg() error {
	if err := p.copy(2); err != nil { // SOI
		return err
	}
	scanned := false
	m, err := p.marker()
	for ; err == nil; m, err = p.marker() {
		switch {
		case m == markerEOI && !scanned:
			return &brokenError{errors.New("the image ends before its pixels")}
		case m == markerEOI:
			return nil
		case m == markerSOI, m == 0:
			return &brokenError{fmt.Errorf("unexpected marker %#02x in the image", m)}
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

// marker copies 0xff, fill bytes, and the code of the marker.
func (p *pen) marker() (byte, error) {
	b, err := p.byte()
	if err == nil && b != 0xff {
		return 0, &brokenError{fmt.Errorf("%#02x instead of a marker", b)}
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

// entropy copies coded pixels up to the next marker. 0xff00 and restart markers belong to
// the pixels (T.81 §B.1.1.5).
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

// png copies the chunks up to IEND (PNG, third edition, §5.3).
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
