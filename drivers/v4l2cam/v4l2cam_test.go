package v4l2cam_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/jpeg"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/v4l2cam"
)

// video simulates a camera with these frames.
type video struct {
	picture v4l2cam.Picture
	frames  func(n int) []byte
	gone    bool
	wait    chan struct{} // received before each frame, if not nil

	mu   sync.Mutex
	took int
	open int
}

func (v *video) Stream(context.Context, v4l2cam.Config) (v4l2cam.Stream, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.gone {
		return nil, errors.New("/dev/video0 is not there; check that the camera is connected")
	}
	v.open++
	return &stream{v: v}, nil
}

type stream struct {
	v *video
	n int
}

func (s *stream) Picture() v4l2cam.Picture { return s.v.picture }

func (s *stream) Frame(ctx context.Context) ([]byte, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	default:
	}
	if s.v.wait != nil {
		select {
		case <-s.v.wait:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	s.v.mu.Lock()
	defer s.v.mu.Unlock()
	s.n++
	s.v.took++
	return s.v.frames(s.n), nil
}

func (s *stream) Close() error {
	s.v.mu.Lock()
	defer s.v.mu.Unlock()
	s.v.open--
	return nil
}

// yuyv returns a frame of 32 x 32 with a bright and a dark half.
func yuyv(dark, bright byte) []byte {
	var f []byte
	for range 32 {
		for x := range 16 {
			y := dark
			if x >= 8 {
				y = bright
			}
			f = append(f, y, 128, y, 128)
		}
	}
	return f
}

func raw(frames func(n int) []byte) *video {
	return &video{picture: v4l2cam.Picture{Format: "yuyv", Width: 32, Height: 32, Stride: 64}, frames: frames}
}

func camera(v v4l2cam.Video, change func(*v4l2cam.Config)) *v4l2cam.Camera {
	cfg := v4l2cam.DefaultConfig()
	cfg.SkipFrames = 1
	if change != nil {
		change(&cfg)
	}
	return v4l2cam.New("hall-cam", cfg, v, slog.New(slog.DiscardHandler), time.Now)
}

func TestSuite(t *testing.T) {
	drivertest.Run(t, func(*testing.T) drivers.Device {
		return camera(raw(func(int) []byte { return yuyv(40, 200) }), nil)
	})
}

func photo(t *testing.T, v *video, change func(*v4l2cam.Config)) (drivers.Photo, error) {
	t.Helper()
	c := camera(v, change)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := c.Photo(t.Context())
	if v.open != 0 {
		t.Errorf("%d streams are left open", v.open)
	}
	return p, err
}

// at returns the luminance of a pixel of a JPEG.
func at(t *testing.T, data []byte, x, y int) int {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return int(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y)
}

func near(got, want int) bool { return got > want-6 && got < want+6 }

func TestFormats(t *testing.T) {
	nv12 := bytes.Repeat([]byte{16, 16, 16, 16, 235, 235, 235, 235}, 8)
	nv12 = append(nv12, bytes.Repeat([]byte{128}, 32)...)
	odd := append(bytes.Repeat([]byte{16, 235, 16, 0, 0, 0}, 3), bytes.Repeat([]byte{128}, 12)...)
	for _, tt := range []struct {
		name    string
		picture v4l2cam.Picture
		frame   []byte
		left    int
		right   int
	}{
		{"yuyv", v4l2cam.Picture{Format: "yuyv", Width: 32, Height: 32, Stride: 64}, yuyv(16, 235), 0, 255},
		{"yuyv, full range", v4l2cam.Picture{Format: "yuyv", Width: 32, Height: 32, Stride: 64, Full: true}, yuyv(16, 235), 16, 235},
		{"nv12", v4l2cam.Picture{Format: "nv12", Width: 8, Height: 8, Stride: 8}, nv12, 0, 255},
		{"nv12, odd and with a stride", v4l2cam.Picture{Format: "nv12", Width: 3, Height: 3, Stride: 6}, odd, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := &video{picture: tt.picture, frames: func(int) []byte { return tt.frame }}
			p, err := photo(t, v, nil)
			if err != nil {
				t.Fatal(err)
			}
			l, r := at(t, p.Data, 0, 0), at(t, p.Data, tt.picture.Width-1, 0)
			if !near(l, tt.left) || !near(r, tt.right) {
				t.Errorf("left %d, right %d; want %d, %d", l, r, tt.left, tt.right)
			}
		})
	}
}

