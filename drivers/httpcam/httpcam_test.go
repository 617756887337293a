package httpcam_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/httpcam"
)

func TestConformance(t *testing.T) {
	data := jpegOf(t, 80, 64, 48)
	for name, h := range map[string]http.HandlerFunc{
		"snapshot": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(data) },
		"stream":   stream(func(int) []byte { return data }, time.Millisecond),
	} {
		t.Run(name, func(t *testing.T) {
			s := handle(t, h)
			drivertest.Run(t, func(t *testing.T) drivers.Device { return halted(t, s.URL, nil) })
		})
	}
}

func TestPhotoReturnsTheCameraImage(t *testing.T) {
	pic, other, still := jpegOf(t, 10, 32, 16), jpegOf(t, 200, 32, 16), pngOf(t, 10, 32, 16)
	part := func(head string, data []byte, tail string) string { return head + "\r\n\r\n" + string(data) + tail }
	length := fmt.Sprintf("Content-Length: %d", len(pic))
	thumb := withSegment(pic, 0xe1, append([]byte("Exif\x00\x00"), other...))
	for name, tt := range map[string]struct {
		kind, body string
		want       []byte
	}{
		"snapshot":              {"image/jpeg", string(pic), pic},
		"png":                   {"image/png", string(still), still},
		"png with padding":      {"image/png", string(still) + "\x00\x00\x00", still},
		"wrong type":            {"text/plain", string(pic), pic},
		"padded behind EOI":     {"image/jpeg", string(pic) + strings.Repeat("\x00", 4096), pic},
		"two in one":            {"image/jpeg", string(pic) + string(other), pic},
		"a thumbnail's EOI":     {"image/jpeg", string(thumb), thumb},
		"fill bytes":            {"image/jpeg", string(pic[:2]) + "\xff\xff" + string(pic[2:]), []byte(string(pic[:2]) + "\xff\xff" + string(pic[2:]))},
		"stream":                {"multipart/x-mixed-replace; boundary=b", part("--b\r\n"+length, pic, "\r\n--b\r\n"), pic},
		"no length":             {"multipart/x-mixed-replace; boundary=b", part("--b\r\nContent-Type: image/jpeg", pic, "\r\n--b\r\n"), pic},
		"no headers":            {"multipart/x-mixed-replace; boundary=b", part("--b", pic, ""), pic},
		"png part":              {"multipart/x-mixed-replace; boundary=b", part("--b\r\nContent-Type: image/png", still, "\r\n--b--"), still},
		"dashes announced":      {"multipart/x-mixed-replace; boundary=--b", part("--b\r\n"+length, pic, "\r\n--b\r\n"), pic},
		"four dashes":           {"multipart/x-mixed-replace;boundary=--b", part("----b\r\n"+length, pic, "\r\n"), pic},
		"no dashes at all":      {"multipart/x-mixed-replace;boundary=b", part("b\r\n"+length, pic, "\r\n"), pic},
		"quoted":                {`Multipart/X-Mixed-Replace; Boundary="b b"; x=y`, part("--b b\r\n"+length, pic, "\r\n"), pic},
		"another boundary":      {"multipart/x-mixed-replace; boundary=b", part("--c\r\n"+length, pic, "\r\n"), pic},
		"no boundary announced": {"multipart/x-mixed-replace", part("--c\r\n"+length, pic, "\r\n"), pic},
		"no type":               {"application/octet-stream", part("--ffmpeg\r\n"+length, pic, "\r\n"), pic},
		"preamble":              {"multipart/x-mixed-replace; boundary=b", part("\r\nhello\r\n--b\r\n"+length, pic, ""), pic},
		"bare line feeds":       {"multipart/x-mixed-replace; boundary=b", "--b\n" + length + "\n\n" + string(pic) + "\n--b\n", pic},
		"odd case of headers":   {"multipart/x-mixed-replace; boundary=b", part("--b\r\ncontent-LENGTH:"+length[15:], pic, ""), pic},
		"length with padding": {
			"multipart/x-mixed-replace; boundary=b",
			part(fmt.Sprintf("--b\r\nContent-Length: %d", len(pic)+3), pic, "\x00\x00\x00\r\n--b\r\n"), pic,
		},
		"broken frame before": {
			"multipart/x-mixed-replace; boundary=b",
			part("--b\r\nContent-Length: 20", pic[:20], "\r\n") + part("--b\r\n"+length, pic, ""), pic,
		},
		"broken without length": {
			"multipart/x-mixed-replace; boundary=b",
			part("--b", []byte("\xff\xd8nonsense"), "\r\n") + part("--b", pic, ""), pic,
		},
		"text before": {
			"multipart/x-mixed-replace; boundary=b",
			part("--b\r\nContent-Type: text/plain\r\nContent-Length: 5", []byte("hello"), "\r\n") + part("--b\r\n"+length, pic, ""), pic,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, []byte(tt.body), "Content-Type: "+tt.kind)
			before := time.Now()
			p, err := camera(t, s.URL, skip(0)).Photo(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(p.Data, tt.want) {
				t.Errorf("got %d bytes, want %d", len(p.Data), len(tt.want))
			}
			if is := http.DetectContentType(tt.want); p.MIME != is {
				t.Errorf("MIME = %q, want %q", p.MIME, is)
			}
			if p.CapturedAt.Before(before) || p.CapturedAt.After(time.Now()) {
				t.Errorf("CapturedAt = %v, which is not during the call", p.CapturedAt)
			}
		})
	}
}

