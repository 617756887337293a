package imaging_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/imaging"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/picture"
)

// scene returns a square JPEG with a side of so many pixels, with uniform brightness or with
// stripes. Stripes have noise like a sensor.
func scene(t *testing.T, side int, gray byte, stripes bool) []byte {
	t.Helper()
	img, noise := image.NewGray(image.Rect(0, 0, side, side)), rand.New(rand.NewPCG(uint64(side), uint64(gray)))
	for i := range img.Pix {
		img.Pix[i] = gray
		if stripes && i/side%32 < 16 {
			img.Pix[i] = 255 - gray
		}
		if stripes {
			img.Pix[i] = uint8(max(0, min(255, int(img.Pix[i])+noise.IntN(25)-12)))
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cam returns its frames in turn and repeats the last; each takes a second.
type cam struct {
	frames [][]byte
	err    error
	taken  atomic.Int32
}

func (c *cam) take(ctx context.Context) (drivers.Photo, error) {
	n := int(c.taken.Add(1)) - 1
	at := time.Now()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return drivers.Photo{}, context.Cause(ctx)
	}
	if c.err != nil {
		return drivers.Photo{}, c.err
	}
	return drivers.Photo{Data: c.frames[min(n, len(c.frames)-1)], MIME: "image/jpeg", CapturedAt: at}, nil
}

func TestEmptyImageIsCapturedAgain(t *testing.T) {
	bright, black, flat := scene(t, 64, 200, true), scene(t, 64, 2, false), scene(t, 64, 128, false)
	for _, c := range []struct {
		name   string
		frames [][]byte
		takes  int32
		unseen string
	}{
		{"the first is good", [][]byte{bright}, 1, ""},
		{"it is warming up", [][]byte{black, bright}, 2, ""},
		{"a placeholder comes first", [][]byte{flat, black, bright}, 3, ""},
		{"a covered lens", [][]byte{black}, 3, "it is black"},
		{"a placeholder for ever", [][]byte{flat}, 3, "one brightness everywhere"},
		{"good too late", [][]byte{flat, flat, black, bright}, 3, "it is black"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &cam{frames: c.frames}
				s, err := imaging.NewCameras(picture.Fit, time.Now).Capture(t.Context(), "cam", picture.Limits{}, d.take)
				if err != nil {
					t.Fatal(err)
				}
				if n := d.taken.Load(); n != c.takes || (c.unseen == "") != (s.NothingVisible == "") || !strings.Contains(s.NothingVisible, c.unseen) {
					t.Errorf("taken %d times, unseen %q; want %d times, %q", n, s.NothingVisible, c.takes, c.unseen)
				}
			})
		})
	}
}

// A known placeholder causes another capture and is not a result; other cameras have other
// placeholders.
func TestPlaceholderIsCapturedAgain(t *testing.T) {
	bright, sign := scene(t, 64, 200, true), scene(t, 64, 60, true)
	known, err := picture.SketchOf(t.Context(), sign)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, camera string
		frames       [][]byte
		takes        int32
		gone         bool
	}{
		{"it comes first", "cam", [][]byte{sign, sign, bright}, 3, false},
		{"it comes for ever", "cam", [][]byte{sign}, 3, true},
		{"it is another camera's", "other", [][]byte{sign}, 1, false},
		{"all is well", "cam", [][]byte{bright}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &cam{frames: c.frames}
				r := imaging.NewCameras(picture.Fit, time.Now)
				r.SetPlaceholders("cam", []picture.Sketch{known})
				s, err := r.Capture(t.Context(), c.camera, picture.Limits{}, d.take)
				if (err != nil) != c.gone || c.gone && !strings.Contains(err.Error(), "cam: the camera is missing: its server sends a placeholder") || d.taken.Load() != c.takes || s.NothingVisible != "" {
					t.Errorf("taken %d times, unseen %q, %v; want %d times, gone: %t", d.taken.Load(), s.NothingVisible, err, c.takes, c.gone)
				}
			})
		})
	}
}

// The check for placeholders uses the reduced image: an image of many megapixels decodes once,
// with or without placeholders.
func TestImageIsDecodedOnce(t *testing.T) {
	big := scene(t, 1024, 200, true)
	sign, err := picture.SketchOf(t.Context(), scene(t, 64, 60, true))
	if err != nil {
		t.Fatal(err)
	}
	decoded := 0
	fit := func(ctx context.Context, data []byte, lim picture.Limits) (picture.Picture, error) {
		if bytes.Equal(data, big) {
			decoded++
		}
		return picture.Fit(ctx, data, lim)
	}
	synctest.Test(t, func(t *testing.T) {
		lim := picture.Limits{MaxPx: 512}
		r := imaging.NewCameras(fit, time.Now)
		r.SetPlaceholders("cam", []picture.Sketch{sign})
		s, err := r.Capture(t.Context(), "cam", lim, (&cam{frames: [][]byte{big}}).take)
		if err == nil {
			_, err = r.Fit(t.Context(), s, lim)
		}
		if err != nil || decoded != 1 {
			t.Errorf("decoded %d times, %v; want once", decoded, err)
		}
	})
}

