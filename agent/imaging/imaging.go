// Package imaging captures images for an agent. It handles everything that all cameras have in
// common. It captures an image after the request for it, and captures again if nothing is
// visible. Simultaneous requests share an image, and several cameras together stay within the
// memory of a small board.
//
// It knows no threads, and of a camera only how to capture an image.
package imaging

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
	"github.com/messkit/messkit/internal/wait"
)

const (
	// MaxCaptures is the maximum number of images per request, until something is visible.
	MaxCaptures = 3
	// MaxPixels limits the pixels that all decoders together process. The largest decoder path
	// takes 3 bytes per pixel: some 50 MB, on boards with 512 MB. A larger image decodes alone.
	MaxPixels = 16 << 20
)

// warmUp is the pause before the second image; the pause before the third is twice as long.
// Cameras adjust their exposure within a second.
const warmUp = 500 * time.Millisecond

// Fit reduces an image to limits, as picture.Fit does.
type Fit func(ctx context.Context, data []byte, lim picture.Limits) (picture.Picture, error)

// CaptureFunc captures one image with one camera.
type CaptureFunc func(ctx context.Context) (drivers.Photo, error)

// Cameras manages all cameras of an agent. It is safe for concurrent use.
type Cameras struct {
	fit          Fit // nil: return images unchanged and unchecked
	now          func() time.Time
	pixels       *semaphore.Weighted
	placeholders map[string][]picture.Sketch // placeholders, by camera

	mu       sync.Mutex
	sessions map[string]*captureSession // cameras with waiting requests
	last     map[string]digest          // digest of the last image of each camera
}

// digest identifies an image of a camera. Sensors have noise, so two captured images are never
// identical.
type digest [sha256.Size]byte

// NewCameras returns a Room without known placeholders. fit may be nil.
func NewCameras(fit Fit, now func() time.Time) *Cameras {
	return &Cameras{fit: fit, now: now, pixels: semaphore.NewWeighted(MaxPixels), placeholders: map[string][]picture.Sketch{}, sessions: map[string]*captureSession{}, last: map[string]digest{}}
}

// SetPlaceholders sets the placeholder images that a camera or its server sends without a real
// image. Call it before the first image.
func (r *Cameras) SetPlaceholders(name string, placeholders []picture.Sketch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.placeholders[name] = placeholders
}

// Image is a captured image.
type Image struct {
	drivers.Photo         // as the camera sent it
	NothingVisible string // why nothing is visible, in words; "" if something is
	isPlaceholder  bool   // it is the placeholder for a missing camera
	maybeSynthetic bool   // it may be synthetic: only a different image disproves that
	reduced        *reducedVersions
}

// captureSession is one camera with waiting requests.
type captureSession struct {
	turn     chan struct{} // held during a capture
	last     captureResult // guarded by turn
	requests int           // number of requests; guarded by Room.mu
}

// captureResult is the result of a capture.
type captureResult struct {
	began time.Time // by the room's clock; zero: no capture yet
	image Image
	err   error
}

// Capture captures an image with a camera. A caller that arrives during a capture waits for the
// next one and shares it with other waiting callers; the image is never older than the call.
// lim are the limits for the later message, so that one decoding serves both the check and the
// message.
func (r *Cameras) Capture(ctx context.Context, name string, lim picture.Limits, take CaptureFunc) (Image, error) {
	asked := r.now()
	e, leave, err := r.enter(ctx, name)
	if err != nil {
		return Image{}, err
	}
	defer leave()
	if !e.last.began.Before(asked) && !e.last.began.IsZero() {
		return e.last.image, e.last.err
	}
	began := r.now()
	s, err := r.captureVisible(ctx, name, lim, take)
	if ctx.Err() == nil { // a cancelled capture has no result for others
		e.last = captureResult{began, s, err}
	}
	return s, err
}

// Frame captures one image with a camera for a live picture, and reduces it to limits. It does not
// judge what is visible. While another caller captures, it waits.
func (r *Cameras) Frame(ctx context.Context, name string, lim picture.Limits, take CaptureFunc) (picture.Picture, error) {
	_, leave, err := r.enter(ctx, name)
	if err != nil {
		return picture.Picture{}, err
	}
	defer leave()
	p, err := r.takeFresh(ctx, take)
	if err != nil {
		return picture.Picture{}, err
	}
	return r.Fit(ctx, r.ImageOf(p), lim)
}

// enter returns the session of a camera when it is the turn of the caller. leave ends the turn.
func (r *Cameras) enter(ctx context.Context, name string) (e *captureSession, leave func(), err error) {
	e = r.openSession(name)
	select {
	case e.turn <- struct{}{}:
		return e, func() { <-e.turn; r.closeSession(name, e) }, nil
	case <-ctx.Done():
		r.closeSession(name, e)
		return nil, nil, context.Cause(ctx)
	}
}

