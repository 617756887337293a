package web

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

// Config is where a device is and how one logs in there. Drivers embed it.
type Config struct {
	URL          string         `yaml:"url"`           // http or https, without a user name in it
	Username     string         `yaml:"username"`      // for Basic and Digest authentication
	Password     drivers.Secret `yaml:"password"`      //
	PasswordFile string         `yaml:"password_file"` // instead of password: its first line
	Token        drivers.Secret `yaml:"token"`         // key or token, where the device wants one
	TokenFile    string         `yaml:"token_file"`    // instead of token: its first line
	Timeout      time.Duration  `yaml:"timeout"`       // of one call
}

// DefaultConfig is what holds where the configuration says nothing.
func DefaultConfig() Config { return Config{Timeout: 5 * time.Second} }

const (
	minTimeout = 10 * time.Millisecond // no network is quicker
	maxTimeout = time.Minute
	maxFile    = 4 << 10 // bytes of a password's or token's file
)

// Validate tells all that cannot be, each mistake beginning with its key.
func (c Config) Validate() error {
	errs := []error{CheckURL("url", c.URL), oneOf("password", c.Password, c.PasswordFile), oneOf("token", c.Token, c.TokenFile)}
	if (c.Password != "" || c.PasswordFile != "") && c.Username == "" {
		errs = append(errs, errors.New("username: is missing; a password alone opens nothing"))
	}
	if strings.ContainsFunc(c.Username, func(r rune) bool { return r == ':' || r < ' ' || r == 0x7f }) {
		// RFC 7617 §2: the first colon ends the user name.
		errs = append(errs, errors.New("username: holds a colon or a control character; name the user otherwise in the device"))
	}
	if c.Timeout < minTimeout || c.Timeout > maxTimeout {
		errs = append(errs, fmt.Errorf("timeout: %v is not between %v and %v", c.Timeout, minTimeout, maxTimeout))
	}
	return errors.Join(errs...)
}

func oneOf(key string, value drivers.Secret, file string) error {
	if value != "" && file != "" {
		return fmt.Errorf("%s_file: stands beside %s; keep one of them", key, key)
	}
	return nil
}

// CheckURL tells what is wrong with the address of a key. It never repeats the
// address: that may hold a password.
func CheckURL(key, s string) error {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return fmt.Errorf("%s: is missing; write the device's address, like http://192.168.1.40", key)
	case err != nil, u.Host == "", u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s: is no address of the form http://host", key)
	case u.User != nil:
		return fmt.Errorf("%s: holds a user name; write it as username, and the rest as password", key)
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%s: holds more than a place; leave out what begins with ? or #", key)
	}
	if err := address.CheckURL(u); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// Secrets are what a log-in takes.
type Secrets struct {
	Account
	Token drivers.Secret
}

// Secrets reads the files that hold them.
func (c Config) Secrets() (Secrets, error) {
	s := Secrets{Account{c.Username, c.Password}, c.Token}
	err := errors.Join(ReadSecret("password_file", c.PasswordFile, &s.Password), ReadSecret("token_file", c.TokenFile, &s.Token))
	if err != nil {
		return Secrets{}, err
	}
	return s, nil
}

// ReadSecret puts the first line of a file into s; without a name it leaves it
// as it is. Its errors begin with key, which is what it holds and _file.
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
		return fmt.Errorf("%s: %q is no file of one line; write the %s into it, alone", key, name, what)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("%s: %w; let this program read it", key, err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	*s = drivers.Secret(strings.TrimSuffix(line, "\r"))
	if *s == "" {
		return fmt.Errorf("%s: %q begins with an empty line; write the %s there", key, name, what)
	}
	return nil
}