// A dark image is the result if the next capture fails, or if there is no time for one.
func TestDarkImageIsBetterThanNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		black := scene(t, 64, 2, false)
		r := imaging.NewCameras(picture.Fit, time.Now)
		d := &cam{frames: [][]byte{black}}
		failing := func(ctx context.Context) (drivers.Photo, error) {
			if d.taken.Load() == 1 {
				return drivers.Photo{}, errors.New("unplugged")
			}
			return d.take(ctx)
		}
		if s, err := r.Capture(t.Context(), "cam", picture.Limits{}, failing); err != nil || s.NothingVisible == "" {
			t.Errorf("%q, %v", s.NothingVisible, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1200*time.Millisecond)
		defer cancel()
		if s, err := r.Capture(ctx, "cam", picture.Limits{}, (&cam{frames: [][]byte{black}}).take); err != nil || s.NothingVisible == "" {
			t.Errorf("%q, %v", s.NothingVisible, err)
		}
	})
}

func TestOldImageIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := imaging.NewCameras(nil, time.Now)
		for at, want := range map[time.Time]string{time.Now().Add(-2 * time.Second): "captured it 2s before", {}: "gives no capture time"} {
			_, err := r.Capture(t.Context(), "cam", picture.Limits{}, func(context.Context) (drivers.Photo, error) {
				return drivers.Photo{Data: []byte("x"), CapturedAt: at}, nil
			})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v; want %q", err, want)
			}
		}
	})
}

// Simultaneous requests share an image; a request during a capture gets the next image, which
// begins later.
func TestSimultaneousRequestsShareImage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := imaging.NewCameras(picture.Fit, time.Now)
		d := &cam{frames: [][]byte{scene(t, 64, 200, true)}}
		var all sync.WaitGroup
		ask := func() {
			all.Go(func() {
				asked := time.Now()
				s, err := r.Capture(t.Context(), "cam", picture.Limits{}, d.take)
				if err != nil || s.CapturedAt.Before(asked) {
					t.Errorf("of %v, asked at %v: %v", s.CapturedAt, asked, err)
				}
			})
		}
		for range 5 {
			ask()
		}
		time.Sleep(500 * time.Millisecond) // in fake time: the first is under way
		for range 5 {
			ask()
		}
		all.Wait()
		if n := d.taken.Load(); n != 2 {
			t.Errorf("10 wanted one, and %d were taken", n)
		}
		ask() // nobody waits any more, so the image is gone
		all.Wait()
		if n := d.taken.Load(); n != 3 {
			t.Errorf("a later one came out of %d", n)
		}
	})
}

// All waiting requests share a failed capture; after a cancelled one, the next request tries
// again.
func TestFailedCaptureIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := imaging.NewCameras(picture.Fit, time.Now)
		d := &cam{err: errors.New("unplugged")}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if _, err := r.Capture(t.Context(), "cam", picture.Limits{}, d.take); !errors.Is(err, d.err) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := d.taken.Load(); n != 1 {
			t.Errorf("tried %d times", n)
		}

		good := &cam{frames: [][]byte{scene(t, 64, 200, true)}}
		gone, leave := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := r.Capture(gone, "other", picture.Limits{}, good.take); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := r.Capture(t.Context(), "other", picture.Limits{}, good.take); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		leave()
		all.Wait()
	})
}

// Cameras do not wait for each other, but the simultaneously decoded pixels have a limit, and
// an image decodes once for each limit.
func TestDecodedPixelsAreLimited(t *testing.T) {
	const side = 4096 // the limit of decoded pixels
	large := scene(t, side, 200, true)
	synctest.Test(t, func(t *testing.T) {
		var at, most, fits atomic.Int64
		r := imaging.NewCameras(func(_ context.Context, data []byte, _ picture.Limits) (picture.Picture, error) {
			fits.Add(1)
			info, err := picture.Inspect(data)
			if err != nil {
				return picture.Picture{}, err
			}
			n := int64(info.Width) * int64(info.Height)
			most.Store(max(most.Load(), at.Add(n))) // one at a time, or the limit is exceeded
			time.Sleep(time.Second)                 // in fake time
			at.Add(-n)
			return picture.Picture{Data: data[:10], Statistics: picture.Statistics{Mean: 100}}, nil
		}, time.Now)
		var all sync.WaitGroup
		for _, name := range []string{"a", "b", "c"} {
			all.Go(func() {
				s, err := r.Capture(t.Context(), name, picture.Limits{MaxBytes: 1000}, (&cam{frames: [][]byte{large}}).take)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := r.Fit(t.Context(), s, picture.Limits{MaxBytes: 1000}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if most.Load() > imaging.MaxPixels || fits.Load() != 3 {
			t.Errorf("%d pixels at a time, decoded %d times; want %d, and 3 times", most.Load(), fits.Load(), imaging.MaxPixels)
		}
	})
}

// The checks that cause another capture, for color images.
func TestColoredPlaceholderIsFlat(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		img.Set(i%64, i/64, color.RGBA{0, 0, 255, 255})
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := imaging.NewCameras(picture.Fit, time.Now).Capture(t.Context(), "cam", picture.Limits{}, (&cam{frames: [][]byte{b.Bytes()}}).take)
		if err != nil || s.NothingVisible == "" {
			t.Errorf("%q, %v", s.NothingVisible, err)
		}
	})
}
