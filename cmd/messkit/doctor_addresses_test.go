package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/doctor"
)

// serverUntil starts a server whose certificate ends at a time, and returns its address.
func serverUntil(t *testing.T, end time.Time) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "messkit"}, NotBefore: end.Add(-365 * 24 * time.Hour), NotAfter: end}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(nil)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// The doctor has a line for the certificate at each address of connect: url:, in their order.
func TestDoctorChecksEachAddress(t *testing.T) {
	now := time.Now()
	good, over := serverUntil(t, now.Add(100*24*time.Hour)), serverUntil(t, now.Add(-24*time.Hour))
	soon := serverUntil(t, now.Add(3*24*time.Hour))
	gone := httptest.NewTLSServer(nil)
	gone.Close()
	plain := httptest.NewServer(nil)
	t.Cleanup(plain.Close)

	got := doctor.CheckAddresses(t.Context(), []string{good, over, gone.URL, plain.URL, soon}, now)
	want := []struct{ sign, address, says string }{
		{"ok", good, "is good until"}, {"BAD", over, "was good until"}, {"--", gone.URL, "is unknown"}, {"BAD", soon, "renew it now"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		if strings.TrimSpace(got[i].Sign()) != w.sign || !strings.Contains(got[i].Says, w.address) || !strings.Contains(got[i].Says, w.says) {
			t.Errorf("line %d is %s %s, want %s with %q and %q", i+1, got[i].Sign(), got[i].Says, w.sign, w.address, w.says)
		}
	}
	if got := doctor.CheckAddresses(t.Context(), []string{gone.URL}, now); len(got) > 0 {
		t.Errorf("the only address, which another check reports: %+v", got)
	}
}
