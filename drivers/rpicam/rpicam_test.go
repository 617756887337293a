package rpicam_test

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/jpeg"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/rpicam"
)

// stub is a program with the options of the real ones: it checks them, copies an image, and
// fails as a file demands. DIR/ran lists each run.
const stub = `#!/bin/sh
if [ "$1" = --version ]; then
	echo "rpicam-apps build: v1.5.0 7c1ea54f4ac7 30-06-2024 (14:09:58)"
	echo "libcamera build: v0.3.0+65-6ddd79b5"
	exit 0
fi
out= all="$*"
while [ $# -gt 0 ]; do
	case "$1" in
	--nopreview) shift ;;
	--camera|--encoding|--quality|--width|--height|--rotation|--timeout) shift 2 ;;
	--output) out=$2; shift 2 ;;
	*) echo "ERROR: *** unrecognised option '$1' ***" >&2; exit 255 ;;
	esac
done
echo "$all" >> DIR/ran
n=$(wc -l < DIR/ran)
case "$(cat DIR/mood 2>/dev/null)" in
hang) sleep 1000 & echo $! > DIR/child; wait ;;
hang-once) [ $n -gt 1 ] || sleep 1000 ;;
fail) echo "Preview window unavailable" >&2; echo "ERROR: *** no cameras available ***" >&2; exit 255 ;;
fail-once) [ $n -gt 1 ] || { echo "ERROR: *** failed to acquire camera ***" >&2; exit 255; } ;;
cut) head -c 100 DIR/picture > "$out"; exit 0 ;;
esac
cat DIR/picture > "$out"
`

type pi struct{ dir string }

func newPi(t *testing.T, mood string) *pi {
	t.Helper()
	p := &pi{t.TempDir()}
	var pic bytes.Buffer
	if err := jpeg.Encode(&pic, image.NewGray(image.Rect(0, 0, 64, 64)), nil); err != nil {
		t.Fatal(err)
	}
	// A program cannot be run while a process that another test has just started has it open for writing.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	for name, text := range map[string]string{"picture": pic.String(), "mood": mood, "rpicam-still": strings.ReplaceAll(stub, "DIR", p.dir)} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *pi) ran() []string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "ran"))
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

func (p *pi) camera(log *slog.Logger, change func(*rpicam.Config)) *rpicam.Camera {
	cfg := rpicam.DefaultConfig()
	cfg.Tool = filepath.Join(p.dir, "rpicam-still")
	if change != nil {
		change(&cfg)
	}
	return rpicam.New(drivers.Env{Name: "garden-cam", Log: log, Now: time.Now}, cfg)
}

var silent = slog.New(slog.DiscardHandler)

func TestSuite(t *testing.T) {
	drivertest.Run(t, func(t *testing.T) drivers.Device { return newPi(t, "").camera(silent, nil) })
}

func photo(t *testing.T, c *rpicam.Camera) (drivers.Photo, error) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return c.Photo(t.Context())
}

func TestArgumentsAndVersion(t *testing.T) {
	p := newPi(t, "")
	var log bytes.Buffer
	c := p.camera(slog.New(slog.NewTextHandler(&log, nil)), func(c *rpicam.Config) { c.Camera, c.Rotation = 1, 180 })
	for range 2 {
		if _, err := photo(t, c); err != nil {
			t.Fatal(err)
		}
	}
	got, want := p.ran()[0], "--nopreview --camera 1 --encoding jpg --quality 93 --width 1920 --height 1080 --rotation 180 --timeout 1000 --output "
	if !strings.HasPrefix(got, want) {
		t.Errorf("ran with %s, want %s", got, want)
	}
	if n := strings.Count(log.String(), "version=v1.5.0"); n != 1 {
		t.Errorf("the version was logged %d times: %s", n, log.String())
	}
	if file := got[strings.LastIndex(got, " ")+1:]; !gone(file) {
		t.Errorf("%s was left", file)
	}
}

func gone(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, os.ErrNotExist)
}

