package keys_test

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/keys"
)

// A device that trusts the authority trusts the exchange under each local name and address, and no other
// host. The key of the exchange stays, and so does its pin.
func TestAuthoritySignsForLocalNetworks(t *testing.T) {
	dir := t.TempDir()
	own, err := keys.Certificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.AuthorityCertificate(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before: %v", err)
	}
	a, err := keys.OpenAuthority(dir, own)
	if err != nil {
		t.Fatal(err)
	}
	der, err := keys.AuthorityCertificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	root, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(root)
	at := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 8420} }
	for _, tt := range []struct {
		name, reached, is string
	}{
		{"pi.local", "192.168.1.7", "pi.local"},
		{"PI.Local.", "192.168.1.7", "pi.local"},
		{"localhost", "127.0.0.1", "localhost"},
		{"a.b.home.arpa", "10.0.0.2", "a.b.home.arpa"},
		{"", "192.168.1.7", "192.168.1.7"},
		{"", "::ffff:192.168.1.7", "192.168.1.7"},
		{"", "127.0.0.1", "127.0.0.1"},
		{"", "fd00::7", "fd00::7"},
	} {
		c, err := a.Certificate(tt.name, at(tt.reached))
		if err != nil || c == nil {
			t.Errorf("%q at %s: %v", tt.name, tt.reached, err)
			continue
		}
		if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: tt.is}); err != nil {
			t.Errorf("%q at %s: %v", tt.name, tt.reached, err)
		}
		if !bytes.Equal(c.Leaf.RawSubjectPublicKeyInfo, own.Leaf.RawSubjectPublicKeyInfo) {
			t.Errorf("%q at %s has another pin", tt.name, tt.reached)
		}
		if again, err := a.Certificate(tt.name, at(tt.reached)); err != nil || again != c {
			t.Errorf("%q at %s gets a second one: %v", tt.name, tt.reached, err)
		}
	}
	for _, name := range []string{"example.com", "local.example.com", "local.", "", "pi..local", "bücher.local", strings.Repeat("a", 300) + ".local"} {
		if c, err := a.Certificate(name, at("203.0.113.5")); c != nil && name != "local." || err != nil {
			t.Errorf("%q: %v, %v", name, c, err)
		}
	}
}

// A stolen authority is of no use against other hosts: its certificate forbids them.
func TestAuthorityIsConstrained(t *testing.T) {
	dir := t.TempDir()
	own, err := keys.Certificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.OpenAuthority(dir, own); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, keys.AuthorityFile)
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	root, signer := readAuthority(t, name)
	roots := x509.NewCertPool()
	roots.AddCert(root)
	for _, tt := range []struct {
		name    string
		ip      string
		allowed bool
	}{{"example.com", "", false}, {"local.evil.com", "", false}, {"", "8.8.8.8", false}, {"", "192.168.0.1", true}, {"nas.lan", "", true}} {
		leaf := sign(t, root, signer, own.PrivateKey, tt.name, tt.ip)
		host := tt.name
		if host == "" {
			host = tt.ip
		}
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host}); (err == nil) != tt.allowed {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.OpenAuthority(dir, own); err == nil || !strings.Contains(err.Error(), "authority.pem") {
		t.Errorf("a damaged one: %v", err)
	}
}

// readAuthority reads an authority with its key.
func readAuthority(t *testing.T, name string) (*x509.Certificate, crypto.PrivateKey) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(name, name)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf, pair.PrivateKey
}

// sign signs a certificate for a host with the key of an authority.
func sign(t *testing.T, root *x509.Certificate, signer, key crypto.PrivateKey, name, ip string) *x509.Certificate {
	t.Helper()
	c := &x509.Certificate{NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	if name != "" {
		c.DNSNames = []string{name}
	} else {
		c.IPAddresses = []net.IP{net.ParseIP(ip)}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, root, key.(crypto.Signer).Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return leaf
}

// Another certificate in the place of the authority is refused: it could be that of a public authority.
func TestOtherCertificateIsNoAuthority(t *testing.T) {
	dir := t.TempDir()
	own, err := keys.Certificate(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "tls.pem"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, keys.AuthorityFile)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keys.OpenAuthority(dir, own); err == nil || !strings.Contains(err.Error(), "authority") || !strings.Contains(err.Error(), "restore it from a copy") {
		t.Errorf("%v, want that it is no authority", err)
	}
	if is, err := os.ReadFile(name); err != nil || !bytes.Equal(is, data) {
		t.Errorf("the file has changed: %v", err)
	}
}
