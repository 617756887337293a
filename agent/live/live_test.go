package live_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/live"
)

// camera counts its pictures. Each of them takes a time.
type camera struct {
	mu    sync.Mutex
	taken int
	takes time.Duration
	err   error
	fatal bool
}

func (c *camera) take(ctx context.Context, name string) (live.Picture, bool, error) {
	c.mu.Lock()
	c.taken++
	takes, err, fatal, n := c.takes, c.err, c.fatal, c.taken
	c.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return live.Picture{}, false, ctx.Err()
	}
	return live.Picture{Data: []byte{byte(n)}, MIME: name}, fatal, err
}

func (c *camera) set(f func(*camera)) { c.mu.Lock(); defer c.mu.Unlock(); f(c) }
func (c *camera) count() int          { c.mu.Lock(); defer c.mu.Unlock(); return c.taken }

// next wants the picture of a number.
func next(t *testing.T, v *live.Viewer, want byte) {
	t.Helper()
	p, err := v.Next(t.Context())
	if err != nil || p.Data[0] != want {
		t.Errorf("picture %v, %v; want %d", p.Data, err, want)
	}
}

func TestViewersShareOneReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &camera{takes: 100 * time.Millisecond}
		all := live.New(c.take)
		one, two := all.Watch("hall"), all.Watch("hall")
		began := time.Now()
		for n := range byte(3) {
			next(t, one, n+1)
			next(t, two, n+1)
		}
		if took := time.Since(began); took != 1100*time.Millisecond || c.count() != 3 {
			t.Errorf("%d pictures in %v, want 3 in 1.1s", c.count(), took)
		}
		one.Close()
		one.Close()
		next(t, two, 4)
		two.Close()
		time.Sleep(time.Minute)
		if c.count() != 4 {
			t.Errorf("%d pictures after the last viewer has left, want 4", c.count())
		}
		again := all.Watch("hall")
		next(t, again, 5)
		again.Close()
	})
}

// A slow viewer misses pictures, and does not slow down the others. A slow camera has a slow pace.
func TestSlowViewerMissesPictures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &camera{takes: 10 * time.Millisecond}
		all := live.New(c.take)
		v := all.Watch("hall")
		defer v.Close()
		next(t, v, 1)
		time.Sleep(9700 * time.Millisecond)
		next(t, v, 20)
		next(t, v, 21)
		c.set(func(c *camera) { c.takes = 400 * time.Millisecond })
		next(t, v, 22)
		began := time.Now()
		next(t, v, 23)
		next(t, v, 24)
		if took := time.Since(began); took != 3200*time.Millisecond {
			t.Errorf("two pictures of a camera that needs 0.4s took %v, want 3.2s", took)
		}
	})
}

func TestEndOfLivePicture(t *testing.T) {
	broken := errors.New("no light")
	synctest.Test(t, func(t *testing.T) {
		c := &camera{}
		all := live.New(c.take)
		v := all.Watch("hall")
		next(t, v, 1)
		c.set(func(c *camera) { c.err = broken })
		time.Sleep(1100 * time.Millisecond)
		c.set(func(c *camera) { c.err = nil })
		next(t, v, 4) // two failures are no end
		c.set(func(c *camera) { c.err = broken })
		if _, err := v.Next(t.Context()); err != broken || c.count() != 7 {
			t.Errorf("%v after %d pictures, want %v after 7", err, c.count(), broken)
		}
		c.set(func(c *camera) { c.fatal = true })
		again := all.Watch("hall") // beside the viewer of the ended one
		if _, err := again.Next(t.Context()); err != broken || c.count() != 8 {
			t.Errorf("%v after %d pictures, want %v after 8", err, c.count(), broken)
		}
		again.Close()
		v.Close()
		time.Sleep(time.Minute)
		if c.count() != 8 {
			t.Errorf("%d pictures after the end", c.count())
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(broken)
		c.set(func(c *camera) { c.err, c.takes = nil, time.Hour })
		last := all.Watch("hall")
		if _, err := last.Next(ctx); err != broken {
			t.Errorf("error %v, want that of the context", err)
		}
		last.Close() // ends the picture that the camera takes
	})
}
