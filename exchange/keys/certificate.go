package keys

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"path/filepath"
	"time"

	"github.com/messkit/messkit/internal/durable"
)

// CertificateFile is the file in the data folder with the certificate of the exchange and its
// private key.
const CertificateFile = "tls.pem"

// Certificate reads the certificate of the exchange from a data folder, or makes one. It is
// self-signed, and clients know it by its key. So it names no host, and does not expire: a node
// without a clock could miss that.
func Certificate(dir string) (tls.Certificate, error) {
	cert, err := OwnCertificate(dir)
	if !errors.Is(err, fs.ErrNotExist) {
		return cert, err
	}
	data, err := newCertificate()
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := durable.Replace(filepath.Join(dir, CertificateFile), data); err != nil {
		return tls.Certificate{}, err
	}
	return OwnCertificate(dir)
}

// OwnCertificate reads the certificate of the exchange. The error is fs.ErrNotExist if there is
// none.
func OwnCertificate(dir string) (tls.Certificate, error) {
	cert, err := readPair(filepath.Join(dir, CertificateFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cert, fmt.Errorf("%w; restore it from a copy, or remove it, and all clients need a new pin", err)
	}
	return cert, err
}

func newCertificate() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "messkit exchange"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280 section 4.1.2.5: no end
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, t, t, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	return encodePair(cert, key)
}
