package printer

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers/web"
)

// Config of one printer.
type Config struct {
	web.Config
	Server  string            `yaml:"server"`  // moonraker, octoprint or prusalink
	Files   map[string]string `yaml:"files"`   // what people call files, and where they lie on the printer; none: all that lie there, by their own names
	Storage string            `yaml:"storage"` // of a PrusaLink: usb, local, sdcard
	Poll    time.Duration     `yaml:"poll"`    // between two looks at a print
	Safe    string            `yaml:"safe"`    // cancel or keep, when everything is stopped
}

// What Config.Safe may be.
const (
	Cancel = "cancel"
	Keep   = "keep"
)

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{Config: web.DefaultConfig(), Storage: "usb", Poll: 5 * time.Second, Safe: Cancel}
}

// keyed are the servers that tell nothing without a log-in, and what to write.
var keyed = map[string]string{
	"octoprint": "token_file: is missing; make an application key in OctoPrint, and write it into a file of messkit's alone",
	"prusalink": "username: is missing; write username: maker, and the password that the printer shows into password_file (an old one has a key: token_file)",
}

// What Config.Poll may be. A printer's small computer has a motor to look after.
const (
	minPoll = 2 * time.Second
	maxPoll = time.Minute
)

// Validate tells all that cannot be, each mistake beginning with its key.
func (c Config) Validate() error {
	errs := []error{c.Config.Validate()}
	if _, known := dialects[c.Server]; !known {
		errs = append(errs, fmt.Errorf("server: %q is unknown; write moonraker, octoprint or prusalink", c.Server))
	}
	if none := c.Token == "" && c.TokenFile == "" && c.Username == ""; none && keyed[c.Server] != "" {
		errs = append(errs, errors.New(keyed[c.Server]))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		if spoken(name) == "" {
			errs = append(errs, fmt.Errorf("files: %q is no name that one can say; use letters and digits", name))
		}
		if !inside(c.Files[name]) {
			errs = append(errs, fmt.Errorf("files: %s: %q is no file on the printer; write its path there, like toys/benchy.gcode", name, c.Files[name]))
		}
	}
	if c.Storage == "" || strings.ContainsAny(c.Storage, "/\\.?#%") {
		errs = append(errs, fmt.Errorf("storage: %q is none; write usb, local or sdcard", c.Storage))
	}
	if c.Server != "prusalink" && c.Storage != DefaultConfig().Storage {
		errs = append(errs, errors.New("storage: is for a PrusaLink alone; leave it out"))
	}
	if c.Poll < minPoll || c.Poll > maxPoll {
		errs = append(errs, fmt.Errorf("poll: %v is not between %v and %v", c.Poll, minPoll, maxPoll))
	}
	if c.Safe != Cancel && c.Safe != Keep {
		errs = append(errs, fmt.Errorf("safe: %q is unknown; write cancel or keep", c.Safe))
	}
	return errors.Join(errs...)
}

// inside reports whether a path is one of a file below the printer's folder.
func inside(file string) bool {
	return file != "" && !strings.HasPrefix(file, "/") && !strings.ContainsAny(file, "\\\x00") && path.Clean(file) == file && file != ".." && !strings.HasPrefix(file, "../")
}
