package v4l2cam

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
)

// Auto selects MJPEG if the camera supports it, else YUYV, else NV12.
const Auto = "auto"

// Config is the configuration of one camera.
type Config struct {
	Device     string        `yaml:"device"`      // /dev/video0, a link in /dev/v4l, or a part of the camera's name; "": the only camera
	Width      int           `yaml:"width"`       // width of the image in pixels; the camera selects the nearest size
	Height     int           `yaml:"height"`      //
	Format     string        `yaml:"format"`      // auto, mjpeg, yuyv or nv12
	SkipFrames int           `yaml:"skip_frames"` // number of frames to drop before the result, until exposure and white balance are stable
	Timeout    time.Duration `yaml:"timeout"`     // limit for one image
	Quality    int           `yaml:"quality"`     // quality of the JPEG for yuyv and nv12, 1 to 100
}

// DefaultConfig returns the default values. Most cameras send ten frames in a third of a
// second, which is enough for their exposure. A quality of 92 leaves the compression to the
// image budget.
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

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	var errs []error
	if c.Width < 16 || c.Width > maxSide || c.Height < 16 || c.Height > maxSide || c.Width*c.Height > maxPixels {
		errs = append(errs, fmt.Errorf("width: %d x %d is not a valid image size; write a size of the camera, such as 1280 and 720", c.Width, c.Height))
	}
	if !slices.Contains(known(), c.Format) {
		errs = append(errs, fmt.Errorf("format: %q is unknown; known: %s", c.Format, strings.Join(known(), ", ")))
	}
	errs = append(errs, drivers.CheckRange("skip_frames", c.SkipFrames, 0, maxSkip))
	errs = append(errs, drivers.CheckRange("timeout", c.Timeout, minTimeout, maxTimeout))
	errs = append(errs, drivers.CheckRange("quality", c.Quality, 1, 100))
	return errors.Join(errs...)
}

func known() []string {
	names := []string{Auto}
	for _, f := range formats {
		names = append(names, f.name)
	}
	return slices.Compact(names)
}
