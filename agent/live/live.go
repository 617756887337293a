// Package live shows the pictures of cameras to several viewers at once. It knows no policy and no
// camera: its owner takes each picture, and asks the policy for each of them.
package live

import (
	"context"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// The pace of a live picture. A picture and the pause after it take at least MinInterval. Taking and
// shrinking pictures takes at most one part of the time in busyPart, so that a slow board has time for
// its other work.
const (
	MinInterval = 500 * time.Millisecond
	maxInterval = 5 * time.Second
	busyPart    = 4
)

// maxFailures is the number of failures in a row that end a live picture.
const maxFailures = 3

// Picture is one picture of a camera.
type Picture struct {
	Data []byte // encoded
	MIME string // image/jpeg or image/png
}

// TakeFunc takes a picture with a camera now. fatal reports that the next picture would fail, too: the
// policy has rejected it.
type TakeFunc func(ctx context.Context, camera string) (p Picture, fatal bool, err error)

// Cameras are the cameras of one executor. It is safe for concurrent use.
type Cameras struct {
	take TakeFunc

	mu    sync.Mutex
	feeds map[string]*feed // with viewers
}

// New returns cameras whose pictures take takes.
func New(take TakeFunc) *Cameras { return &Cameras{take: take, feeds: map[string]*feed{}} }

// feed is the one reader of a camera that has viewers.
type feed struct {
	all     *Cameras
	camera  string
	end     context.CancelFunc
	viewers int // guarded by Cameras.mu

	mu      sync.Mutex
	changed chan struct{} // closes at the next picture, or at the end
	number  uint64        // of the newest picture; 0 before the first
	newest  Picture
	err     error // why it has ended
}

// Viewer gets the pictures of one camera. Its methods are for one goroutine.
type Viewer struct {
	feed *feed
	seen uint64
	once sync.Once
}

// Watch adds a viewer to a camera. The first viewer starts to take pictures, and Close of the last one
// ends that.
func (c *Cameras) Watch(camera string) *Viewer {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.feeds[camera]
	if f == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f = &feed{all: c, camera: camera, end: cancel, changed: make(chan struct{})}
		c.feeds[camera] = f
		go f.run(ctx)
	}
	f.viewers++
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Viewer{feed: f, seen: f.number}
}

// Next waits for a picture that is newer than the last one of this viewer, and than the viewer. A
// viewer that is slow misses the pictures in between. The error is that of ctx, or says why the live
// picture has ended.
func (v *Viewer) Next(ctx context.Context) (Picture, error) {
	for {
		p, number, changed, err := v.feed.look()
		switch {
		case number > v.seen:
			v.seen = number
			return p, nil
		case err != nil:
			return Picture{}, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Picture{}, context.Cause(ctx)
		}
	}
}

// Close removes the viewer from its camera.
func (v *Viewer) Close() { v.once.Do(v.feed.leave) }

func (f *feed) leave() {
	f.all.mu.Lock()
	defer f.all.mu.Unlock()
	if f.viewers--; f.viewers == 0 {
		f.end()
		f.forget()
	}
}

// forget makes the next viewer begin anew. The caller holds Cameras.mu.
func (f *feed) forget() {
	if f.all.feeds[f.camera] == f {
		delete(f.all.feeds, f.camera)
	}
}

func (f *feed) look() (p Picture, number uint64, changed <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.newest, f.number, f.changed, f.err
}

// run takes pictures until the last viewer has left, or the camera fails.
func (f *feed) run(ctx context.Context) {
	defer f.end()
	for failures := 0; ; {
		began := time.Now()
		p, fatal, err := f.all.take(ctx, f.camera)
		took := time.Since(began)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			failures = 0
			f.publish(p, nil)
		default:
			if failures++; fatal || failures == maxFailures {
				f.all.mu.Lock()
				f.forget()
				f.all.mu.Unlock()
				f.publish(Picture{}, err)
				return
			}
		}
		if !wait.For(ctx, min(max(MinInterval, busyPart*took), maxInterval+took)-took) {
			return
		}
	}
}

// publish stores a picture, or the error with which the feed ends.
func (f *feed) publish(p Picture, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err = err; err == nil {
		f.newest = p
		f.number++
	}
	close(f.changed)
	f.changed = make(chan struct{})
}
