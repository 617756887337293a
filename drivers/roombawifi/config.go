package roombawifi

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/web"
	"github.com/messkit/messkit/internal/address"
	"github.com/messkit/messkit/internal/ascii"
)

// Config of one robot.
type Config struct {
	Host         string            `yaml:"host"` // its address, without a port
	Port         int               `yaml:"port"`
	Blid         string            `yaml:"blid"` // its user name
	Password     drivers.Secret    `yaml:"password"`
	PasswordFile string            `yaml:"password_file"` // instead of password: its first line
	Pin          string            `yaml:"pin"`           // sha256:... of its certificate, which it has made itself
	Insecure     bool              `yaml:"insecure"`      // take any certificate
	Segments     map[string]string `yaml:"segments"`      // the robot's ids of rooms, and what people call them
	Map          string            `yaml:"map"`           // the id of the map that they are on; "": the only one
	Poll         time.Duration     `yaml:"poll"`          // between two looks at what it is doing
	Timeout      time.Duration     `yaml:"timeout"`       // to connect, and for it to tell its state
	Safe         string            `yaml:"safe"`          // stop or keep, when messkit ends or is stopped
}

// What Config.Safe may be.
const (
	Stop = "stop"
	Keep = "keep"
)

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{Port: 8883, Poll: 2 * time.Second, Timeout: 15 * time.Second, Safe: Stop}
}

const (
	minPoll    = 2 * time.Second
	maxPoll    = time.Minute
	maxTimeout = time.Minute
	pinPrefix  = "sha256:"
)

// isID reports whether the robot can call itself, a room or a map so.
func isID(s string) bool { return ascii.Text(s, 64, "_-") }

// Validate tells all that cannot be, each mistake beginning with its key.
func (c Config) Validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(!ascii.Name(c.Host, 255, ".:-"), "host: %q is no address; write the robot's, like 192.168.1.52", c.Host)
	if err := address.CheckHost(c.Host); err != nil && c.Host != "" {
		errs = append(errs, fmt.Errorf("host: %w", err))
	}
	wrong(c.Port < 1 || c.Port > 65535, "port: %d cannot be one; leave it out for 8883", c.Port)
	wrong(!isID(c.Blid), "blid: %q is none; docs/drivers/roombawifi.md says how to get it", c.Blid)
	wrong(c.Password == "" && c.PasswordFile == "", "password_file: is missing; docs/drivers/roombawifi.md says how to get the robot's password")
	wrong(c.Password != "" && c.PasswordFile != "", "password_file: stands beside password; keep one of them")
	wrong(c.Pin != "" && !validPin(c.Pin), "pin: is no fingerprint; write sha256: and 64 digits, as the error without it tells them")
	wrong(c.Pin != "" && c.Insecure, "insecure: there is a pin; keep one of the two")
	for _, id := range slices.Sorted(maps.Keys(c.Segments)) {
		wrong(!isID(id), "segments: %q is no id of a room", id)
	}
	errs = append(errs, drivers.CheckSegments(c.Segments)...)
	wrong(c.Map != "" && !isID(c.Map), "map: %q is no id of a map", c.Map)
	wrong(c.Poll < minPoll || c.Poll > maxPoll, "poll: %v is not between %v and %v", c.Poll, minPoll, maxPoll)
	wrong(c.Timeout <= 0 || c.Timeout > maxTimeout, "timeout: %v is not above 0 and up to %v", c.Timeout, maxTimeout)
	wrong(c.Safe != Stop && c.Safe != Keep, "safe: %q is unknown; write stop or keep", c.Safe)
	return errors.Join(errs...)
}

func validPin(pin string) bool {
	digits, ok := strings.CutPrefix(pin, pinPrefix)
	raw, err := hex.DecodeString(digits)
	return ok && err == nil && len(raw) == 32
}

// secret is the password, read from its file where that is where it is.
func (c Config) secret() (drivers.Secret, error) {
	s := c.Password
	err := web.ReadSecret("password_file", c.PasswordFile, &s)
	return s, err
}
