package printer

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/httpclient"
)

// Config is the configuration of one printer.
type Config struct {
	httpclient.Config
	Server  string            `yaml:"server"`  // moonraker, octoprint or prusalink
	Files   map[string]string `yaml:"files"`   // name that people use to path on the printer; none: all files on the printer, by their own names
	Storage string            `yaml:"storage"` // storage of a PrusaLink: usb, local, sdcard
	Poll    time.Duration     `yaml:"poll"`    // poll interval during a print
	Safe    string            `yaml:"safe"`    // cancel or keep, at a stop
}

// Values of Config.Safe.
const (
	Cancel = "cancel"
	Keep   = "keep"
)

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	return Config{Config: httpclient.DefaultConfig(), Storage: "usb", Poll: 5 * time.Second, Safe: Cancel}
}

// loginErrors maps the servers that require a login to the error for a missing one.
var loginErrors = map[string]string{
	"octoprint": "token_file: is missing; create an application key in OctoPrint, and write it into a file for messkit",
	"prusalink": "username: is missing; write username: maker, and write the password that the printer shows into password_file (an old printer has a key: token_file)",
}

// Limits for Config.Poll. The small computer of a printer must control motors in time.
const (
	minPoll = 2 * time.Second
	maxPoll = time.Minute
)

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate()}
	if _, known := dialects[c.Server]; !known {
		errs = append(errs, fmt.Errorf("server: %q is unknown; write moonraker, octoprint or prusalink", c.Server))
	}
	if none := c.Token == "" && c.TokenFile == "" && c.Username == ""; none && loginErrors[c.Server] != "" {
		errs = append(errs, errors.New(loginErrors[c.Server]))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		if spoken(name) == "" {
			errs = append(errs, fmt.Errorf("files: %q has no letters or digits, so people cannot say it; use letters and digits", name))
		}
		if !inside(c.Files[name]) {
			errs = append(errs, fmt.Errorf("files: %s: %q is not a path on the printer; write its path there, like toys/benchy.gcode", name, c.Files[name]))
		}
	}
	if c.Storage == "" || strings.ContainsAny(c.Storage, "/\\.?#%") {
		errs = append(errs, fmt.Errorf("storage: %q is unknown; write usb, local or sdcard", c.Storage))
	}
	if c.Server != "prusalink" && c.Storage != DefaultConfig().Storage {
		errs = append(errs, errors.New("storage: only for a PrusaLink; omit the key"))
	}
	errs = append(errs, drivers.CheckRange("poll", c.Poll, minPoll, maxPoll))
	if c.Safe != Cancel && c.Safe != Keep {
		errs = append(errs, fmt.Errorf("safe: %q is unknown; write cancel or keep", c.Safe))
	}
	return errors.Join(errs...)
}

// inside reports whether a path is a file below the folder of the printer.
func inside(file string) bool {
	return file != "" && !strings.HasPrefix(file, "/") && !strings.ContainsAny(file, "\\\x00") && path.Clean(file) == file && file != ".." && !strings.HasPrefix(file, "../")
}
