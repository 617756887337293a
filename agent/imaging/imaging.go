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
	fit    Fit // nil: return images unchanged and unchecked
	now    func() time.Time
	pixels *semaphore.Weighted
	known  map[string][]picture.Sketch // placeholders, by camera

	mu   sync.Mutex
	eyes map[string]*eye   // cameras with waiting requests
	last map[string]digest // digest of the last image of each camera
}

// digest identifies an image of a camera. Sensors have noise, so two captured images are never
// identical.
type digest [sha256.Size]byte

// NewCameras returns a Room without known placeholders. fit may be nil.
func NewCameras(fit Fit, now func() time.Time) *Cameras {
	return &Cameras{fit: fit, now: now, pixels: semaphore.NewWeighted(MaxPixels), known: map[string][]picture.Sketch{}, eyes: map[string]*eye{}, last: map[string]digest{}}
}

// SetPlaceholders sets the placeholder images that a camera or its server sends without a real image. Call
// it before the first Shoot.
func (r *Cameras) SetPlaceholders(name string, placeholders []picture.Sketch) {
	r.known[name] = placeholders
}

// Image is a captured image.
type Image struct {
	drivers.Photo         // as the camera sent it
	NothingVisible string // why nothing is visible, in words; "" if something is
	gone           bool   // it is the placeholder for a missing camera
	smooth         bool   // it may be synthetic: only a different image disproves that
	fits           *fits
}

// eye is one camera with waiting requests.
type eye struct {
	turn chan struct{} // held during a capture
	last outcome       // guarded by turn
	want int           // number of requests; guarded by Room.mu
}

// outcome is the result of a capture.
type outcome struct {
	began time.Time // by the room's clock; zero: no capture yet
	shot  Image
	err   error
}

// Capture captures an image with a camera. A caller that arrives during a capture waits for the
// next one and shares it with other waiting callers; the image is never older than the call.
// lim are the limits for the later message, so that one decoding serves both the check and the
// message.
func (r *Cameras) Capture(ctx context.Context, name string, lim picture.Limits, take CaptureFunc) (Image, error) {
	asked := r.now()
	e := r.come(name)
	defer r.leave(name, e)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return Image{}, context.Cause(ctx)
	}
	if !e.last.began.Before(asked) && !e.last.began.IsZero() {
		return e.last.shot, e.last.err
	}
	began := r.now()
	s, err := r.seen(ctx, name, lim, take)
	if ctx.Err() == nil { // a cancelled capture has no result for others
		e.last = outcome{began, s, err}
	}
	return s, err
}

// come returns the eye of a camera, which exists until leave.
func (r *Cameras) come(name string) *eye {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.eyes[name]
	if e == nil {
		e = &eye{turn: make(chan struct{}, 1)}
		r.eyes[name] = e
	}
	e.want++
	return e
}

// leave drops the last image of a camera after its last caller.
func (r *Cameras) leave(name string, e *eye) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.want--; e.want == 0 {
		delete(r.eyes, name)
	}
}

// seen captures up to Takes images until something is visible. It returns the last one
// otherwise, but an error for a placeholder.
func (r *Cameras) seen(ctx context.Context, name string, lim picture.Limits, take CaptureFunc) (Image, error) {
	last, err := r.best(ctx, name, lim, take)
	if err == nil && last.gone {
		return Image{}, fmt.Errorf("%s: the camera is gone: all that comes is the placeholder for that; is it plugged in, and in reach?", name)
	}
	return last, err
}

func (r *Cameras) best(ctx context.Context, name string, lim picture.Limits, take CaptureFunc) (Image, error) {
	var last Image
	for n := range MaxCaptures {
		if n > 0 && !wait.For(ctx, warmUp<<(n-1)) {
			return last, nil
		}
		s, err := r.one(ctx, name, lim, take)
		switch {
		case err != nil && n > 0:
			return last, nil // an earlier image exists
		case err != nil:
			return Image{}, err
		}
		same, known := r.again(name, s.Data)
		if s.smooth && same {
			s.NothingVisible = cmp.Or(s.NothingVisible, "it is the same as the last one to the last bit; does the camera hang, or does its server send a page?")
		}
		if last = s; s.NothingVisible == "" && !s.gone && (!s.smooth || known) {
			return s, nil
		}
	}
	return last, nil
}

// again reports whether a camera's image is identical to its last one, and whether there was a
// last one. It stores the image's digest.
func (r *Cameras) again(name string, data []byte) (same, known bool) {
	sum := digest(sha256.Sum256(data))
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.last[name]
	r.last[name] = sum
	return known && was == sum, known
}

// one captures and checks one image.
func (r *Cameras) one(ctx context.Context, name string, lim picture.Limits, take CaptureFunc) (Image, error) {
	since := r.now()
	p, err := take(ctx)
	if err == nil {
		err = Fresh(p, since)
	}
	if err != nil {
		return Image{}, err
	}
	s := r.ImageOf(p)
	f, err := r.Fit(ctx, s, lim)
	small := s
	if err == nil { // else the sender reports the error: it may have smaller limits or more time
		s.NothingVisible, s.smooth, small = unseen(f.Look), f.Look.Smooth, r.ImageOf(drivers.Photo{Data: f.Data, MIME: f.MIME})
	}
	s.gone = r.placeholder(ctx, name, small)
	return s, nil
}

// placeholder reports whether an image is a known placeholder. s is an image that already fits,
// so that the original need not be decoded again.
func (r *Cameras) placeholder(ctx context.Context, name string, s Image) bool {
	known := r.known[name]
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
		return errors.New("it does not say when the picture was taken")
	case p.CapturedAt.Before(since):
		return fmt.Errorf("the picture is old: it was taken %v before it was asked for", since.Sub(p.CapturedAt).Round(time.Millisecond))
	}
	return nil
}

// unseen describes why nothing is visible.
func unseen(l picture.Look) string {
	switch {
	case l.Black:
		return "it is black; is the lens covered, or is there no light?"
	case l.Flat:
		return "it is all of one brightness; is the lens covered, or does the camera send a placeholder?"
	case l.Page:
		return "it shows words or signs on a plain ground; has the camera's server lost the camera, and sends a page?"
	}
	return ""
}