// takeFresh captures one image, which is not from before the call.
func (r *Cameras) takeFresh(ctx context.Context, take CaptureFunc) (drivers.Photo, error) {
	since := r.now()
	p, err := take(ctx)
	if err == nil {
		err = Fresh(p, since)
	}
	return p, err
}

// openSession returns the session of a camera, which exists until closeSession.
func (r *Cameras) openSession(name string) *captureSession {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.sessions[name]
	if e == nil {
		e = &captureSession{turn: make(chan struct{}, 1)}
		r.sessions[name] = e
	}
	e.requests++
	return e
}

// closeSession drops the last image of a camera after its last caller.
func (r *Cameras) closeSession(name string, e *captureSession) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.requests--; e.requests == 0 {
		delete(r.sessions, name)
	}
}

// captureVisible captures up to Takes images until something is visible. It returns the last one
// otherwise, but an error for a placeholder.
func (r *Cameras) captureVisible(ctx context.Context, name string, lim picture.Limits, take CaptureFunc) (Image, error) {
	last, err := r.captureRepeatedly(ctx, name, lim, take)
	if err == nil && last.isPlaceholder {
		return Image{}, fmt.Errorf("%s: the camera is missing: its server sends a placeholder; check its plug and its network", name)
	}
	return last, err
}

func (r *Cameras) captureRepeatedly(ctx context.Context, name string, lim picture.Limits, take CaptureFunc) (Image, error) {
	var last Image
	for n := range MaxCaptures {
		if n > 0 && !wait.For(ctx, warmUp<<(n-1)) {
			return last, nil
		}
		s, err := r.captureOne(ctx, name, lim, take)
		switch {
		case err != nil && n > 0:
			return last, nil // an earlier image exists
		case err != nil:
			return Image{}, err
		}
		same, known := r.repeatsLast(name, s.Data)
		if s.maybeSynthetic && same {
			s.NothingVisible = cmp.Or(s.NothingVisible, "it is identical to the last image; check whether the camera hangs or its server sends a page")
		}
		if last = s; s.NothingVisible == "" && !s.isPlaceholder && (!s.maybeSynthetic || known) {
			return s, nil
		}
	}
	return last, nil
}

// repeatsLast reports whether a camera's image is identical to its last one, and whether there was
// a last one. It stores the image's digest.
func (r *Cameras) repeatsLast(name string, data []byte) (same, known bool) {
	sum := digest(sha256.Sum256(data))
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.last[name]
	r.last[name] = sum
	return known && was == sum, known
}

// captureOne captures and checks one image.
func (r *Cameras) captureOne(ctx context.Context, name string, lim picture.Limits, take CaptureFunc) (Image, error) {
	p, err := r.takeFresh(ctx, take)
	if err != nil {
		return Image{}, err
	}
	s := r.ImageOf(p)
	f, err := r.Fit(ctx, s, lim)
	small := s
	if err == nil { // else the sender reports the error: it may have smaller limits or more time
		s.NothingVisible, s.maybeSynthetic, small = nothingVisible(f.Statistics), f.Statistics.Smooth, r.ImageOf(drivers.Photo{Data: f.Data, MIME: f.MIME})
	}
	s.isPlaceholder = r.isPlaceholder(ctx, name, small)
	return s, nil
}

// isPlaceholder reports whether an image is a known placeholder. s is an image that already fits,
// so that the original need not be decoded again.
func (r *Cameras) isPlaceholder(ctx context.Context, name string, s Image) bool {
	r.mu.Lock()
	known := r.placeholders[name]
	r.mu.Unlock()
	if len(known) == 0 {
		return false // avoids decoding without placeholders
	}
	small, err := r.Fit(ctx, s, picture.Limits{MaxPx: picture.SketchPx})
	if err != nil {
		return false // the sender reports the error
	}
	is, err := picture.SketchOf(ctx, small.Data)
	return err == nil && slices.ContainsFunc(known, is.Shows)
}

// Fresh returns an error for an image from before since: a cached image is no evidence of the
// current state.
func Fresh(p drivers.Photo, since time.Time) error {
	switch {
	case p.CapturedAt.IsZero():
		return errors.New("the driver gives no capture time")
	case p.CapturedAt.Before(since):
		return fmt.Errorf("the image is too old: the camera captured it %v before the request", since.Sub(p.CapturedAt).Round(time.Millisecond))
	}
	return nil
}

// nothingVisible describes why nothing is visible.
func nothingVisible(s picture.Statistics) string {
	switch {
	case s.Black:
		return "it is black; check the lens cover and the light"
	case s.Flat:
		return "it has one brightness everywhere; check the lens cover, and whether the camera sends a placeholder"
	case s.Page:
		return "it shows text on a plain background; check whether the camera's server has lost the camera and sends a page"
	}
	return ""
}
