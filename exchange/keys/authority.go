package keys

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/durable"
)

// AuthorityFile is the file in the data folder with the certificate authority of the exchange and its
// private key.
const AuthorityFile = "authority.pem"

// The time in which a certificate of an authority holds. Browsers refuse longer ones.
const (
	issuedFor   = 397 * 24 * time.Hour
	issuedSince = 48 * time.Hour // before now: the clocks of phones differ
	renewBefore = 30 * 24 * time.Hour
)

// maxIssued limits the certificates that an Authority keeps.
const maxIssued = 32

// localNames are the domains, and localNets the addresses, for which an authority may sign. The
// certificate of the authority says so, and a device that trusts it trusts it for nothing else.
var (
	localNames = []string{"local", "lan", "home.arpa", "internal", "localhost"}
	localNets  = []string{"127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7", "fe80::/10"}
)

// Authority is the certificate authority of one exchange: a device that has installed its certificate
// trusts the pages of the exchange in the local network. It is safe for concurrent use.
type Authority struct {
	cert   *x509.Certificate
	signer crypto.Signer
	server crypto.Signer // the key of the exchange: all its certificates have one pin

	mu     sync.Mutex
	issued map[string]*tls.Certificate // by name
}

// OpenAuthority reads the authority of an exchange from a data folder, or makes one. own is the
// certificate of the exchange.
func OpenAuthority(dir string, own tls.Certificate) (*Authority, error) {
	server, ok := own.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key of the exchange cannot sign") // every key of crypto/tls can
	}
	name := filepath.Join(dir, AuthorityFile)
	pair, err := readPair(name)
	if errors.Is(err, fs.ErrNotExist) {
		var data []byte
		if data, err = newAuthority(); err == nil {
			err = durable.Replace(name, data)
		}
		if err == nil {
			pair, err = readPair(name)
		}
	}
	if err == nil {
		err = checkAuthority(name, pair.Leaf, server)
	}
	if err != nil {
		return nil, fmt.Errorf("%w; restore it from a copy, or remove it, and all phones need the new one", err)
	}
	return &Authority{cert: pair.Leaf, signer: pair.PrivateKey.(crypto.Signer), server: server, issued: map[string]*tls.Certificate{}}, nil
}

// checkAuthority returns an error for a certificate that newAuthority has not made.
func checkAuthority(name string, c *x509.Certificate, server crypto.Signer) error {
	own, ok := server.Public().(interface{ Equal(crypto.PublicKey) bool })
	switch {
	case !c.IsCA || c.KeyUsage&x509.KeyUsageCertSign == 0:
		return fmt.Errorf("%s: it is the certificate of no authority", name)
	case !c.PermittedDNSDomainsCritical || !slices.Equal(c.PermittedDNSDomains, localNames) || len(c.PermittedIPRanges) == 0:
		return fmt.Errorf("%s: it can sign for names outside of local networks", name)
	case ok && own.Equal(c.PublicKey):
		return fmt.Errorf("%s: it has the key of the exchange itself", name)
	}
	return nil
}

// AuthorityCertificate returns the certificate of the authority in a data folder, as DER. The error is
// fs.ErrNotExist if there is none.
func AuthorityCertificate(dir string) ([]byte, error) {
	pair, err := readPair(filepath.Join(dir, AuthorityFile))
	if err != nil {
		return nil, err
	}
	return pair.Leaf.Raw, nil
}

// readPair reads a file with a certificate and its private key.
func readPair(name string) (tls.Certificate, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return tls.Certificate{}, err
	}
	pair, err := tls.X509KeyPair(data, data)
	if err != nil {
		return pair, fmt.Errorf("%s: %w", name, err)
	}
	return pair, nil
}

func newAuthority() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		Subject:   pkix.Name{CommonName: "messkit " + rand.Text()[:6]},                         // so that a phone can have several
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // as in newCertificate
		KeyUsage: x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: localNames,
	}
	for _, text := range localNets {
		_, one, err := net.ParseCIDR(text)
		if err != nil {
			return nil, err
		}
		t.PermittedIPRanges = append(t.PermittedIPRanges, one)
	}
	cert, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return encodePair(cert, key)
}

// encodePair returns a certificate with its private key as PEM.
func encodePair(cert []byte, key crypto.PrivateKey) ([]byte, error) {
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...), nil
}

// Certificate returns a certificate of the exchange for the name that a client has asked for, or for
// the address that it has reached if it names none. It is nil for names and addresses outside of
// local networks.
func (a *Authority) Certificate(name string, reached net.Addr) (*tls.Certificate, error) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if at, err := netip.ParseAddrPort(reached.String()); name == "" && err == nil {
		name = at.Addr().Unmap().WithZone("").String()
	}
	if !isLocalName(name) {
		return nil, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.issued[name]; c != nil && time.Until(c.Leaf.NotAfter) > renewBefore && time.Now().After(c.Leaf.NotBefore) {
		return c, nil
	}
	c, err := a.issue(name)
	if err != nil {
		return nil, err
	}
	if len(a.issued) >= maxIssued {
		clear(a.issued)
	}
	a.issued[name] = c
	return c, nil
}

// isLocalName reports whether an authority may sign for a name or an address.
func isLocalName(name string) bool {
	if ip, err := netip.ParseAddr(name); err == nil {
		for _, text := range localNets {
			if netip.MustParsePrefix(text).Contains(ip) {
				return true
			}
		}
		return false
	}
	if len(name) > 253 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || strings.Contains("."+name, "..") {
		return false
	}
	for _, domain := range localNames {
		if strings.HasSuffix("."+name, "."+domain) {
			return true
		}
	}
	return false
}

func (a *Authority) issue(name string) (*tls.Certificate, error) {
	now := time.Now()
	t := &x509.Certificate{
		Subject: pkix.Name{CommonName: "messkit exchange"}, NotBefore: now.Add(-issuedSince), NotAfter: now.Add(issuedFor - issuedSince),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	if ip := net.ParseIP(name); ip != nil {
		t.IPAddresses = []net.IP{ip}
	} else {
		t.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, a.server.Public(), a.signer)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: a.server, Leaf: leaf}, nil
}
