package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/address"
)

// Address is the address of a broker, with the user and password for it.
type Address struct {
	URL          string `yaml:"url"`           // mqtt://192.168.1.20:1883, or mqtts:// with TLS
	User         string `yaml:"user"`          // "": none, or the client's name
	PasswordFile string `yaml:"password_file"` // with the password on its first line; "": none
	CA           string `yaml:"ca"`            // file with the certificate that has signed the broker's; "": the root certificates of the system
	Cert         string `yaml:"cert"`          // file with the client's own certificate; "": none
	Key          string `yaml:"key"`           // file with the key to it
	Insecure     bool   `yaml:"insecure"`      // the password may go over a network in plain text
}

// The default ports of a broker.
const (
	plainPort = "1883"
	tlsPort   = "8883"
)

// Validate returns an error for each invalid setting. It reads the files.
func (a Address) Validate() error {
	errs := []error{a.checkURL()}
	if _, err := a.TLS(); err != nil {
		errs = append(errs, err)
	}
	if a.PasswordFile != "" {
		if _, err := a.Password(); err != nil {
			errs = append(errs, err)
		}
	}
	if a.PasswordFile != "" && a.User == "" {
		errs = append(errs, errors.New("user: is missing; a password goes with a name"))
	}
	return errors.Join(errs...)
}

// checkURL returns an error for an invalid URL. The error has the URL only if no password can be
// in it.
func (a Address) checkURL() error {
	const example = "write it like mqtt://192.168.1.20:1883 or mqtts://broker.example"
	u, err := url.Parse(a.URL)
	switch {
	case a.URL == "":
		return errors.New("url: is missing; " + example)
	case err != nil:
		return errors.New("url: is not the address of a broker; " + example)
	case u.User != nil:
		return errors.New("url: holds a name or a password; write user: and a file with the password")
	case u.Scheme != "mqtt" && u.Scheme != "mqtts" || u.Hostname() == "":
		return fmt.Errorf("url: %q is not the address of a broker; %s", a.URL, example)
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("url: %q has more than a host and a port; %s", a.URL, example)
	case u.Scheme == "mqtt" && (a.CA != "" || a.Cert != "" || a.Key != ""):
		return errors.New("url: certificates are for TLS; write mqtts://")
	case u.Scheme == "mqtt" && a.PasswordFile != "" && !a.Insecure && !isThisHost(u.Hostname()):
		return errors.New("url: the password would go over the network in plain text; write mqtts://, or insecure: true where a tunnel keeps it")
	}
	if err := address.CheckURL(u); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	return nil
}

// isThisHost reports whether a host is this machine.
func isThisHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// Is reports whether a URL is the URL of a broker.
func Is(text string) bool {
	return strings.HasPrefix(text, "mqtt://") || strings.HasPrefix(text, "mqtts://")
}

// Password reads the password; "" if there is none.
func (a Address) Password() (string, error) {
	if a.PasswordFile == "" {
		return "", nil
	}
	data, err := os.ReadFile(a.PasswordFile)
	if err != nil {
		return "", fmt.Errorf("password_file: %w", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if line = strings.TrimRight(line, "\r"); line == "" {
		return "", fmt.Errorf("password_file: %s: is empty; put the password on its first line", a.PasswordFile)
	}
	return line, nil
}

// TLS returns the TLS settings of connections; nil: plain text.
func (a Address) TLS() (*tls.Config, error) {
	u, err := url.Parse(a.URL)
	if err != nil || u.Scheme != "mqtts" {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.Hostname()} // all current brokers support it
	var errs []error
	if a.CA != "" {
		data, err := os.ReadFile(a.CA)
		if c.RootCAs = x509.NewCertPool(); err == nil && !c.RootCAs.AppendCertsFromPEM(data) {
			err = fmt.Errorf("%s: there is no certificate in it", a.CA)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("ca: %w; write a PEM file", err))
		}
	}
	if (a.Cert == "") != (a.Key == "") {
		errs = append(errs, errors.New("cert: and key go together; write both files, or neither"))
	} else if a.Cert != "" {
		own, err := tls.LoadX509KeyPair(a.Cert, a.Key)
		if err != nil {
			errs = append(errs, fmt.Errorf("cert: %w; write PEM files that belong together", err))
		}
		c.Certificates = []tls.Certificate{own}
	}
	return c, errors.Join(errs...)
}

// Host returns the host and port of the broker.
func (a Address) Host() string {
	u, err := url.Parse(a.URL)
	if err != nil {
		return ""
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "mqtts":
		port = tlsPort
	default:
		port = plainPort
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// dialTime is the timeout for a new connection.
const dialTime = 10 * time.Second

// Dial opens a connection to the broker. secure has its TLS settings, or is nil.
func (a Address) Dial(ctx context.Context, secure *tls.Config) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTime, KeepAlive: 15 * time.Second}
	if secure == nil {
		return d.DialContext(ctx, "tcp", a.Host())
	}
	t := tls.Dialer{NetDialer: d, Config: secure}
	return t.DialContext(ctx, "tcp", a.Host())
}
