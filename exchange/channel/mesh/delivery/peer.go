package delivery

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/messkit/messkit/internal/safehttp"
	"github.com/messkit/messkit/internal/secret"
)

// Peer is the address of another agent.
type Peer struct {
	Name  string
	URL   string // http://192.168.1.10:18789
	Token secret.Text
	Pin   string // fingerprint of the key of its self-signed certificate, sha256:...; "": the system trusts the certificate
	// Allow are networks that the peer may name addresses in, in addition to its own address.
	Allow []netip.Prefix
}

// Base parses the address of a peer, and adds the default port.
func Base(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return nil, fmt.Errorf("%q is not the address of an agent; write it like http://192.168.1.10:18789", address)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	u.Path = ""
	return u, nil
}

// Owns reports whether an address is at the scheme, host and port of the peer.
func (p Peer) Owns(address string) bool {
	base, err := Base(p.URL)
	u, err2 := url.Parse(address)
	if err != nil || err2 != nil || u.Hostname() == "" || u.User != nil {
		return false
	}
	top, err := Base(u.Scheme + "://" + u.Host)
	return err == nil && top.Scheme == base.Scheme && strings.EqualFold(top.Host, base.Host)
}

// Near reports whether the peer may name an address: it is at the peer's host with any port, or in
// Allow.
func (p Peer) Near(address string) bool {
	base, err := Base(p.URL)
	u, err2 := url.Parse(address)
	if err != nil || err2 != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return false
	}
	if strings.EqualFold(u.Hostname(), base.Hostname()) {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && safehttp.In(ip, p.Allow)
}

// check returns an error if the agent must not connect to an IP address for the peer. It allows
// the peer's own address and Allow. If the peer has a host name, it also allows public and private
// addresses.
func (p Peer) check(ip netip.Addr) error {
	base, err := Base(p.URL)
	if err != nil {
		return err
	}
	ip = safehttp.Plain(ip)
	if safehttp.In(ip, p.Allow) {
		return nil
	}
	own, err := netip.ParseAddr(base.Hostname())
	switch {
	case err == nil && safehttp.Plain(own) == ip:
		return nil
	case err == nil:
		return fmt.Errorf("%s is not the address of %s", ip, p.Name)
	case base.Hostname() == "localhost" && ip.IsLoopback():
		return nil
	case safehttp.Public(ip) || ip.IsPrivate():
		return nil
	}
	return fmt.Errorf("%s leads to %s, where no other host is", base.Hostname(), ip)
}

const (
	connectTime = 10 * time.Second // MESH 1.0 section 4
	totalTime   = 30 * time.Second
)

// Client returns a client that connects to the peer only. total is the time limit of a request.
func (p Peer) Client(total time.Duration) *http.Client {
	return safehttp.Client(safehttp.Config{Check: p.check, Connect: connectTime, Total: total, TLS: pinned(p.Pin)})
}

// CheckPin returns an error if a text is no fingerprint.
func CheckPin(pin string) error {
	sum, ok := strings.CutPrefix(strings.ToLower(pin), "sha256:")
	if b, err := hex.DecodeString(sum); !ok || err != nil || len(b) != sha256.Size {
		return fmt.Errorf("%q is no fingerprint; messkit keys fingerprint shows it, sha256: and 64 digits", pin)
	}
	return nil
}

var errPin = errors.New("its certificate does not match pin")

func pinned(pin string) *tls.Config {
	if pin == "" {
		return nil
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, // VerifyConnection verifies the certificate
		VerifyConnection: func(s tls.ConnectionState) error {
			if len(s.PeerCertificates) == 0 || !fits(s.PeerCertificates[0], pin) {
				return errPin
			}
			return nil
		},
	}
}

// fits reports whether a pin is the fingerprint of a certificate's key, as messkit keys
// fingerprint prints it, or of the whole certificate, as openssl prints it.
func fits(cert *x509.Certificate, pin string) bool {
	is := false
	for _, of := range [][]byte{cert.RawSubjectPublicKeyInfo, cert.Raw} {
		sum := sha256.Sum256(of)
		if subtle.ConstantTimeCompare([]byte("sha256:"+hex.EncodeToString(sum[:])), []byte(strings.ToLower(pin))) == 1 {
			is = true
		}
	}
	return is
}