func TestProgramFailures(t *testing.T) {
	for _, tt := range []struct {
		mood, want string
		runs       int
	}{
		{"", "", 1},
		{"hang-once", "", 2},
		{"fail-once", "", 2},
		{"hang", "garden-cam: rpicam-still was killed after 3s; this was the second attempt (DIR/rpicam-still v1.5.0)", 2},
		{"fail", `garden-cam: rpicam-still exited with code 255, saying "ERROR: *** no cameras available ***"; check that its cable is connected in the right orientation, and camera_auto_detect=1 in /boot/firmware/config.txt; this was the second attempt (DIR/rpicam-still v1.5.0)`, 2},
		{"cut", "garden-cam: the program reports success, but has written 100 bytes without a complete JPEG; check for a full disk; this was the second attempt (DIR/rpicam-still v1.5.0)", 2},
	} {
		t.Run(tt.mood, func(t *testing.T) {
			t.Parallel() // some mostly wait
			p := newPi(t, tt.mood)
			_, err := photo(t, p.camera(silent, func(c *rpicam.Config) {
				if strings.HasPrefix(tt.mood, "hang") {
					c.Settle, c.Timeout = 0, 3*time.Second
				}
			}))
			got := ""
			if err != nil {
				got = strings.ReplaceAll(err.Error(), p.dir, "DIR")
			}
			if got != tt.want || len(p.ran()) != tt.runs {
				t.Errorf("%d runs: %s\nwant %d: %s", len(p.ran()), got, tt.runs, tt.want)
			}
		})
	}
}

// Halt ends a hanging program, without a second attempt.
func TestHaltKillsProgram(t *testing.T) {
	p := newPi(t, "hang")
	c := p.camera(silent, nil)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { _, err := c.Photo(context.Background()); ended <- err }()
	for gone(filepath.Join(p.dir, "child")) {
		time.Sleep(time.Millisecond)
	}
	if err := c.Halt(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, drivers.ErrNotStarted) || len(p.ran()) != 1 {
		t.Errorf("%d runs: %v", len(p.ran()), err)
	}
}

// The driver prefers the newer program.
func TestTools(t *testing.T) {
	p := newPi(t, "")
	old, err := os.ReadFile(filepath.Join(p.dir, "rpicam-still"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", p.dir)
	any := func(c *rpicam.Config) { c.Tool = "" }
	if err := os.Remove(filepath.Join(p.dir, "rpicam-still")); err != nil {
		t.Fatal(err)
	}
	if _, err := photo(t, p.camera(silent, any)); err == nil || err.Error() != "garden-cam: neither rpicam-still nor libcamera-still exists; run apt-get install rpicam-apps" {
		t.Error(err)
	}
	for _, name := range slices.Backward(rpicam.Tools) {
		if err := os.WriteFile(filepath.Join(p.dir, name), bytes.ReplaceAll(old, []byte("$all"), []byte("$0 $all")), 0o755); err != nil {
			t.Fatal(err)
		}
		if _, err := photo(t, p.camera(silent, any)); err != nil {
			t.Fatal(err)
		}
		if all := p.ran(); !strings.HasPrefix(all[len(all)-1], filepath.Join(p.dir, name)) {
			t.Errorf("%s was not taken: %s", name, all[len(all)-1])
		}
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*rpicam.Config){
		"camera: 9":                              func(c *rpicam.Config) { c.Camera = 9 },
		"width: 0 x 1080":                        func(c *rpicam.Config) { c.Width = 0 },
		"rotation: 90":                           func(c *rpicam.Config) { c.Rotation = 90 },
		"timeout: 1s is not":                     func(c *rpicam.Config) { c.Timeout = time.Second },
		"quality: 0":                             func(c *rpicam.Config) { c.Quality = 0 },
		`tool: "/bin/sh" executes its arguments`: func(c *rpicam.Config) { c.Tool = "/bin/sh" },
		`tool: "rpicam" is not a full path`:      func(c *rpicam.Config) { c.Tool = "rpicam" },
	} {
		c := rpicam.DefaultConfig()
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Validate = %v, want %s", err, want)
		}
	}
}
