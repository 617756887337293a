// Package rpicam takes images with the cameras of a Raspberry Pi through the program of its
// system: rpicam-still, or libcamera-still on older systems (raspberrypi.com,
// "rpicam-apps"). If the program exceeds its time limit, the driver kills it with the
// processes that it has started, and tries once more, because camera pipelines sometimes
// hang.
//
// Not supported: raspistill of systems before 2021, video, raw images, tuning files.
package rpicam

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/process"
)

var (
	_ drivers.Photographer   = (*Camera)(nil)
	_ drivers.ResourceHolder = (*Camera)(nil)
)

// Tools lists the programs that the driver searches for, newest first.
var Tools = []string{"rpicam-still", "libcamera-still"}

// Config is the configuration of one camera.
type Config struct {
	Camera   int           `yaml:"camera"`   // number of the camera in rpicam-still --list-cameras
	Width    int           `yaml:"width"`    // width of the image in pixels
	Height   int           `yaml:"height"`   //
	Rotation int           `yaml:"rotation"` // 0 or 180 degrees
	Settle   time.Duration `yaml:"settle"`   // time for exposure and white balance before the image
	Timeout  time.Duration `yaml:"timeout"`  // limit for one run of the program; there may be two
	Quality  int           `yaml:"quality"`  // quality of the JPEG, 1 to 100
	Tool     string        `yaml:"tool"`     // full path of the program; "": the first of Tools that exists
}

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	return Config{Width: 1920, Height: 1080, Settle: time.Second, Timeout: 12 * time.Second, Quality: 93}
}

