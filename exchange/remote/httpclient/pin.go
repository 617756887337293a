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

// pinScheme is what a pin begins with.
const pinScheme = "sha256:"

// Fingerprint is how people and clients know a certificate: the hash of its
// public key, which stays when it is made anew with the same key.
func Fingerprint(cert *x509.Certificate) string {
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return pinScheme + hex.EncodeToString(sum[:])
}

// CheckPin tells why a pin cannot be one.
func CheckPin(pin string) error {
	text, ok := strings.CutPrefix(strings.ToLower(pin), pinScheme)
	if data, err := hex.DecodeString(text); !ok || err != nil || len(data) != sha256.Size {
		return fmt.Errorf("pin: %.80q is no fingerprint; messkit keys fingerprint at the exchange shows it, sha256: and 64 digits", pin)
	}
	return nil
}

// errPin ends a connection to a server that is not the one that was pinned.
type errPin struct{ seen string }

func (e *errPin) Error() string {
	return "its certificate is not the one that is pinned, but " + e.seen + "; somebody may be in between, or the exchange has a new one"
}

// PinnedTLS accepts the one server that has the key, and asks nobody else who it is:
// neither its name nor the clock counts. Without a pin the system's authorities
// are asked.
func PinnedTLS(pin string) *tls.Config {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12} // what servers in the field have
	if pin == "" {
		return cfg
	}
	cfg.MinVersion = tls.VersionTLS13
	cfg.InsecureSkipVerify = true // VerifyConnection is what verifies, resumed sessions as well
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

// ErrUntrusted is what an error wraps where a server answers, and is not the one
// that it should be.
var ErrUntrusted = errors.New("the server is not trusted")

// distrust is a refusal that wraps ErrUntrusted as well.
type distrust struct{ error }

func (d distrust) Unwrap() []error { return []error{d.error, ErrUntrusted} }

// untrusted words why a server's certificate is not accepted; nil if that is not
// what is wrong.
func untrusted(err error) error {
	if p, ok := errors.AsType[*errPin](err); ok {
		return p
	}
	if v, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(v.UnverifiedCertificates) > 0 {
		return fmt.Errorf("its certificate is signed by nobody who is known here (%w); if messkit keys fingerprint shows %s there, pin that", v.Err, Fingerprint(v.UnverifiedCertificates[0]))
	}
	return nil
}
