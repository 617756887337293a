package httpcam

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	lineBytes   = 4 << 10  // limit for one header line, and size of the read buffer
	headerBytes = 16 << 10 // limit for the headers of one part
)

// frames reads the parts of a multipart stream. Cameras deviate from RFC 2046 §5.1.1: the
// boundary in the Content-Type may have its dashes or not, or differ from the one in the
// stream; a part may lack a Content-Length, and have padding after the image.
type frames struct {
	r     *bufio.Reader
	name  string // boundary without dashes
	begun bool
	limit int // limit for one image, and for the bytes between two
}

// part contains the headers of a frame.
type part struct {
	length int // bytes; 0 if the header is absent
	online string
}

func newFrames(r *bufio.Reader, contentType string, limit int) *frames {
	return &frames{r: r, name: boundary(contentType), limit: limit}
}

// boundary returns the boundary in a Content-Type. mime.ParseMediaType rejects values that
// some cameras send.
func boundary(contentType string) string {
	for param := range strings.SplitSeq(contentType, ";") {
		key, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(key), "boundary") {
			return strings.TrimLeft(strings.Trim(value, "\" \t"), "-")
		}
	}
	return ""
}

// next reads one frame. After a *brokenError the reader is ready for the next frame. io.EOF
// is the end of the stream.
func (f *frames) next() (picture, part, error) {
	if err := f.delimiter(); err != nil {
		return picture{}, part{}, err
	}
	h, err := f.header()
	if err != nil {
		return picture{}, part{}, err
	}
	p, err := f.body(h.length)
	if err != nil {
		return picture{}, part{}, err
	}
	return p, h, nil
}

func (f *frames) body(length int) (picture, error) {
	if length == 0 {
		p, err := readPicture(f.r, f.limit)
		if errors.Is(err, errNoPicture) {
			err = &brokenError{err}
		}
		return p, err
	}
	if length > f.limit {
		return picture{}, errTooLarge
	}
	counted := &io.LimitedReader{R: f.r, N: int64(length)}
	p, err := readPicture(bufio.NewReaderSize(counted, lineBytes), f.limit)
	if errors.Is(err, errNoPicture) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = &brokenError{err}
	}
	if broken := (*brokenError)(nil); err != nil && !errors.As(err, &broken) {
		return picture{}, err
	}
	if _, lost := io.Copy(io.Discard, counted); lost != nil {
		return picture{}, lost
	}
	return p, err
}

// delimiter reads up to and including the line that begins a part.
func (f *frames) delimiter() error {
	for seen := 0; seen <= f.limit; {
		line, n, err := f.line()
		seen += n
		switch {
		case f.closes(line):
			return io.EOF
		case f.opens(line):
			f.begun = true
			return nil
		case err != nil:
			return err
		}
	}
	return fmt.Errorf("the stream has no boundary within %d bytes; check that it is Motion JPEG", f.limit)
}

// line reads a line without its end, and returns the number of bytes read. It returns ""
// for a line longer than the buffer, which is padding or pixels.
func (f *frames) line() (string, int, error) {
	raw, err := f.r.ReadSlice('\n')
	n := len(raw)
	if !errors.Is(err, bufio.ErrBufferFull) {
		return string(bytes.TrimRight(raw, "\r\n \t")), n, err
	}
	return "", n, nil
}

func (f *frames) opens(line string) bool {
	padded := strings.TrimLeft(line, "\x00 \t")
	name := strings.TrimLeft(padded, "-")
	dashed := strings.HasPrefix(padded, "--")
	if !f.begun && dashed {
		f.name = name // the boundary in the stream takes precedence over the Content-Type
		return true
	}
	return name == f.name && (dashed || name != "")
}

func (f *frames) closes(line string) bool {
	name, ok := strings.CutSuffix(strings.TrimLeft(line, "-"), "--")
	return ok && name != "" && name == f.name
}

// header reads up to the empty line.
func (f *frames) header() (part, error) {
	var h part
	for seen := 0; seen <= headerBytes; {
		raw, err := f.r.ReadSlice('\n')
		seen += len(raw)
		if errors.Is(err, bufio.ErrBufferFull) {
			return part{}, fmt.Errorf("a frame has a header line above %d bytes; check that url is a camera", len(raw))
		}
		if err != nil {
			return part{}, noEOF(err)
		}
		line := strings.TrimRight(string(raw), "\r\n")
		if line == "" {
			return h, nil
		}
		key, value, _ := strings.Cut(line, ":")
		if err := h.set(http.CanonicalHeaderKey(strings.TrimSpace(key)), strings.TrimSpace(value)); err != nil {
			return part{}, err
		}
	}
	return part{}, fmt.Errorf("a frame has headers above %d bytes; check that url is a camera", headerBytes)
}

func (h *part) set(key, value string) error {
	switch key {
	case onlineHeader:
		h.online = value
	case "Content-Length":
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			return fmt.Errorf("a frame has the Content-Length %.20q, which is not a number", value)
		}
		if h.length = int(n); n > 1<<30 {
			return errTooLarge
		}
	}
	return nil
}
