package config

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"

	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/strictyaml"
)

// Reachable returns a listening address in the form that a user of this machine types.
func Reachable(addr net.Addr) string {
	s := addr.String()
	s = strings.Replace(s, "[::]:", "localhost:", 1)
	return strings.Replace(s, "0.0.0.0:", "localhost:", 1)
}

// SelfMade is the value of `tls:` for a certificate that the exchange makes.
const SelfMade = "self"

// tlsFiles are the value of `tls:` for a certificate of an authority.
type tlsFiles struct {
	Cert string `yaml:"cert"` // file with the certificate and those of its authorities
	Key  string `yaml:"key"`  // file
}

// Validate reads both files, as the start does.
func (f tlsFiles) Validate() error {
	if f.Cert == "" || f.Key == "" {
		return errors.New("cert and key are both needed; write the files, or tls: self")
	}
	if _, err := tls.LoadX509KeyPair(Expand(f.Cert), Expand(f.Key)); err != nil {
		return fmt.Errorf("cert: %w; write PEM files that belong together", err)
	}
	return nil
}

// URL returns the address of the exchange's HTTP API for a client on this machine.
func (c Exchange) URL() (string, error) {
	addr, err := net.ResolveTCPAddr("tcp", c.Listen)
	if err != nil {
		return "", err
	}
	if c.TLSSelf || c.TLSFiles.Cert != "" {
		return "https://" + Reachable(addr), nil
	}
	return "http://" + Reachable(addr), nil
}

// AsOperator returns a client of the running exchange of this configuration, with the
// operator's key. It does not connect yet. MESSKIT_URL overrides the address.
func (c Exchange) AsOperator() (*httpclient.Client, error) {
	keyFile := filepath.Join(c.Data, OperatorFile)
	key, err := ReadKey(keyFile)
	if err != nil {
		return nil, err
	}
	url := EnvOr("MESSKIT_URL", DefaultURL)
	if own, err := c.URL(); err == nil && url == DefaultURL {
		url = own
	}
	pin := ""
	if strings.HasPrefix(url, "https://") {
		pin = OwnPin(keyFile)
	}
	return httpclient.New(httpclient.Config{URL: url, Key: key, Pin: pin}, output.NoLog)
}

// readTLS reads the value of `tls:`.
func (c *Exchange) readTLS() error {
	if c.TLS.IsZero() {
		return nil
	}
	if len(c.TLS.Keys()) > 0 {
		return c.TLS.Decode(&c.TLSFiles)
	}
	var word string
	if err := c.TLS.Decode(&word); err != nil {
		return err
	}
	if word != SelfMade {
		return strictyaml.Problems{c.TLS.Problem("", "%q is unknown; write self, or cert and key", word)}
	}
	c.TLSSelf = true
	return nil
}

// checkPlain refuses to send keys over a network in plain text.
func (c Exchange) checkPlain() error {
	if c.Insecure || c.TLSSelf || !c.TLS.IsZero() || isLocalAddress(c.Listen) || !listenable(c.Listen) {
		return nil
	}
	return fmt.Errorf("listen: %s is beyond this machine, and keys would go there in plain text; write tls: self (--tls self), or insecure: true (--insecure) where a tunnel or proxy keeps them", c.Listen)
}

// isLocalAddress reports whether only this machine reaches a listening address.
func isLocalAddress(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return true // Validate reports it
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

// IsLocal reports whether only this machine reaches an address.
func IsLocal(addr net.Addr) bool {
	a, err := netip.ParseAddrPort(addr.String())
	return err == nil && a.Addr().Unmap().IsLoopback()
}

// Secure returns the TLS settings of the HTTP server; nil: plain text.
func (c Exchange) Secure() (*tls.Config, error) {
	var cert tls.Certificate
	var err error
	switch {
	case c.TLSSelf:
		return c.selfMade()
	case c.TLSFiles.Cert != "":
		cert, err = tls.LoadX509KeyPair(Expand(c.TLSFiles.Cert), Expand(c.TLSFiles.Key))
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}, nil
}

// selfMade returns the TLS settings of an exchange that makes its own certificates: those of its
// authority for names and addresses of local networks, and a self-signed one for all others. All have
// the same key.
func (c Exchange) selfMade() (*tls.Config, error) {
	cert, err := keys.Certificate(c.Data)
	if err != nil {
		return nil, err
	}
	authority, err := keys.OpenAuthority(c.Data, cert)
	if err != nil {
		return nil, err
	}
	base := &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13}
	secure := base.Clone()
	secure.GetConfigForClient = func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		one, err := authority.Certificate(h.ServerName, h.Conn.LocalAddr())
		if one == nil || err != nil {
			return nil, err
		}
		own := base.Clone()
		own.Certificates = []tls.Certificate{*one}
		return own, nil
	}
	return secure, nil
}

// AddressText returns the address of an exchange as a user of this machine types it, with
// the pin of a self-made certificate.
func AddressText(addr net.Addr, c *tls.Config) string {
	if c == nil {
		return "http://" + Reachable(addr)
	}
	return "https://" + Reachable(addr) + "\ncertificate " + httpclient.Fingerprint(c.Certificates[0].Leaf)
}

// OwnPin returns the pin of the exchange whose data folder holds the key file; "" without a
// self-made certificate there.
func OwnPin(keyFile string) string {
	cert, err := keys.OwnCertificate(filepath.Dir(keyFile))
	if err != nil {
		return ""
	}
	return httpclient.Fingerprint(cert.Leaf)
}
