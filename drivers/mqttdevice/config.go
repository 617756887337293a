package mqttdevice

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
	"github.com/messkit/messkit/internal/address"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Config of one device.
type Config struct {
	Broker       string         `yaml:"broker"` // mqtt://host:1883, or mqtts://host:8883
	Username     string         `yaml:"username"`
	Password     drivers.Secret `yaml:"password"`
	PasswordFile string         `yaml:"password_file"` // instead of password: its first line
	ClientID     string         `yaml:"client_id"`     // "": made from the device's name, and new each time
	Timeout      time.Duration  `yaml:"timeout"`       // for an answer of the device
	family.Settings
}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config {
	return Config{Timeout: 5 * time.Second, Settings: family.DefaultSettings()}
}

const (
	minTimeout = 10 * time.Millisecond // no network is quicker
	maxTimeout = time.Minute
)

// schemes are how a broker is reached, and where it listens.
var schemes = map[string]string{"mqtt": "1883", "mqtts": "8883"}

// Validate tells all that cannot be, each mistake beginning with its key.
func (c Config) Validate() error {
	errs := []error{c.checkBroker(), c.Settings.Validate()}
	if c.Password != "" && c.PasswordFile != "" {
		errs = append(errs, errors.New("password_file: stands beside password; keep one of them"))
	}
	if (c.Password != "" || c.PasswordFile != "") && c.Username == "" {
		errs = append(errs, errors.New("username: is missing; a password alone opens nothing"))
	}
	if slices.ContainsFunc([]rune(c.ClientID), func(r rune) bool { return r <= ' ' || r == '+' || r == '#' || r == '/' }) {
		errs = append(errs, fmt.Errorf("client_id: %q holds a blank, +, # or /; use letters and digits", c.ClientID))
	}
	if c.Timeout < minTimeout || c.Timeout > maxTimeout {
		errs = append(errs, fmt.Errorf("timeout: %v is not between %v and %v", c.Timeout, minTimeout, maxTimeout))
	}
	t, err := templates.Load(Families(), c.Families, c.Family)
	if _, own := errors.AsType[strictyaml.Problems](err); err == nil { // those of an own template come with New
		_, more := family.Resolve(t.With, c.With)
		errs = append(errs, more...)
	} else if !own {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// checkBroker never repeats the address: it may hold a password.
func (c Config) checkBroker() error {
	u, err := url.Parse(c.Broker)
	switch {
	case c.Broker == "":
		return errors.New("broker: is missing; write where the MQTT broker is, like mqtt://127.0.0.1:1883")
	case err != nil || u.Host == "" || schemes[u.Scheme] == "" || u.Path != "" || u.RawQuery != "":
		return errors.New("broker: is no address of the form mqtt://host:1883 or mqtts://host:8883")
	case u.User != nil:
		return errors.New("broker: holds a user name; write it as username, and the rest as password")
	}
	if err := address.CheckURL(u); err != nil {
		return fmt.Errorf("broker: %w", err)
	}
	return nil
}

// address is the broker's for the client's library.
func (c Config) address() string {
	u, _ := url.Parse(c.Broker) // it has passed Validate
	port := u.Port()
	if port == "" {
		port = schemes[u.Scheme]
	}
	return map[string]string{"mqtt": "tcp://", "mqtts": "tls://"}[u.Scheme] + net.JoinHostPort(u.Hostname(), port)
}
