package httpcam

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
	"github.com/messkit/messkit/internal/address"
)

// Mode says what the camera's address gives.
const (
	Auto     = "auto"     // whichever the answer turns out to be
	Snapshot = "snapshot" // one picture for each request
	Stream   = "stream"   // Motion JPEG: multipart/x-mixed-replace
)

// Off as StateURL means: never ask.
const Off = "off"

// Config of one camera.
type Config struct {
	URL          string         `yaml:"url"`           // of a snapshot or an MJPEG stream; http or https
	Mode         string         `yaml:"mode"`          // auto, snapshot or stream
	Username     string         `yaml:"username"`      // for Basic and Digest authentication
	Password     drivers.Secret `yaml:"password"`      //
	PasswordFile string         `yaml:"password_file"` // instead of password: its first line
	Timeout      time.Duration  `yaml:"timeout"`       // for one picture, with everything that it takes
	MaxBytes     int            `yaml:"max_bytes"`     // of one encoded picture
	MaxPixels    int            `yaml:"max_pixels"`    // width times height
	StateURL     string         `yaml:"state_url"`     // ustreamer's /state; "": found by itself; "off": never asked
	SkipFrames   *int           `yaml:"skip_frames"`   // pictures thrown away before the one that counts; nil: see DefaultSkip
}

// DefaultSkip is how many frames of a stream are thrown away: a server may
// greet a new listener with the frame that it holds already, which was taken
// before the call. Of snapshots none is thrown away.
const DefaultSkip = 1

const (
	minTimeout = 10 * time.Millisecond
	maxTimeout = 10 * time.Minute
	maxSkip    = 100
	minBytes   = 1 << 10    // no camera has smaller pictures
	megapixels = 64_000_000 // what internal/picture decodes at most
)

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{Mode: Auto, Timeout: 10 * time.Second, MaxBytes: 16 << 20, MaxPixels: megapixels}
}

// Validate tells all that cannot be, each mistake beginning with its key.
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

// checkURL never repeats the address: it may hold a password.
func checkURL(key, s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return fmt.Errorf("%s: is missing; write the address of the camera's snapshot or stream", key)
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s: is no address of the form http://host/path; look into the camera's manual", key)
	case u.User != nil:
		return fmt.Errorf("%s: holds a user name; write it as username, and the rest as password", key)
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
	return fmt.Errorf("mode: %q is not known; known: %s, %s, %s", c.Mode, Auto, Snapshot, Stream)
}

func (c Config) checkAccount() error {
	var errs []error
	hasPassword := c.Password != "" || c.PasswordFile != ""
	if c.Password != "" && c.PasswordFile != "" {
		errs = append(errs, errors.New("password_file: stands beside password; keep one of them"))
	}
	if hasPassword && c.Username == "" {
		errs = append(errs, errors.New("username: is missing; a password alone opens nothing"))
	}
	if strings.ContainsFunc(c.Username, func(r rune) bool { return r == ':' || r < ' ' || r == 0x7f }) {
		// RFC 7617 §2: the first colon ends the user name.
		errs = append(errs, errors.New("username: holds a colon or a control character; name the user otherwise in the camera"))
	}
	return errors.Join(errs...)
}

func (c Config) checkLimits() error {
	var errs []error
	if c.Timeout < minTimeout || c.Timeout > maxTimeout {
		errs = append(errs, fmt.Errorf("timeout: %v is not between %v and %v", c.Timeout, minTimeout, maxTimeout))
	}
	if c.MaxBytes < minBytes {
		errs = append(errs, fmt.Errorf("max_bytes: %d is too few for a picture; write at least %d", c.MaxBytes, minBytes))
	}
	if c.MaxPixels < 1 {
		errs = append(errs, fmt.Errorf("max_pixels: %d is too few for a picture; leave it out for %d", c.MaxPixels, megapixels))
	}
	if c.SkipFrames != nil && (*c.SkipFrames < 0 || *c.SkipFrames > maxSkip) {
		errs = append(errs, fmt.Errorf("skip_frames: %d is not between 0 and %d", *c.SkipFrames, maxSkip))
	}
	return errors.Join(errs...)
}

// account returns the user and the password, which may be in a file.
func (c Config) account() (web.Account, error) {
	a := web.Account{User: c.Username, Password: c.Password}
	if err := web.ReadSecret("password_file", c.PasswordFile, &a.Password); err != nil {
		return web.Account{}, err
	}
	return a, nil
}
