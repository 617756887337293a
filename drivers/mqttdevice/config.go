package mqttdevice

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/template"
	"github.com/messkit/messkit/internal/address"
)

// Config is the configuration of one device.
type Config struct {
	Broker       string         `yaml:"broker"` // mqtt://host:1883, or mqtts://host:8883
	Username     string         `yaml:"username"`
	Password     drivers.Secret `yaml:"password"`
	PasswordFile string         `yaml:"password_file"` // file instead of password: its first line
	ClientID     string         `yaml:"client_id"`     // "": a random name for each connection
	Timeout      time.Duration  `yaml:"timeout"`       // for an answer of the device
	template.Settings
}

// DefaultConfig returns the default values.
func DefaultConfig() Config {
	return Config{Timeout: 5 * time.Second, Settings: template.DefaultSettings()}
}

const (
	minTimeout = 10 * time.Millisecond // no network is faster
	maxTimeout = time.Minute
)

// schemes maps the schemes of a broker address to their default ports.
var schemes = map[string]string{"mqtt": "1883", "mqtts": "8883"}

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	errs := []error{c.checkBroker(), c.Settings.Validate()}
	if c.Password != "" && c.PasswordFile != "" {
		errs = append(errs, errors.New("password_file: excludes password; remove one of them"))
	}
	if (c.Password != "" || c.PasswordFile != "") && c.Username == "" {
		errs = append(errs, errors.New("username: is missing; a password needs a user name"))
	}
	if slices.ContainsFunc([]rune(c.ClientID), func(r rune) bool { return r <= ' ' || r == '+' || r == '#' || r == '/' }) {
		errs = append(errs, fmt.Errorf("client_id: %q has a blank, +, # or /; use letters and digits", c.ClientID))
	}
	errs = append(errs, drivers.CheckRange("timeout", c.Timeout, minTimeout, maxTimeout))
	errs = append(errs, templates.Check(Families(), c.Settings, func(t *Template) map[string]template.Param { return t.With })...)
	return errors.Join(errs...)
}

// checkBroker returns an error for an invalid address. The error never contains the
// address, because that may contain a password.
func (c Config) checkBroker() error {
	u, err := url.Parse(c.Broker)
	switch {
	case c.Broker == "":
		return errors.New("broker: is missing; write the address of the MQTT broker, like mqtt://127.0.0.1:1883")
	case err != nil || u.Host == "" || schemes[u.Scheme] == "" || u.Path != "" || u.RawQuery != "":
		return errors.New("broker: is not an address of the form mqtt://host:1883 or mqtts://host:8883")
	case u.User != nil:
		return errors.New("broker: has a user name; move it to username, and the rest to password")
	}
	if err := address.CheckURL(u); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return nil
}

// address returns the address of the broker for the client.
func (c Config) address() string {
	u, _ := url.Parse(c.Broker) // Validate has parsed it
	return map[string]string{"mqtt": "tcp://", "mqtts": "tls://"}[u.Scheme] + net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), schemes[u.Scheme]))
}
