package httpcam

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/internal/address"
)

// Values of Config.Mode.
const (
	Auto     = "auto"     // detect from the answer
	Snapshot = "snapshot" // one image for each request
	Stream   = "stream"   // Motion JPEG: multipart/x-mixed-replace
)

// Off as StateURL disables the request for the state.
const Off = "off"

// Config is the configuration of one camera.
type Config struct {
	URL          string         `yaml:"url"`           // address of a snapshot or an MJPEG stream; http or https
	Mode         string         `yaml:"mode"`          // auto, snapshot or stream
	Username     string         `yaml:"username"`      // for Basic and Digest authentication
	Password     drivers.Secret `yaml:"password"`      //
	PasswordFile string         `yaml:"password_file"` // file instead of password: its first line
	Timeout      time.Duration  `yaml:"timeout"`       // for one image, including all requests
	MaxBytes     int            `yaml:"max_bytes"`     // size limit for one encoded image
	MaxPixels    int            `yaml:"max_pixels"`    // limit for width times height
	StateURL     string         `yaml:"state_url"`     // ustreamer's /state; "": detected; "off": no request
	SkipFrames   *int           `yaml:"skip_frames"`   // number of images to drop before the result; nil: see DefaultSkip
}

// DefaultSkip is the default number of dropped frames of a stream. A server may send a
// frame from before the call to a new client. The driver drops no snapshots by default.
const DefaultSkip = 1

const (
	minTimeout = 10 * time.Millisecond
	maxTimeout = 10 * time.Minute
	maxSkip    = 100
	minBytes   = 1 << 10    // no camera has smaller images
	megapixels = 64_000_000 // limit of internal/picture
)

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	return Config{Mode: Auto, Timeout: 10 * time.Second, MaxBytes: 16 << 20, MaxPixels: megapixels}
}

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	return errors.Join(
		checkURL("url", c.URL),
		c.checkState(),
		c.checkMode(),
		c.checkAccount(),
		c.checkLimits(),
	)
}

func (c Config) checkState() error {
	if c.StateURL == "" || c.StateURL == Off {
		return nil
	}
	return checkURL("state_url", c.StateURL)
}

// checkURL returns an error for an invalid address. The error never contains the address,
// because that may contain a password.
func checkURL(key, s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return fmt.Errorf("%s: is missing; write the address of the snapshot or stream of the camera", key)
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s: is not an address of the form http://host/path; see the manual of the camera", key)
	case u.User != nil:
		return fmt.Errorf("%s: has a user name; move it to username, and the rest to password", key)
	}
	if err := address.CheckURL(u); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

func (c Config) checkMode() error {
	switch c.Mode {
	case Auto, Snapshot, Stream:
		return nil
	}
	return fmt.Errorf("mode: %q is unknown; known: %s, %s, %s", c.Mode, Auto, Snapshot, Stream)
}

func (c Config) checkAccount() error {
	var errs []error
	hasPassword := c.Password != "" || c.PasswordFile != ""
	if c.Password != "" && c.PasswordFile != "" {
		errs = append(errs, errors.New("password_file: excludes password; remove one of them"))
	}
	if hasPassword && c.Username == "" {
		errs = append(errs, errors.New("username: is missing; a password needs a user name"))
	}
	if strings.ContainsFunc(c.Username, func(r rune) bool { return r == ':' || r < ' ' || r == 0x7f }) {
		// the first colon ends the user name (RFC 7617 §2)
		errs = append(errs, errors.New("username: has a colon or a control character; rename the user in the camera"))
	}
	return errors.Join(errs...)
}

func (c Config) checkLimits() error {
	var errs []error
	errs = append(errs, drivers.CheckRange("timeout", c.Timeout, minTimeout, maxTimeout))
	if c.MaxBytes < minBytes {
		errs = append(errs, fmt.Errorf("max_bytes: %d is too small for an image; write at least %d", c.MaxBytes, minBytes))
	}
	if c.MaxPixels < 1 {
		errs = append(errs, fmt.Errorf("max_pixels: %d is too small for an image; omit the key for %d", c.MaxPixels, megapixels))
	}
	if c.SkipFrames != nil && (*c.SkipFrames < 0 || *c.SkipFrames > maxSkip) {
		errs = append(errs, fmt.Errorf("skip_frames: %d is not between 0 and %d", *c.SkipFrames, maxSkip))
	}
	return errors.Join(errs...)
}

// account returns the user and the password. It reads the password file if there is one.
func (c Config) account() (httpclient.Account, error) {
	a := httpclient.Account{User: c.Username, Password: c.Password}
	if err := httpclient.ReadSecret("password_file", c.PasswordFile, &a.Password); err != nil {
		return httpclient.Account{}, err
	}
	return a, nil
}
