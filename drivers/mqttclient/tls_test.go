package mqttclient_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"

	"github.com/messkit/messkit/internal/broker/port"
)

// certificate returns a certificate for 127.0.0.1 only, and adds it to the roots of this
// process.
func certificate(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file) // no other test in this package reads the roots
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// The client accepts a TLS broker only with a valid certificate for its name.
func TestTLS(t *testing.T) {
	secure := &tls.Config{Certificates: []tls.Certificate{certificate(t)}, MinVersion: tls.VersionTLS12}
	b := mochi.New(&mochi.Options{Logger: slog.New(slog.DiscardHandler)})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{b.AddHook(new(auth.AllowHook), nil), b.AddListener(port.New(b, l, secure)), b.Serve()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = b.Close() })
	c := newClient("tls://"+l.Addr().String(), patience)
	m := join(t, c, "lamp/state")
	if err := c.Publish(t.Context(), "lamp/state", []byte("on"), nil); err != nil {
		t.Fatal(err)
	}
	waitFor(t, m, "lamp/state", "on")
	_, number, _ := net.SplitHostPort(l.Addr().String())
	for address, want := range map[string]string{"tls://localhost:" + number: "certificate", "tcp://127.0.0.1:" + number: "the key broker is right (mqtts for TLS)"} {
		if err := newClient(address, patience).Join(t.Context(), newMember("a")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
