package httpcam

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// maxBroken frames in a row are a broken camera, not a bad moment.
const maxBroken = 10

// shot is the taking of one picture.
type shot struct {
	*fetcher
	cfg     Config
	now     func() time.Time
	skipped int
}

// take asks for the picture, and asks ustreamer before and after it whether it
// has a camera: between the two it may come or go.
func (s *shot) take(ctx context.Context) (drivers.Photo, error) {
	for {
		resp, err := s.get(ctx, s.home)
		if err != nil {
			return drivers.Photo{}, err
		}
		p, streamed, err := s.use(ctx, resp)
		if err != nil || streamed || s.skipped >= s.skip(0) {
			return p, err
		}
		s.skipped++
	}
}

// skip is how many pictures to throw away, fallback if nothing is configured.
func (s *shot) skip(fallback int) int {
	if s.cfg.SkipFrames != nil {
		return *s.cfg.SkipFrames
	}
	return fallback
}

// use reads the picture out of an answer and closes it.
func (s *shot) use(ctx context.Context, resp *http.Response) (_ drivers.Photo, streamed bool, err error) {
	at := s.now()
	defer func() { _ = resp.Body.Close() }() // a stream has no end that could fail
	state, err := s.cfg.stateOf(resp)
	if err != nil {
		return drivers.Photo{}, false, err
	}
	if err := errors.Join(checkOnline(resp.Header.Get(onlineHeader)), s.online(ctx, state)); err != nil {
		return drivers.Photo{}, false, err
	}
	p, streamed, err := s.read(resp, at)
	if err == nil {
		err = s.online(ctx, state)
	}
	if err != nil {
		return drivers.Photo{}, streamed, s.advise(err)
	}
	return p, streamed, nil
}

// read tells a stream from a snapshot and checks it against the mode. A
// snapshot is of the time at.
func (s *shot) read(resp *http.Response, at time.Time) (drivers.Photo, bool, error) {
	kind := resp.Header.Get("Content-Type")
	r := bufio.NewReaderSize(resp.Body, lineBytes)
	streamed := sendsStream(kind, r)
	switch {
	case streamed && s.cfg.Mode == Snapshot:
		return drivers.Photo{}, true, fmt.Errorf("%s gives a stream, and no snapshot; set mode to stream or auto", shown(resp.Request.URL))
	case streamed:
		p, err := s.frame(newFrames(r, kind, s.cfg.MaxBytes))
		return p, true, err
	case !begins(r, jpegMagic) && !begins(r, pngMagic):
		return drivers.Photo{}, false, s.noPicture(resp.Request.URL, kind, r)
	case s.cfg.Mode == Stream:
		return drivers.Photo{}, false, fmt.Errorf("%s gives a single picture, and no stream; set mode to snapshot or auto", shown(resp.Request.URL))
	}
	if age, err := strconv.Atoi(resp.Header.Get("Age")); err == nil && age > 0 { // RFC 9111 §5.1
		return drivers.Photo{}, false, fmt.Errorf("a cache answers for the camera, with a picture %d s old; set url past it", age)
	}
	p, err := readPicture(r, s.cfg.MaxBytes)
	if err == nil {
		err = p.inspect(s.cfg.MaxPixels)
	}
	return drivers.Photo{Data: p.data, MIME: p.mime, CapturedAt: at}, false, err
}

// sendsStream goes by the Content-Type, and by a boundary as the first bytes where
// that says nothing: ffmpeg calls its stream application/octet-stream.
func sendsStream(contentType string, r *bufio.Reader) bool {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "multipart/") {
		return true
	}
	return begins(r, "--") || begins(r, "\r\n--")
}

// frame takes the first whole frame behind those to skip.
func (s *shot) frame(f *frames) (drivers.Photo, error) {
	for broken := 0; ; {
		at := s.now()
		p, h, err := f.next()
		if err == nil {
			err = errors.Join(checkOnline(h.online), p.inspect(s.cfg.MaxPixels))
		}
		_, again := errors.AsType[*brokenError](err)
		switch {
		case again:
			if broken++; broken == maxBroken {
				return drivers.Photo{}, err
			}
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return drivers.Photo{}, fmt.Errorf("the stream ended after %d whole frames; %s", s.skipped, s.streamAdvice())
		case err != nil:
			return drivers.Photo{}, err
		case s.skipped >= s.skip(DefaultSkip):
			return drivers.Photo{Data: p.data, MIME: p.mime, CapturedAt: at}, nil
		default:
			s.skipped++
			broken = 0
		}
	}
}

func (s *shot) streamAdvice() string {
	if s.skipped > 0 {
		return "lower skip_frames, or raise timeout or the camera's frame rate"
	}
	return "does it show in a browser?"
}

// advise says what to do about errors of the readers.
func (s *shot) advise(err error) error {
	_, broken := errors.AsType[*brokenError](err)
	switch {
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("the picture is larger than max_bytes %d; lower the camera's resolution or raise max_bytes", s.cfg.MaxBytes)
	case broken:
		return fmt.Errorf("%w; does it show in a browser?", err)
	}
	return err
}

const (
	pageBytes = 2 << 10 // of a page that is no picture, to find its first words in
	wordRunes = 80      // of which as many are told
)

var markup = regexp.MustCompile(`(?is)<(script|style)\b.*?(</(script|style)>|$)|<[^>]*(>|$)`)

// noPicture names what came instead.
func (s *shot) noPicture(u *url.URL, contentType string, r io.Reader) error {
	page, err := io.ReadAll(io.LimitReader(r, pageBytes))
	if err != nil && len(page) == 0 {
		return fmt.Errorf("%w; is %s reachable?", err, shown(u))
	}
	if len(page) == 0 {
		return fmt.Errorf("%s answers with nothing; does it show in a browser?", shown(u))
	}
	return fmt.Errorf("%s gives %.60q, neither JPEG nor PNG: %q; set url to the picture itself", shown(u), contentType, words(page))
}

// words returns the first words of a page.
func words(page []byte) string {
	text := html.UnescapeString(markup.ReplaceAllString(strings.ToValidUTF8(string(page), " "), " "))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	return string(runes[:min(len(runes), wordRunes)])
}
