package httpcam_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpcam"
)

var quiet = slog.New(slog.DiscardHandler)

// grey returns an image of one gray level, so that a test can distinguish images.
func gray(level uint8, w, h int) image.Image {
	img := image.NewGray(image.Rect(0, 0, w, h))
	for i := range img.Pix {
		img.Pix[i] = level
	}
	return img
}

func jpegOf(t testing.TB, level uint8, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, gray(level, w, h), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pngOf(t testing.TB, level uint8, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, gray(level, w, h)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// levelOf returns the gray level in the middle of an image.
func levelOf(t testing.TB, data []byte) uint8 {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	size := img.Bounds()
	return color.GrayModel.Convert(img.At(size.Dx()/2, size.Dy()/2)).(color.Gray).Y
}

// serve answers every request with body and with headers of the form "Name: value".
func serve(t testing.TB, body []byte, headers ...string) *httptest.Server {
	t.Helper()
	return handle(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		_, _ = w.Write(body) // a disconnected camera has its error already
	})
}

func handle(t testing.TB, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// stream sends frames until the client disconnects.
func stream(frame func(n int) []byte, gap time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=frame")
		tick := time.NewTicker(gap)
		defer tick.Stop()
		for n := 0; ; n++ {
			data := frame(n)
			if _, err := fmt.Fprintf(w, "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n", len(data), data); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
		}
	}
}

// camera returns a started camera with the configuration from change.
func camera(t testing.TB, url string, change func(*httpcam.Config)) *httpcam.Camera {
	t.Helper()
	c := halted(t, url, change)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Halt(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func halted(t testing.TB, url string, change func(*httpcam.Config)) *httpcam.Camera {
	t.Helper()
	cfg := httpcam.DefaultConfig()
	cfg.URL = url
	if change != nil {
		change(&cfg)
	}
	c, err := httpcam.New(drivers.Env{Name: "door-cam", Log: quiet, Now: time.Now}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// photoError returns the error of one image, with the address of the server replaced by
// HOST.
func photoError(t testing.TB, c *httpcam.Camera, server string) string {
	t.Helper()
	p, err := c.Photo(t.Context())
	if err == nil {
		t.Fatalf("no error, but %d bytes", len(p.Data))
	}
	if len(p.Data) != 0 {
		t.Errorf("%d bytes beside the error", len(p.Data))
	}
	return strings.ReplaceAll(err.Error(), strings.TrimPrefix(server, "http://"), "HOST")
}