// whole returns a JPEG of Go's encoder.
func whole(t *testing.T, size int) []byte {
	t.Helper()
	img := image.NewYCbCr(image.Rect(0, 0, size, size), image.YCbCrSubsampleRatio420)
	for i := range img.Y {
		img.Y[i] = byte(i)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// withoutTables removes the tables of a JPEG, as most USB cameras do.
func withoutTables(t *testing.T, pic []byte) []byte {
	t.Helper()
	i := bytes.Index(pic, []byte{0xff, 0xc4})
	n := 2 + int(pic[i+2])<<8 + int(pic[i+3])
	out := append(bytes.Clone(pic[:i]), pic[i+n:]...)
	if _, err := jpeg.Decode(bytes.NewReader(out)); err == nil {
		t.Fatal("the image decodes without tables, want an error")
	}
	return out
}

func TestMJPEG(t *testing.T) {
	pic := whole(t, 64)
	for name, frames := range map[string]func(n int) []byte{
		"as it is":          func(int) []byte { return pic },
		"filled up":         func(int) []byte { return append(bytes.Clone(pic), make([]byte, 999)...) },
		"without tables":    func(int) []byte { return withoutTables(t, pic) },
		"broken at first":   func(n int) []byte { return pic[:len(pic)*min(n, 4)/4] },
		"nothing at first":  func(n int) []byte { return pic[:len(pic)*min(n/3, 1)] },
		"bad at its middle": func(n int) []byte { return append([]byte{0xff, 0xd8, byte(min(n, 3)-3) ^ 0xff}, pic[3:]...) },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := photo(t, &video{picture: v4l2cam.Picture{Format: "mjpeg", Width: 64, Height: 64}, frames: frames}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(p.Data, pic) {
				if _, err := jpeg.Decode(bytes.NewReader(p.Data)); err != nil || name != "without tables" {
					t.Errorf("the repaired image differs: %v", err)
				}
			}
		})
	}
	if _, err := photo(t, &video{picture: v4l2cam.Picture{Format: "mjpeg"}, frames: func(int) []byte { return pic[:99] }}, nil); err == nil || !strings.Contains(err.Error(), "not a complete JPEG") {
		t.Errorf("all broken: %v", err)
	}
}

func TestSkipsAndRetakes(t *testing.T) {
	v := raw(func(n int) []byte {
		switch n {
		case 1, 2:
			return yuyv(40, 200) // before the exposure is stable
		case 3, 4:
			return yuyv(16, 235)[:100]
		}
		return yuyv(16, 235)
	})
	p, err := photo(t, v, func(c *v4l2cam.Config) { c.SkipFrames = 2 })
	if err != nil || v.took != 5 || !near(at(t, p.Data, 31, 0), 255) {
		t.Errorf("%d frames were taken: %v", v.took, err)
	}
	v = raw(func(int) []byte { return nil })
	if _, err = photo(t, v, nil); err == nil || !strings.Contains(err.Error(), "has only 0 bytes") {
		t.Errorf("no frame is whole: %v", err)
	}
}

// A later caller gets a newer image.
func TestTogether(t *testing.T) {
	v := raw(func(int) []byte { return yuyv(40, 200) })
	v.wait = make(chan struct{})
	c := camera(v, func(c *v4l2cam.Config) { c.SkipFrames = 0 })
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	type shot struct {
		drivers.Photo
		err error
	}
	shots := make(chan shot)
	take := func() {
		p, err := c.Photo(t.Context())
		shots <- shot{p, err}
	}
	go take()
	v.wait <- struct{}{} // the first caller has its only frame
	a := <-shots
	go take()
	v.wait <- struct{}{}
	b := <-shots
	if a.err != nil || b.err != nil || !b.CapturedAt.After(a.CapturedAt) {
		t.Errorf("%v, %v, %v after %v", a.err, b.err, b.CapturedAt, a.CapturedAt)
	}
}

func TestPluggedInLater(t *testing.T) {
	v := raw(func(int) []byte { return yuyv(40, 200) })
	v.gone = true
	c := camera(v, nil)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Photo(t.Context()); err == nil || err.Error() != "hall-cam: /dev/video0 is not there; check that the camera is connected" {
		t.Errorf("without it: %v", err)
	}
	v.gone = false
	if _, err := c.Photo(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTimeout(t *testing.T) {
	v := raw(func(int) []byte { return yuyv(40, 200) })
	v.wait = make(chan struct{})
	_, err := photo(t, v, func(c *v4l2cam.Config) { c.Timeout = time.Millisecond })
	if err == nil || !strings.HasPrefix(err.Error(), "hall-cam: no image in 1ms; ") {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*v4l2cam.Config){
		"width: 0 x 720":                           func(c *v4l2cam.Config) { c.Width = 0 },
		"width: 16000 x 16000":                     func(c *v4l2cam.Config) { c.Width, c.Height = 16000, 16000 },
		`format: "h264" is unknown; known: auto, `: func(c *v4l2cam.Config) { c.Format = "h264" },
		"skip_frames: -1":                          func(c *v4l2cam.Config) { c.SkipFrames = -1 },
		"timeout: 0s":                              func(c *v4l2cam.Config) { c.Timeout = 0 },
		"quality: 101":                             func(c *v4l2cam.Config) { c.Quality = 101 },
	} {
		c := v4l2cam.DefaultConfig()
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Validate = %v, want %s", err, want)
		}
	}
}
