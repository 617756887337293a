package jetstream_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/exchange/store/storetest"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// The seeds of two users that exist in this test only, and the public key of the first.
const (
	userSeed  = "SUAIGXM42MCYXDNBVWRPCDBF5E5NUKIDCIWL2BFCQNHFXADRJDMDA6GPIA"
	userKey   = "UDU57HPGPBWPLGSCWQFN5LNJD4HQBKM4AN37U3SBPIBVDZ2X5EXEEARO"
	otherSeed = "SUABAV6Z6TLYMFZLPNGGTKLESDL22XSEJDWPM4GLVORQ27ETC3KG25IBTY"
)

// certificate writes a certificate for this machine, which signs itself, and its key.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = write(t, dir, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
	return cert, write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: encoded})))
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The store connects over TLS as the user of a seed, and to no server that it cannot verify. No error
// has a seed.
func TestTLSAndNKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key := certificate(t, dir)
	server := natsserver.Start(t, natsserver.Options{Sync: "always", More: fmt.Sprintf("tls: {cert_file: %q, key_file: %q}\nauthorization: {users: [{nkey: %s}]}", cert, key, userKey)})
	good := config(1, server)
	good.URLs = []string{strings.Replace(server.URL(), "nats://", "tls://", 1)}
	good.CA, good.NKey = cert, write(t, dir, "user.nk", userSeed)
	s := opened(t, good)
	if _, err := s.Append(t.Context(), storetest.Step(ref(1), "agent", "a", storetest.Start)); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*jetstream.Config){
		"certificate":             func(c *jetstream.Config) { c.CA = "" },
		"Authorization Violation": func(c *jetstream.Config) { c.NKey = write(t, dir, "other.nk", otherSeed) },
		"nkey_file":               func(c *jetstream.Config) { c.NKey = write(t, dir, "no.nk", "nothing") },
	} {
		c := good
		change(&c)
		_, err := jetstream.Open(t.Context(), c)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SUA") {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}
