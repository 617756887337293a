package httpclient

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/address"
)

// Config contains the address and the login of a device. Drivers embed it.
type Config struct {
	URL          string         `yaml:"url"`           // http or https, without a user name
	Username     string         `yaml:"username"`      // for Basic and Digest authentication
	Password     drivers.Secret `yaml:"password"`      //
	PasswordFile string         `yaml:"password_file"` // file instead of password: its first line
	Token        drivers.Secret `yaml:"token"`         // key or token, if the device needs one
	TokenFile    string         `yaml:"token_file"`    // file instead of token: its first line
	Timeout      time.Duration  `yaml:"timeout"`       // limit for one call
}

// DefaultConfig returns the default values.
func DefaultConfig() Config { return Config{Timeout: 5 * time.Second} }

const (
	minTimeout = 10 * time.Millisecond // no network is faster
	maxTimeout = time.Minute
	maxFile    = 4 << 10 // size limit for the file of a password or token
)

// Validate returns all errors in the configuration. Each begins with its key.
func (c Config) Validate() error {
	errs := []error{CheckURL("url", c.URL), oneOf("password", c.Password, c.PasswordFile), oneOf("token", c.Token, c.TokenFile)}
	if (c.Password != "" || c.PasswordFile != "") && c.Username == "" {
		errs = append(errs, errors.New("username: is missing; a password needs a user name"))
	}
	if strings.ContainsFunc(c.Username, func(r rune) bool { return r == ':' || r < ' ' || r == 0x7f }) {
		// the first colon ends the user name (RFC 7617 §2)
		errs = append(errs, errors.New("username: has a colon or a control character; rename the user on the device"))
	}
	errs = append(errs, drivers.CheckRange("timeout", c.Timeout, minTimeout, maxTimeout))
	return errors.Join(errs...)
}

func oneOf(key string, value drivers.Secret, file string) error {
	if value != "" && file != "" {
		return fmt.Errorf("%s_file: excludes %s; remove one of them", key, key)
	}
	return nil
}

// CheckURL returns an error for an invalid address. The error never contains the address,
// because that may contain a password.
func CheckURL(key, s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return fmt.Errorf("%s: is missing; write the address of the device, like http://192.168.1.40", key)
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s: is not an address of the form http://host", key)
	case u.User != nil:
		return fmt.Errorf("%s: has a user name; move it to username, and the rest to password", key)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%s: has a query or a fragment; remove the part after ? or #", key)
	}
	if err := address.CheckURL(u); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// Secrets contains the values for a login.
type Secrets struct {
	Account
	Token drivers.Secret
}

// Secrets returns the login values and reads their files.
func (c Config) Secrets() (Secrets, error) {
	s := Secrets{Account{c.Username, c.Password}, c.Token}
	err := errors.Join(ReadSecret("password_file", c.PasswordFile, &s.Password), ReadSecret("token_file", c.TokenFile, &s.Token))
	if err != nil {
		return Secrets{}, err
	}
	return s, nil
}

// ReadSecret reads the first line of the file name into s. It does nothing if name is "".
// Its errors begin with key, which is the name of the secret followed by _file.
func ReadSecret(key, name string, s *drivers.Secret) error {
	if name == "" {
		return nil
	}
	what := strings.TrimSuffix(key, "_file")
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w; write the %s into it", key, err, what)
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return fmt.Errorf("%s: %q is not a file with one line; write only the %s into it", key, name, what)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: %w; give messkit permission to read it", key, err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	*s = drivers.Secret(strings.TrimSuffix(line, "\r"))
	if *s == "" {
		return fmt.Errorf("%s: %q begins with an empty line; write the %s there", key, name, what)
	}
	return nil
}
