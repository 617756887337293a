//go:build linux

package inside_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/v4l2cam"
)

// budget is the largest number of bytes of a picture (MESS, 500 KB).
const budget = 512_000

func vivid(change func(*v4l2cam.Config)) *v4l2cam.Camera {
	cfg := v4l2cam.DefaultConfig()
	cfg.Device, cfg.Width, cfg.Height, cfg.SkipFrames, cfg.Timeout = "vivid", 640, 480, 2, time.Minute
	if change != nil {
		change(&cfg)
	}
	return v4l2cam.New("hall-cam", cfg, v4l2cam.System{}, slog.New(slog.DiscardHandler), time.Now)
}

func TestCameraSuite(t *testing.T) {
	drivertest.Run(t, func(*testing.T) drivers.Device { return vivid(nil) })
}

// bars contains the colors of the kernel's test picture, from left to right: whether red, green
// and blue are present.
var bars = [][3]bool{
	{true, true, true},
	{true, true, false},
	{false, true, true},
	{false, true, false},
	{true, false, true},
	{true, false, false},
	{false, false, true},
	{false, false, false},
}

// checkBars checks the middle of each bar.
func checkBars(t *testing.T, img image.Image) {
	t.Helper()
	size := img.Bounds().Size()
	for i, want := range bars {
		r, g, b, _ := img.At((2*i+1)*size.X/16, size.Y*3/5).RGBA()
		got := [3]bool{r > 0x6000, g > 0x6000, b > 0x6000}
		if got != want {
			t.Errorf("bar %d is %x %x %x, want %v", i, r>>8, g>>8, b>>8, want)
		}
	}
}

func TestCameraFormats(t *testing.T) {
	for _, format := range []string{"yuyv", "nv12", v4l2cam.Auto} {
		c := vivid(func(c *v4l2cam.Config) { c.Format = format })
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		p, err := c.Photo(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		img, err := jpeg.Decode(bytes.NewReader(p.Data))
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if size := img.Bounds().Size(); size != image.Pt(640, 480) {
			t.Errorf("%s: %v", format, size)
		}
		checkBars(t, img)
	}
	c := vivid(func(c *v4l2cam.Config) { c.Format = "mjpeg" })
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Photo(t.Context()); err == nil || !strings.Contains(err.Error(), "the camera does not support mjpeg, only ") {
		t.Errorf("a format that it has not: %v", err)
	}
}

// The camera disappears between two pictures or during one, and works again when it is back.
func TestCameraUnplugged(t *testing.T) {
	plugged := func(in bool) {
		t.Helper()
		name := map[bool]string{true: "bind", false: "unbind"}[in]
		if err := os.WriteFile("/sys/bus/platform/drivers/vivid/"+name, []byte("vivid.0"), 0); err != nil {
			t.Fatal(err)
		}
	}
	c := vivid(func(c *v4l2cam.Config) { c.SkipFrames = 300 })
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { _, err := c.Photo(t.Context()); ended <- err }()
	eventually(t, "it streams", func() error {
		maps, err := os.ReadFile("/proc/self/maps")
		if err == nil && !strings.Contains(string(maps), "/dev/video") {
			err = fmt.Errorf("no buffer is mapped")
		}
		return err
	})
	plugged(false)
	if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), "hall-cam: ") {
		t.Errorf("in the middle of a picture: %v", err)
	} else {
		t.Log(err)
	}
	if _, err := c.Photo(t.Context()); err == nil || !strings.Contains(err.Error(), "check that it is connected") {
		t.Errorf("without it: %v", err)
	}
	plugged(true)
	again := vivid(nil)
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a picture when it is back", func() error { _, err := again.Photo(t.Context()); return err })
}

// A request in plain English gives a picture within the budget.
func TestCameraAgent(t *testing.T) {
	a := launch(t, `
  hall-cam:
    driver: v4l2cam
    sees: [hall]
    device: vivid
    width: 1280
    height: 720
    skip_frames: 2
    timeout: 60s
    limits: {timeout: 70s}
`)
	output, err := a.request(t, "take a photo of the hall")
	t.Logf("$ messkit ask \"take a photo of the hall\" --wait\n%s", output)
	if err != nil || !strings.Contains(output, "completed") {
		t.Fatal(err)
	}
	list, _ := filepath.Glob(filepath.Join(a.home, "*.jpg"))
	if len(list) != 1 {
		t.Fatalf("%d pictures were saved", len(list))
	}
	data, err := os.ReadFile(list[0])
	if err != nil || len(data) > budget {
		t.Fatalf("%d bytes, and may be %d: %v", len(data), budget, err)
	}
	img, err := jpeg.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes, %v", len(data), img.Bounds().Size())
	checkBars(t, img)
}
