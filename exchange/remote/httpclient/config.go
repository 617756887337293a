package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/address"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/mess"
)

// Secret is a key. It prints as ***.
type Secret = secret.Text

// Config is the configuration of a client.
type Config struct {
	URL      string `yaml:"url"`      // http://192.168.1.20:8420, with a path where it lies behind a proxy; several nodes with commas between
	Exchange string `yaml:"exchange"` // its id; "": the one that the server names
	Key      Secret `yaml:"key"`      // "" can only register
	Pin      string `yaml:"pin"`      // fingerprint of its certificate; "": one that the system trusts
	// Reread reads the key again from its place of storage after the exchange has rejected it;
	// nil: no such place.
	Reread func() (Secret, error) `yaml:"-" json:"-"`
	// Timeout is the time without progress after which a call fails; 0: 30 s.
	Timeout time.Duration `yaml:"timeout"`
	// Model reports to the exchange that this client acts for a language model.
	Model bool `yaml:"-"`
	// Transport carries the requests; nil: a transport of the client's own. Pin and the proxy
	// of the environment count for that one only.
	Transport http.RoundTripper `yaml:"-" json:"-"`
}

// defaultTimeout is equal to the time that an agent waits for one message.
const defaultTimeout = 30 * time.Second

// Validate returns an error for every invalid setting.
func (c Config) Validate() error {
	var errs []error
	if _, err := parseAddresses(c.URL); err != nil {
		errs = append(errs, err)
	}
	if c.Exchange != "" && !mess.ValidID(c.Exchange) {
		errs = append(errs, fmt.Errorf("exchange: %q cannot be an id; use letters, digits and . _ : @ -", c.Exchange))
	}
	if strings.ContainsFunc(string(c.Key), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		errs = append(errs, errors.New("key: has a space or another character that no key has; copy it again"))
	}
	if c.Pin != "" {
		if err := CheckPin(c.Pin); err != nil {
			errs = append(errs, err)
		}
		if strings.HasPrefix(First(c.URL), "http://") {
			errs = append(errs, errors.New("pin: is for https alone; write https:// in url"))
		}
	}
	if c.Timeout != 0 && c.Timeout < time.Second {
		errs = append(errs, fmt.Errorf("timeout: %v is too short; use 1s or more", c.Timeout))
	}
	return errors.Join(errs...)
}

// checkURL checks the address of an exchange. Its errors do not show a password.
func checkURL(text string) error {
	const example = "write it like http://192.168.1.20:8420"
	u, err := url.Parse(text)
	switch {
	case text == "":
		return errors.New("url: is missing; " + example)
	case err != nil:
		return errors.New("url: is not the address of an exchange; " + example)
	case u.User != nil:
		return errors.New("url: contains a password; give the key separately")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("url: %q is not the address of an exchange; %s", text, example)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("url: %q has more than a path; leave out what follows ? or #", text)
	}
	if err := address.CheckURL(u); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	return nil
}
