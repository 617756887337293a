package v4l2cam

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Auto is MJPEG where the camera has it, else YUYV, else NV12.
const Auto = "auto"

// Config of one camera.
type Config struct {
	Device     string        `yaml:"device"`      // /dev/video0, a link of /dev/v4l, or a part of the camera's name; "": the only camera
	Width      int           `yaml:"width"`       // of the picture, in pixels; the camera takes the nearest that it has
	Height     int           `yaml:"height"`      //
	Format     string        `yaml:"format"`      // auto, mjpeg, yuyv or nv12
	SkipFrames int           `yaml:"skip_frames"` // thrown away before the one that counts, while exposure and white balance settle
	Timeout    time.Duration `yaml:"timeout"`     // for one picture, with everything that it takes
	Quality    int           `yaml:"quality"`     // of the JPEG that yuyv and nv12 become, 1 to 100
}

// DefaultConfig is what holds where the configuration says nothing. Ten frames
// are a third of a second of most cameras, and enough for their exposure; a
// quality of 92 leaves to the picture budget what to lose.
func DefaultConfig() Config {
	return Config{Width: 1280, Height: 720, Format: Auto, SkipFrames: 10, Timeout: 15 * time.Second, Quality: 92}
}

const (
	maxSide    = 16384 // pixels
	maxPixels  = 64_000_000
	maxSkip    = 300
	minTimeout = 10 * time.Millisecond
	maxTimeout = 5 * time.Minute
)

// Validate tells all that cannot be, each mistake beginning with its key.
func (c Config) Validate() error {
	var errs []error
	if c.Width < 16 || c.Width > maxSide || c.Height < 16 || c.Height > maxSide || c.Width*c.Height > maxPixels {
		errs = append(errs, fmt.Errorf("width: %d x %d is no picture's size; write what the camera has, such as 1280 and 720", c.Width, c.Height))
	}
	if !slices.Contains(known(), c.Format) {
		errs = append(errs, fmt.Errorf("format: %q is unknown; known: %s", c.Format, strings.Join(known(), ", ")))
	}
	if c.SkipFrames < 0 || c.SkipFrames > maxSkip {
		errs = append(errs, fmt.Errorf("skip_frames: %d is not between 0 and %d", c.SkipFrames, maxSkip))
	}
	if c.Timeout < minTimeout || c.Timeout > maxTimeout {
		errs = append(errs, fmt.Errorf("timeout: %v is not between %v and %v", c.Timeout, minTimeout, maxTimeout))
	}
	if c.Quality < 1 || c.Quality > 100 {
		errs = append(errs, fmt.Errorf("quality: %d is not between 1 and 100", c.Quality))
	}
	return errors.Join(errs...)
}

func known() []string {
	names := []string{Auto}
	for _, f := range formats {
		names = append(names, f.name)
	}
	return slices.Compact(names)
}
