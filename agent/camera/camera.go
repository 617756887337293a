// Package camera takes pictures for an agent, with any camera: the one place for
// what holds of all of them. A picture was taken after it was asked for; one on
// which nothing can be seen is taken again; who asks at the same time gets the
// same picture; and several cameras at once stay within the memory of a small
// board.
//
// It knows no threads, and of cameras only that they take pictures.
package camera

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
	// Takes is how often a picture is taken at most, until something can be seen on
	// it.
	Takes = 3
	// Pixels is how many are decoded at a time, in all pictures together. The
	// largest road takes 3 bytes a pixel: some 50 MB, on boards that have 512. A
	// larger picture is decoded alone.
	Pixels = 16 << 20
)

// warmUp is the pause before the second picture; before the third it is twice as
// long. Cameras adjust their exposure within a second.
const warmUp = 500 * time.Millisecond

// Fit makes a picture fit; picture.Fit does.
type Fit func(ctx context.Context, data []byte, lim picture.Limits) (picture.Picture, error)

// Take has one camera take one picture.
type Take func(ctx context.Context) (drivers.Photo, error)

// Room is all the cameras of an agent. It is safe for concurrent use.
type Room struct {
	fit    Fit // nil: pictures stay as they are, and are not looked at
	now    func() time.Time
	pixels *semaphore.Weighted
	known  map[string][]picture.Sketch // placeholders, by camera

	mu   sync.Mutex
	eyes map[string]*eye   // of those that somebody waits for
	last map[string]digest // of the last picture of each camera
}

// digest tells two pictures of a camera apart. A sensor has noise: two pictures that it
// took are never the same to the last bit.
type digest [sha256.Size]byte

// NewRoom makes one.
func NewRoom(fit Fit, now func() time.Time) *Room {
	return &Room{fit: fit, now: now, pixels: semaphore.NewWeighted(Pixels), known: map[string][]picture.Sketch{}, eyes: map[string]*eye{}, last: map[string]digest{}}
}

// Know tells what the camera called name, or its server, sends instead of a picture.
// It is called before the first Shoot.
func (r *Room) Know(name string, placeholders []picture.Sketch) { r.known[name] = placeholders }

// Shot is a picture.
type Shot struct {
	drivers.Photo        // as the camera gave it
	Unseen        string // why nothing can be seen on it, in words; "" where something can
	gone          bool   // it is the placeholder that comes while there is no camera
	smooth        bool   // it may be drawn: only another picture tells
	fits          *fits
}

// eye is one camera while somebody wants pictures of it.
type eye struct {
	turn chan struct{} // held by who takes a picture
	last outcome       // guarded by turn
	want int           // how many are here; guarded by Room.mu
}

// outcome is what came of taking a picture.
type outcome struct {
	began time.Time // by the room's clock; zero: there was none
	shot  Shot
	err   error
}

// Shoot takes a picture with the camera called name. Who asks while one is being
// taken waits for the next, which all share that asked before it was begun; it is
// never of a time before the call. lim is what the picture will have to fit in,
// so that it is decoded once for both, to look at it and to send it.
func (r *Room) Shoot(ctx context.Context, name string, lim picture.Limits, take Take) (Shot, error) {
	asked := r.now()
	e := r.come(name)
	defer r.leave(name, e)
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-ctx.Done():
		return Shot{}, context.Cause(ctx)
	}
	if !e.last.began.Before(asked) && !e.last.began.IsZero() {
		return e.last.shot, e.last.err
	}
	began := r.now()
	s, err := r.seen(ctx, name, lim, take)
	if ctx.Err() == nil { // what ended with who took it says nothing to others
		e.last = outcome{began, s, err}
	}
	return s, err
}

// come is the eye of a camera, which is kept until leave.
func (r *Room) come(name string) *eye {
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

// leave forgets the last picture of a camera with the last who wanted it.
func (r *Room) leave(name string, e *eye) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.want--; e.want == 0 {
		delete(r.eyes, name)
	}
}

// seen takes a picture until something can be seen on it, Takes times at most.
// The last stands where nothing can; a placeholder is no picture.
func (r *Room) seen(ctx context.Context, name string, lim picture.Limits, take Take) (Shot, error) {
	last, err := r.best(ctx, name, lim, take)
	if err == nil && last.gone {
		return Shot{}, fmt.Errorf("%s: the camera is gone: all that comes is the placeholder for that; is it plugged in, and in reach?", name)
	}
	return last, err
}

func (r *Room) best(ctx context.Context, name string, lim picture.Limits, take Take) (Shot, error) {
	var last Shot
	for n := range Takes {
		if n > 0 && !wait.For(ctx, warmUp<<(n-1)) {
			return last, nil
		}
		s, err := r.one(ctx, name, lim, take)
		switch {
		case err != nil && n > 0:
			return last, nil // there is one already
		case err != nil:
			return Shot{}, err
		}
		same, known := r.again(name, s.Data)
		if s.smooth && same {
			s.Unseen = cmp.Or(s.Unseen, "it is the same as the last one to the last bit; does the camera hang, or does its server send a page?")
		}
		if last = s; s.Unseen == "" && !s.gone && (!s.smooth || known) {
			return s, nil
		}
	}
	return last, nil
}

// again reports whether a camera's picture is the same as its last one, and whether
// there was one. It remembers the picture.
func (r *Room) again(name string, data []byte) (same, known bool) {
	sum := digest(sha256.Sum256(data))
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.last[name]
	r.last[name] = sum
	return known && was == sum, known
}

// one takes one picture and looks at it.
func (r *Room) one(ctx context.Context, name string, lim picture.Limits, take Take) (Shot, error) {
	since := r.now()
	p, err := take(ctx)
	if err == nil {
		err = Fresh(p, since)
	}
	if err != nil {
		return Shot{}, err
	}
	s := r.Of(p)
	f, err := r.Fit(ctx, s, lim)
	small := s
	if err == nil { // else it is told where it is sent: that may want it smaller, or find time
		s.Unseen, s.smooth, small = unseen(f.Look), f.Look.Smooth, r.Of(drivers.Photo{Data: f.Data, MIME: f.MIME})
	}
	s.gone = r.placeholder(ctx, name, small)
	return s, nil
}

// placeholder reports whether a picture is one that is known to be none. s is what fits
// already, so that the camera's own is not decoded again.
func (r *Room) placeholder(ctx context.Context, name string, s Shot) bool {
	known := r.known[name]
	if len(known) == 0 {
		return false // the others are not decoded for it
	}
	small, err := r.Fit(ctx, s, picture.Limits{MaxPx: picture.SketchPx})
	if err != nil {
		return false // which is told where it is sent
	}
	is, err := picture.SketchOf(ctx, small.Data)
	return err == nil && slices.ContainsFunc(known, is.Shows)
}

// Fresh refuses a picture from before since: one from a cache is no evidence,
// and no answer to what is so now.
func Fresh(p drivers.Photo, since time.Time) error {
	switch {
	case p.CapturedAt.IsZero():
		return errors.New("it does not say when the picture was taken")
	case p.CapturedAt.Before(since):
		return fmt.Errorf("the picture is old: it was taken %v before it was asked for", since.Sub(p.CapturedAt).Round(time.Millisecond))
	}
	return nil
}

// unseen words why nothing can be seen.
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
