package httpcam_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers/httpcam"
	"github.com/messkit/messkit/internal/test/freeport"
)

func TestStatusErrorHasRemedy(t *testing.T) {
	loggedIn := func(c *httpcam.Config) { c.Username, c.Password = "me", "open sesame" }
	for _, tt := range []struct {
		status int
		change func(*httpcam.Config)
		want   string
	}{
		{401, nil, "the camera requires a login: set username and password"},
		{401, loggedIn, "the camera rejects the login: check username and password"},
		{403, nil, "the user has no permission for this image: grant it in the camera, and check the list of allowed addresses"},
		{404, nil, "the camera has no such page: see the manual of the camera for the path of the snapshot or stream"},
		{429, nil, "the camera receives too many requests: send fewer, or close other viewers"},
		{500, nil, "the camera has a fault: read its log, close other viewers, restart it"},
		{503, nil, "the camera has a fault: read its log, close other viewers, restart it"},
		{204, nil, "the answer is not an image: open the address in a browser"},
	} {
		s := handle(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Basic realm="cam"`)
			w.WriteHeader(tt.status)
		})
		want := fmt.Sprintf("door-cam: http://HOST/a.jpg answers %d; %s", tt.status, tt.want)
		if got := photoError(t, camera(t, s.URL+"/a.jpg?token=secret", tt.change), s.URL); got != want {
			t.Errorf("%d:\n got %s\nwant %s", tt.status, got, want)
		}
	}
}

// sized returns a small JPEG whose header has this size.
func sized(t *testing.T, w, h uint16) []byte {
	t.Helper()
	data := jpegOf(t, 1, 8, 8)
	at := strings.Index(string(data), "\xff\xc0") // SOF0: length 2, precision 1, height 2, width 2
	binary.BigEndian.PutUint16(data[at+5:], h)
	binary.BigEndian.PutUint16(data[at+7:], w)
	return data
}

func TestAnswerWithoutImage(t *testing.T) {
	const multi = "multipart/x-mixed-replace; boundary=b"
	pic := jpegOf(t, 1, 8, 8)
	small := func(c *httpcam.Config) { c.MaxBytes = 1024 }
	mode := func(m string) func(*httpcam.Config) { return func(c *httpcam.Config) { c.Mode = m } }
	const browser = "check it in a browser"
	const shrink = "the image is larger than max_bytes 1024; lower the resolution of the camera or raise max_bytes"
	for name, tt := range map[string]struct {
		kind, body string
		change     func(*httpcam.Config)
		want       string
	}{
		"page": {
			"text/html; charset=utf-8", "<html><style>p {}</style><h1>Log\nin</h1> &amp; smile" + strings.Repeat(" x", 4000), nil,
			`http://HOST/ sends "text/html; charset=utf-8", neither JPEG nor PNG: "Log in & smile` + strings.Repeat(" x", 33) + `"; set url to the image itself`,
		},
		"gif":                 {"image/gif", "GIF89a", nil, `http://HOST/ sends "image/gif", neither JPEG nor PNG: "GIF89a"; set url to the image itself`},
		"nothing":             {"image/jpeg", "", nil, "http://HOST/ sends an empty answer; " + browser},
		"cut short":           {"image/jpeg", string(pic[:len(pic)-2]), nil, "the image is incomplete or invalid: the image ends early; " + browser},
		"png cut short":       {"image/png", string(pngOf(t, 1, 8, 8)[:40]), nil, "the image is incomplete or invalid: the image ends early; " + browser},
		"no pixels":           {"image/jpeg", "\xff\xd8\xff\xd9", nil, "the image is incomplete or invalid: the image ends before its pixels; " + browser},
		"no marker":           {"image/jpeg", "\xff\xd8<html>", nil, "the image is incomplete or invalid: 0x3c instead of a marker; " + browser},
		"a marker of its own": {"image/jpeg", "\xff\xd8\xff\xd8", nil, "the image is incomplete or invalid: unexpected marker 0xd8 in the image; " + browser},
		"no length":           {"image/jpeg", "\xff\xd8\xff\xe0\x00\x01", nil, "the image is incomplete or invalid: a segment of 1 bytes; " + browser},
		"no frame header":     {"image/jpeg", "\xff\xd8\xff\xda\x00\x02\xff\xd9", nil, "the image is incomplete or invalid: invalid JPEG format: missing SOF marker; " + browser},
		"zero pixels":         {"image/jpeg", string(sized(t, 8, 0)), nil, "the image is incomplete or invalid: the image has no pixels; " + browser},
		"too large":           {"image/jpeg", string(withSegment(pic, 0xe1, make([]byte, 1024))), small, shrink},
		"png bomb":            {"image/png", "\x89PNG\r\n\x1a\n\xff\xff\xff\xffIDAT", small, shrink},
		"endless scan":        {"image/jpeg", string(pic[:len(pic)-2]) + strings.Repeat("x", 1<<20), small, shrink},
		"many pixels": {
			"image/jpeg", string(sized(t, 60000, 60000)), nil,
			"the image has 60000 x 60000 pixels, above max_pixels 64000000; lower the resolution of the camera or raise max_pixels",
		},
		"stream for snapshot": {
			multi, "--b\r\n\r\n" + string(pic), mode(httpcam.Snapshot),
			"http://HOST/ sends a stream, not a snapshot; set mode to stream or auto",
		},
		"snapshot for stream": {
			"image/jpeg", string(pic), mode(httpcam.Stream),
			"http://HOST/ sends a single image, not a stream; set mode to snapshot or auto",
		},
		"header line": {multi, "--b\r\nX: " + strings.Repeat("x", 1<<20), nil, "a frame has a header line above 4096 bytes; check that url is a camera"},
		"headers":     {multi, "--b\r\n" + strings.Repeat("X: y\r\n", 1<<16), nil, "a frame has headers above 16384 bytes; check that url is a camera"},
		"no boundary": {multi, strings.Repeat("x\n", 1<<12), small, "the stream has no boundary within 1024 bytes; check that it is Motion JPEG"},
		"bad length":  {multi, "--b\r\nContent-Length: -1\r\n\r\n", nil, `a frame has the Content-Length "-1", which is not a number`},
		"huge length": {multi, "--b\r\nContent-Length: 99999999999\r\n\r\n", small, shrink},
		"huge frame":  {multi, "--b\r\n\r\n" + string(pic[:len(pic)-2]) + strings.Repeat("x", 1<<20), small, shrink},
		"many pixels in a frame": {
			multi, "--b\r\n\r\n" + string(sized(t, 60000, 60000)), nil,
			"the image has 60000 x 60000 pixels, above max_pixels 64000000; lower the resolution of the camera or raise max_pixels",
		},
		"end at once":   {multi, "--b--\r\n", nil, "the stream ended after 0 complete frames; " + browser},
		"end too early": {multi, "--b\r\n\r\n" + string(pic), nil, "the stream ended after 1 complete frames; lower skip_frames, or raise timeout or the camera's frame rate"},
		"all broken": {
			multi, strings.Repeat("--b\r\nContent-Length: 4\r\n\r\n\xff\xd8\xff\xd9\r\n", 20), nil,
			"the image is incomplete or invalid: the image ends before its pixels; " + browser,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, []byte(tt.body), "Content-Type: "+tt.kind)
			got := photoError(t, camera(t, s.URL+"/", tt.change), s.URL)
			if want := "door-cam: " + tt.want; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestOldImageFromCache(t *testing.T) {
	s := serve(t, jpegOf(t, 1, 8, 8), "Age: 30")
	const want = "door-cam: a cache answers instead of the camera, with an image 30 s old; set url to the camera itself"
	if got := photoError(t, camera(t, s.URL, nil), s.URL); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAnswerHeadersAreBounded(t *testing.T) {
	s := serve(t, nil, "X: "+strings.Repeat("x", 1<<17))
	if got := photoError(t, camera(t, s.URL, nil), s.URL); !strings.Contains(got, "headers exceeded") {
		t.Error(got)
	}
}

func TestTimeoutErrorHasProgress(t *testing.T) {
	hang := func(first string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if first != "" {
				w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=b")
				_, _ = w.Write([]byte(first))
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}
	}
	frame := "--b\r\n\r\n" + string(jpegOf(t, 1, 8, 8))
	for _, tt := range []struct{ name, first, want string }{
		{"silent", "", "no image in TIME; check that http://HOST/s is reachable"},
		{"no frame", "--b\r\n", "no complete image in TIME, though http://HOST/s answers; check it in a browser"},
		{"one frame", frame, "no complete image in TIME, though http://HOST/s answers; lower skip_frames, or raise timeout or the camera's frame rate"},
	} {
		s := handle(t, hang(tt.first))
		var got, want string
		for _, limit := range []time.Duration{30 * time.Millisecond, time.Second, 30 * time.Second} { // a busy host needs long for any answer
			c := camera(t, s.URL+"/s?password=x", func(c *httpcam.Config) { c.Timeout = limit })
			want = "door-cam: " + strings.Replace(tt.want, "TIME", limit.String(), 1)
			if got = photoError(t, c, s.URL); got == want {
				break
			}
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, got, want)
		}
	}
}

func TestUnreachable(t *testing.T) {
	host := freeport.Address(t)
	_, err := camera(t, "http://"+host+"/s?password=x", nil).Photo(t.Context())
	if !errors.Is(err, syscall.ECONNREFUSED) || !strings.HasSuffix(err.Error(), "; check that http://"+host+"/s is reachable") {
		t.Error(err)
	}
}

func TestConnectionLostDuringImage(t *testing.T) {
	s := handle(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write(jpegOf(t, 1, 8, 8)[:100])
	})
	const want = "door-cam: the image is incomplete or invalid: the image ends early; check it in a browser"
	if got := photoError(t, camera(t, s.URL, nil), s.URL); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
