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
	"github.com/messkit/messkit/drivers/httpclient"
	"github.com/messkit/messkit/internal/address"
	"github.com/messkit/messkit/internal/ascii"
)

// Config is the configuration of one robot.
type Config struct {
	Host         string            `yaml:"host"` // address without a port
	Port         int               `yaml:"port"`
	Blid         string            `yaml:"blid"` // user name of the robot
	Password     drivers.Secret    `yaml:"password"`
	PasswordFile string            `yaml:"password_file"` // file instead of password: its first line
	Pin          string            `yaml:"pin"`           // sha256:... of its self-signed certificate
	Insecure     bool              `yaml:"insecure"`      // accept any certificate
	Segments     map[string]string `yaml:"segments"`      // id of a room in the robot to the name that people use
	Map          string            `yaml:"map"`           // id of the map of the rooms; "": the only one
	Poll         time.Duration     `yaml:"poll"`          // poll interval during a task
	Timeout      time.Duration     `yaml:"timeout"`       // limit for the connection, and for the first state
	Safe         string            `yaml:"safe"`          // stop or keep, at the end of messkit or at a stop
}

// Values of Config.Safe.
const (
	Stop = "stop"
	Keep = "keep"
)

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	return Config{Port: 8883, Poll: 2 * time.Second, Timeout: 15 * time.Second, Safe: Stop}
}

const (
	minPoll    = 2 * time.Second
	maxPoll    = time.Minute
	maxTimeout = time.Minute
	pinPrefix  = "sha256:"
)

// isID reports whether s may be the id of a robot, a room or a map.
func isID(s string) bool { return ascii.Text(s, 64, "_-") }

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(!ascii.Name(c.Host, 255, ".:-"), "host: %q is not an address; write the address of the robot, like 192.168.1.52", c.Host)
	if err := address.CheckHost(c.Host); err != nil && c.Host != "" {
		errs = append(errs, fmt.Errorf("host: %w", err))
	}
	wrong(c.Port < 1 || c.Port > 65535, "port: %d is invalid; omit the key for 8883", c.Port)
	wrong(!isID(c.Blid), "blid: %q is invalid; docs/drivers/roombawifi.md explains how to get it", c.Blid)
	wrong(c.Password == "" && c.PasswordFile == "", "password_file: is missing; docs/drivers/roombawifi.md explains how to get the password of the robot")
	wrong(c.Password != "" && c.PasswordFile != "", "password_file: excludes password; remove one of them")
	wrong(c.Pin != "" && !validPin(c.Pin), "pin: is not a fingerprint; write sha256: and 64 digits, which the error without a pin shows")
	wrong(c.Pin != "" && c.Insecure, "insecure: excludes pin; remove one of them")
	for _, id := range slices.Sorted(maps.Keys(c.Segments)) {
		wrong(!isID(id), "segments: %q is not the id of a room", id)
	}
	errs = append(errs, drivers.CheckSegments(c.Segments)...)
	wrong(c.Map != "" && !isID(c.Map), "map: %q is not the id of a map", c.Map)
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

// secret returns the password. It reads the password file if there is one.
func (c Config) secret() (drivers.Secret, error) {
	s := c.Password
	err := httpclient.ReadSecret("password_file", c.PasswordFile, &s)
	return s, err
}
