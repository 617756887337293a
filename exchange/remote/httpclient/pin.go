package httpclient

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// pinScheme is the prefix of a pin.
const pinScheme = "sha256:"

// Fingerprint returns the hash of a certificate's public key. A new certificate with the same
// key has the same fingerprint.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return pinScheme + hex.EncodeToString(sum[:])
}

// CheckPin returns an error for an invalid pin.
func CheckPin(pin string) error {
	text, ok := strings.CutPrefix(strings.ToLower(pin), pinScheme)
	if data, err := hex.DecodeString(text); !ok || err != nil || len(data) != sha256.Size {
		return fmt.Errorf("pin: %.80q is no fingerprint; messkit keys fingerprint at the exchange shows it, sha256: and 64 digits", pin)
	}
	return nil
}

// errPin means that the server's certificate does not match the pin.
type errPin struct{ seen string }

func (e *errPin) Error() string {
	return "its certificate does not match the pin (it is " + e.seen + "); another machine may intercept the connection, or the exchange has a new certificate"
}

// PinnedTLS accepts only the server with the pinned key. It ignores the name and the validity
// period of the certificate. Without a pin, the system's certificate authorities decide.
func PinnedTLS(pin string) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12} // the reference servers have TLS 1.2
	if pin == "" {
		return cfg
	}
	cfg.MinVersion = tls.VersionTLS13
	cfg.InsecureSkipVerify = true // VerifyConnection verifies the server, for resumed sessions too
	cfg.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return errors.New("it shows no certificate")
		}
		seen := Fingerprint(s.PeerCertificates[0])
		if subtle.ConstantTimeCompare([]byte(seen), []byte(strings.ToLower(pin))) != 1 {
			return &errPin{seen}
		}
		return nil
	}
	return cfg
}

// ErrUntrusted means that a server answered with a certificate that the client does not trust.
// Errors wrap it.
var ErrUntrusted = errors.New("messkit does not trust the server")

// untrusted describes why the client does not trust a server's certificate. It returns nil for
// other errors.
func untrusted(err error) error {
	if p, ok := errors.AsType[*errPin](err); ok {
		return p
	}
	if v, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(v.UnverifiedCertificates) > 0 {
		return fmt.Errorf("no authority known here signed its certificate (%w); if messkit keys fingerprint shows %s there, pin that", v.Err, Fingerprint(v.UnverifiedCertificates[0]))
	}
	return nil
}