// withSegment inserts a segment after the SOI of a JPEG.
func withSegment(pic []byte, marker byte, data []byte) []byte {
	n := len(data) + 2
	head := []byte{0xff, 0xd8, 0xff, marker, byte(n >> 8), byte(n)}
	return append(append(head, data...), pic[2:]...)
}

func skip(n int) func(*httpcam.Config) {
	return func(c *httpcam.Config) { c.SkipFrames = &n }
}

func TestSkipFrames(t *testing.T) {
	levels := func(n int) []byte { return jpegOf(t, uint8(40*n), 16, 16) }
	asked := 0
	snapshots := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(levels(asked)); asked++ }
	for _, tt := range []struct {
		name   string
		h      http.HandlerFunc
		change func(*httpcam.Config)
		want   int
	}{
		{"stream", stream(levels, time.Millisecond), nil, httpcam.DefaultSkip},
		{"stream, none", stream(levels, time.Millisecond), skip(0), 0},
		{"stream, three", stream(levels, time.Millisecond), skip(3), 3},
		{"snapshot", snapshots, nil, 0},
		{"snapshot, two", snapshots, skip(2), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked = 0
			p, err := camera(t, handle(t, tt.h).URL, tt.change).Photo(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := int(levelOf(t, p.Data)+20) / 40; got != tt.want {
				t.Errorf("picture %d came, want %d", got, tt.want)
			}
		})
	}
}

func TestRequestsAreFresh(t *testing.T) {
	got := make(chan http.Header, 1)
	s := handle(t, func(w http.ResponseWriter, r *http.Request) {
		got <- r.Header
		_, _ = w.Write(jpegOf(t, 1, 8, 8))
	})
	if _, err := camera(t, s.URL, nil).Photo(t.Context()); err != nil {
		t.Fatal(err)
	}
	h := <-got
	want := []string{"no-cache, no-store", "no-cache", ""}
	if diff := cmp.Diff(want, []string{h.Get("Cache-Control"), h.Get("Pragma"), h.Get("Authorization")}); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

func TestNotStarted(t *testing.T) {
	c := halted(t, "http://127.0.0.1:1/", nil)
	for _, when := range []string{"before Start", "after Halt"} {
		if _, err := c.Photo(t.Context()); !errors.Is(err, drivers.ErrNotStarted) || err.Error() != "door-cam: not started; start it first" {
			t.Errorf("%s: %v", when, err)
		}
		if err := errors.Join(c.Start(), c.Halt()); err != nil {
			t.Fatal(err)
		}
	}
}

// waits sends the headers of a stream, signals begun, and sends nothing more.
func waits(begun chan<- bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=b")
		_, _ = w.Write([]byte("--b\r\n"))
		w.(http.Flusher).Flush()
		begun <- true
		<-r.Context().Done()
	}
}

func TestHaltEndsPhoto(t *testing.T) {
	begun, ended := make(chan bool), make(chan error)
	c := camera(t, handle(t, waits(begun)).URL, nil)
	go func() { _, err := c.Photo(context.Background()); ended <- err }()
	<-begun
	halted := make(chan error, 1)
	go func() { halted <- c.Halt() }()
	if err := <-ended; !errors.Is(err, drivers.ErrNotStarted) {
		t.Errorf("Photo = %v", err)
	}
	if err := <-halted; err != nil {
		t.Error(err)
	}
}

func TestContextEndsPhoto(t *testing.T) {
	begun, ended := make(chan bool), make(chan error)
	c := camera(t, handle(t, waits(begun)).URL, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { _, err := c.Photo(ctx); ended <- err }()
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "door-cam: ") {
		t.Errorf("Photo = %v", err)
	}
}

func TestPasswordFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	c := halted(t, "http://127.0.0.1/", func(c *httpcam.Config) { c.Username, c.PasswordFile = "me", file })
	for _, tt := range []struct{ content, want string }{
		{"open sesame\r\n", ""},
		{"\nopen sesame", fmt.Sprintf("door-cam: password_file: %q begins with an empty line; write the password there", file)},
		{strings.Repeat("x", 5000), fmt.Sprintf("door-cam: password_file: %q is not a file with one line; write only the password into it", file)},
	} {
		if err := os.WriteFile(file, []byte(tt.content), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := c.Start(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("Start = %q, want %q", got, tt.want)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start = %v without the file", err)
	}
}
