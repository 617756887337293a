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

// maxBroken is the number of successive broken frames after which the camera counts as
// broken.
const maxBroken = 10

// imageRequest is one request for an image.
type imageRequest struct {
	*fetcher
	cfg     Config
	now     func() time.Time
	skipped int
}

// take requests an image, and the state of ustreamer before and after it, because the
// camera may come or go in between.
func (s *imageRequest) take(ctx context.Context) (drivers.Photo, error) {
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

// skip returns the number of images to drop; fallback is the default.
func (s *imageRequest) skip(fallback int) int {
	if s.cfg.SkipFrames != nil {
		return *s.cfg.SkipFrames
	}
	return fallback
}

// use reads the image in an answer and closes the answer.
func (s *imageRequest) use(ctx context.Context, resp *http.Response) (_ drivers.Photo, streamed bool, err error) {
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

// read detects a stream or a snapshot, and compares it with the mode. at is the capture
// time of a snapshot.
func (s *imageRequest) read(resp *http.Response, at time.Time) (drivers.Photo, bool, error) {
	kind := resp.Header.Get("Content-Type")
	r := bufio.NewReaderSize(resp.Body, lineBytes)
	streamed := sendsStream(kind, r)
	switch {
	case streamed && s.cfg.Mode == Snapshot:
		return drivers.Photo{}, true, fmt.Errorf("%s sends a stream, not a snapshot; set mode to stream or auto", shown(resp.Request.URL))
	case streamed:
		p, err := s.frame(newFrames(r, kind, s.cfg.MaxBytes))
		return p, true, err
	case !begins(r, jpegMagic) && !begins(r, pngMagic):
		return drivers.Photo{}, false, s.noPicture(resp.Request.URL, kind, r)
	case s.cfg.Mode == Stream:
		return drivers.Photo{}, false, fmt.Errorf("%s sends a single image, not a stream; set mode to snapshot or auto", shown(resp.Request.URL))
	}
	if age, err := strconv.Atoi(resp.Header.Get("Age")); err == nil && age > 0 { // RFC 9111 §5.1
		return drivers.Photo{}, false, fmt.Errorf("a cache answers instead of the camera, with an image %d s old; set url to the camera itself", age)
	}
	p, err := readPicture(r, s.cfg.MaxBytes)
	if err == nil {
		err = p.inspect(s.cfg.MaxPixels)
	}
	return drivers.Photo{Data: p.data, MIME: p.mime, CapturedAt: at}, false, err
}

// sendsStream checks the Content-Type, and then the first bytes for a boundary, because
// ffmpeg sends streams as application/octet-stream.
func sendsStream(contentType string, r *bufio.Reader) bool {
	if strings.HasPrefix(strings.ToLower(strings.TrimSpace(contentType)), "multipart/") {
		return true
	}
	return begins(r, "--") || begins(r, "\r\n--")
}

// frame returns the first complete frame after the frames to drop.
func (s *imageRequest) frame(f *frames) (drivers.Photo, error) {
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
			return drivers.Photo{}, fmt.Errorf("the stream ended after %d complete frames; %s", s.skipped, s.streamAdvice())
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

func (s *imageRequest) streamAdvice() string {
	if s.skipped > 0 {
		return "lower skip_frames, or raise timeout or the camera's frame rate"
	}
	return "check it in a browser"
}

// advise adds a remedy to errors of the readers.
func (s *imageRequest) advise(err error) error {
	_, broken := errors.AsType[*brokenError](err)
	switch {
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("the image is larger than max_bytes %d; lower the resolution of the camera or raise max_bytes", s.cfg.MaxBytes)
	case broken:
		return fmt.Errorf("%w; check it in a browser", err)
	}
	return err
}

const (
	pageBytes  = 2 << 10 // part of a page to search for its first words
	quoteRunes = 80      // length of the quotation
)

var markup = regexp.MustCompile(`(?is)<(script|style)\b.*?(</(script|style)>|$)|<[^>]*(>|$)`)

// noPicture returns an error that quotes the answer.
func (s *imageRequest) noPicture(u *url.URL, contentType string, r io.Reader) error {
	page, err := io.ReadAll(io.LimitReader(r, pageBytes))
	if err != nil && len(page) == 0 {
		return fmt.Errorf("%w; check that %s is reachable", err, shown(u))
	}
	if len(page) == 0 {
		return fmt.Errorf("%s sends an empty answer; check it in a browser", shown(u))
	}
	return fmt.Errorf("%s sends %.60q, neither JPEG nor PNG: %q; set url to the image itself", shown(u), contentType, quote(page))
}

// quote returns the first words of a page.
func quote(page []byte) string {
	text := html.UnescapeString(markup.ReplaceAllString(strings.ToValidUTF8(string(page), " "), " "))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	return string(runes[:min(len(runes), quoteRunes)])
}