const (
	maxSide    = 16384 // pixels
	maxTimeout = 2 * time.Minute
	maxBytes   = 32 << 20 // size limit for an image
)

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	var errs []error
	if c.Camera < 0 || c.Camera > 7 {
		errs = append(errs, fmt.Errorf("camera: %d is not the number of a camera; rpicam-still --list-cameras lists them", c.Camera))
	}
	if c.Width < 16 || c.Width > maxSide || c.Height < 16 || c.Height > maxSide {
		errs = append(errs, fmt.Errorf("width: %d x %d is not a valid image size", c.Width, c.Height))
	}
	if c.Rotation != 0 && c.Rotation != 180 {
		errs = append(errs, fmt.Errorf("rotation: %d is neither 0 nor 180", c.Rotation))
	}
	if c.Settle < 0 || c.Timeout <= c.Settle || c.Timeout > maxTimeout {
		errs = append(errs, fmt.Errorf("timeout: %v is not longer than settle, %v, and up to %v", c.Timeout, c.Settle, maxTimeout))
	}
	errs = append(errs, drivers.CheckRange("quality", c.Quality, 1, 100))
	if c.Tool != "" {
		if err := process.Check([]string{c.Tool}); err != nil {
			errs = append(errs, fmt.Errorf("tool: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{
		Name: "rpicam", Class: "camera", About: "camera of a Raspberry Pi (rpicam-still, libcamera-still)",
		Open: drivers.NewFactory(DefaultConfig, func(env drivers.Env, cfg Config) (*Camera, error) { return New(env, cfg), nil }),
	}
}

// Camera is one camera.
type Camera struct {
	drivers.Passive
	cfg  Config
	log  *slog.Logger
	now  func() time.Time
	turn chan struct{} // semaphore: one image at a time

	mu      sync.Mutex
	version string // version of the last used program
}

// New returns a camera for a valid configuration. It runs no program.
func New(env drivers.Env, cfg Config) *Camera {
	return &Camera{Passive: drivers.NewPassive(env.Name), cfg: cfg, log: env.Log, now: env.Now, turn: make(chan struct{}, 1)}
}

// Resources returns the camera, because a second device would find it busy.
func (c *Camera) Resources() []drivers.Resource {
	return []drivers.Resource{{Key: "camera", Label: fmt.Sprintf("camera %d of rpicam-still", c.cfg.Camera)}}
}

// Photo takes an image, with a second attempt.
func (c *Camera) Photo(ctx context.Context) (drivers.Photo, error) {
	return drivers.TakePhoto(ctx, &c.Base, func(ctx context.Context) (drivers.Photo, error) {
		select {
		case c.turn <- struct{}{}:
			defer func() { <-c.turn }()
		case <-ctx.Done():
			return drivers.Photo{}, ctx.Err()
		}
		tool, err := c.tool()
		if err != nil {
			return drivers.Photo{}, err
		}
		version := c.know(ctx, tool)
		p, err := c.shoot(ctx, tool)
		if err == nil || ctx.Err() != nil {
			return p, err
		}
		c.log.Warn("no image; second attempt", "err", err)
		if p, err = c.shoot(ctx, tool); err != nil {
			return p, fmt.Errorf("%w; this was the second attempt (%s)", err, version)
		}
		return p, nil
	})
}

// tool returns the full path of the program.
func (c *Camera) tool() (string, error) {
	if c.cfg.Tool != "" {
		return c.cfg.Tool, process.Check([]string{c.cfg.Tool})
	}
	for _, name := range Tools {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("neither %s exists; run apt-get install rpicam-apps", strings.Join(Tools, " nor "))
}

// know reads the version of a program once, and logs it.
func (c *Camera) know(ctx context.Context, tool string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version != "" {
		return c.version
	}
	text := "version unknown"
	r, err := process.Run(ctx, process.Spec{Args: []string{tool, "--version"}, Limit: c.cfg.Timeout, MaxBytes: 64 << 10})
	if v := versionOf(string(r.Output)); err == nil && v != "" {
		text = v
	}
	version := tool + " " + text
	if err == nil {
		c.version = version // otherwise the next image reads it again
		c.log.Info("camera program", "tool", tool, "version", text)
	}
	return version
}

var versions = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:rpicam|libcamera)-apps build: ([^\s]{1,40})`)
})

// versionOf finds the version in what the program says:
//
//	rpicam-apps build: v1.5.0 7c1ea54f4ac7 30-06-2024 (14:09:58)
//	libcamera build: v0.3.0+65-6ddd79b5
func versionOf(output string) string {
	m := versions().FindStringSubmatch(output)
	if m == nil {
		return ""
	}
	return m[1]
}

// shoot runs the program once. The program writes the image to a file, because its standard
// output may contain other text.
func (c *Camera) shoot(ctx context.Context, tool string) (_ drivers.Photo, err error) {
	f, err := os.CreateTemp("", "messkit-rpicam-*.jpg")
	if err != nil {
		return drivers.Photo{}, err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	if err := f.Close(); err != nil {
		return drivers.Photo{}, err
	}
	at := c.now()
	r, err := process.Run(ctx, process.Spec{Args: c.arguments(tool, f.Name()), Limit: c.cfg.Timeout, MaxBytes: 1 << 20, Env: []string{"LIBCAMERA_LOG_LEVELS=*:WARN"}})
	if err == nil {
		err = r.Failed(tool)
	}
	if err != nil {
		return drivers.Photo{}, explain(err, r.StderrLine)
	}
	data, err := read(f.Name())
	if err != nil {
		return drivers.Photo{}, err
	}
	return drivers.Photo{Data: data, MIME: "image/jpeg", CapturedAt: at}, nil
}

// arguments returns the arguments, which are the same for both programs.
func (c *Camera) arguments(tool, file string) []string {
	return []string{
		tool, "--nopreview", "--camera", strconv.Itoa(c.cfg.Camera), "--encoding", "jpg", "--quality", strconv.Itoa(c.cfg.Quality),
		"--width", strconv.Itoa(c.cfg.Width), "--height", strconv.Itoa(c.cfg.Height), "--rotation", strconv.Itoa(c.cfg.Rotation),
		"--timeout", strconv.FormatInt(max(1, c.cfg.Settle.Milliseconds()), 10), "--output", file,
	}
}

// explain adds a remedy to an error of the program.
func explain(err error, stderr string) error {
	switch low := strings.ToLower(stderr); {
	case strings.Contains(low, "no cameras available"):
		return fmt.Errorf("%w; check that its cable is connected in the right orientation, and camera_auto_detect=1 in /boot/firmware/config.txt", err)
	case strings.Contains(low, "in use") || strings.Contains(low, "busy") || strings.Contains(low, "failed to acquire"):
		return fmt.Errorf("%w; another program uses the camera: stop that program", err)
	}
	return err
}

// read reads the image that the program has written.
func read(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err == nil && info.Size() > maxBytes {
		err = fmt.Errorf("the image has %d bytes; lower width and height", info.Size())
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(name)
	if err == nil && (len(data) < 4 || string(data[:2]) != "\xff\xd8" || string(data[len(data)-2:]) != "\xff\xd9") {
		err = fmt.Errorf("the program reports success, but has written %d bytes without a complete JPEG; check for a full disk", len(data))
	}
	return data, err
}
