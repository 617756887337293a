package httpcam_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpcam"
	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/go2rtc"
)

// patience limits the start of a server, which takes about a second.
const patience = time.Minute

// freeAddr returns a free port of this host.
func freeAddr(t *testing.T) (host, port string) {
	t.Helper()
	host = freeport.Address(t)
	_, port, _ = net.SplitHostPort(host)
	return host, port
}

// run runs a program for the duration of the test.
func run(t *testing.T, program string, args ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server takes seconds")
	}
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("%s is not installed: apt-get install -y --no-install-recommends %s", program, program)
	}
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // the test has killed it
		if t.Failed() {
			t.Logf("output of %s:\n%s", program, &out)
		}
	})
}

// until takes images until ok returns true, or patience expires, and returns the last.
func until(t *testing.T, c *httpcam.Camera, ok func(drivers.Photo, error) bool) (drivers.Photo, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		p, err := c.Photo(ctx)
		if ok(p, err) || ctx.Err() != nil {
			return p, err
		}
		<-again.C
	}
}

// motion serves the images of source with a login by method: 1 is Basic, 2 is Digest.
func motion(t *testing.T, source string, method int) (host string) {
	t.Helper()
	host, port := freeAddr(t)
	dir := t.TempDir()
	conf := filepath.Join(dir, "motion.conf")
	text := fmt.Sprintf(`daemon off
netcam_url %s
target_dir %s
width 320
height 240
framerate 10
picture_output off
movie_output off
emulate_motion off
webcontrol_port 0
stream_port %s
stream_localhost on
stream_maxrate 10
stream_auth_method %d
stream_authentication me:sesame
`, source, dir, port, method)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "motion", "-n", "-m", "-c", conf)
	return host
}

func TestMotion(t *testing.T) {
	source := handle(t, stream(func(int) []byte { return jpegOf(t, 200, 320, 240) }, 50*time.Millisecond))
	for name, method := range map[string]int{"basic": 1, "digest": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // motion starts slowly
			host := motion(t, source.URL, method)
			for _, path := range []string{"/stream", "/current"} {
				checkMotion(t, host, path)
			}
		})
	}
}

func checkMotion(t *testing.T, host, path string) {
	t.Helper()
	user := func(password drivers.Secret) *httpcam.Camera {
		return camera(t, "http://"+host+path, func(c *httpcam.Config) { c.Username, c.Password = "me", password })
	}
	// The images before motion has found its source do not matter here.
	p, err := until(t, user("sesame"), func(p drivers.Photo, err error) bool { return err == nil && levelOf(t, p.Data) > 150 })
	if err != nil || p.MIME != "image/jpeg" {
		t.Fatalf("%s: %q, %v", path, p.MIME, err)
	}
	if level := levelOf(t, p.Data); level <= 150 {
		t.Errorf("%s: the picture has level %d, the source 200", path, level)
	}
	if got := photoError(t, user("wrong"), "http://"+host); !strings.HasSuffix(got, "answers 401; the camera rejects the login: check username and password") {
		t.Errorf("%s: %s", path, got)
	}
}

// TestUstreamerWithoutCamera needs no video device, because it tests a missing one.
func TestUstreamerWithoutCamera(t *testing.T) {
	host, port := freeAddr(t)
	run(t, "ustreamer", "--device", filepath.Join(t.TempDir(), "none"), "--host", "127.0.0.1", "--port", port)
	for _, path := range []string{"/stream", "/snapshot", "/stream?extra_headers=1"} {
		c := camera(t, "http://"+host+path, nil)
		_, err := until(t, c, func(_ drivers.Photo, err error) bool {
			return err == nil || !strings.Contains(err.Error(), "reachable")
		})
		if err == nil || err.Error() != gone {
			t.Errorf("%s: %v", path, err)
		}
	}
	blind := camera(t, "http://"+host+"/stream", func(c *httpcam.Config) { c.StateURL = httpcam.Off })
	if _, err := blind.Photo(t.Context()); err != nil {
		t.Errorf("the placeholder with allowed placeholders: %v", err)
	}
}

// TestGo2rtc tests a server that relays another camera: its stream and its snapshots.
func TestGo2rtc(t *testing.T) {
	source := handle(t, stream(func(int) []byte { return jpegOf(t, 200, 320, 240) }, 50*time.Millisecond))
	host := go2rtc.Serve(t, map[string]string{"yard": source.URL, "gone": "http://127.0.0.1:1/"})
	for _, path := range []string{"/api/stream.mjpeg", "/api/frame.jpeg"} {
		c := camera(t, "http://"+host+path+"?src=yard", nil)
		asked := time.Now()
		p, err := until(t, c, func(_ drivers.Photo, err error) bool { return err == nil })
		if err != nil || p.MIME != "image/jpeg" || p.CapturedAt.Before(asked) || levelOf(t, p.Data) <= 150 {
			t.Errorf("%s: %s of %v, %v", path, p.MIME, p.CapturedAt, err)
		}
		gone := camera(t, "http://"+host+path+"?src=gone", nil) // go2rtc answers 200 and sends nothing more
		if p, err := gone.Photo(t.Context()); err == nil {
			t.Errorf("%s: of a camera that is gone come %d bytes", path, len(p.Data))
		}
		if got := photoError(t, camera(t, "http://"+host+path+"?src=attic", nil), "http://"+host); !strings.Contains(got, "answers 404") {
			t.Errorf("%s: error for an unknown camera is %s, want 404", path, got)
		}
	}
}
