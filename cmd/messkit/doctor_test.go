package main

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"
)

func TestCertificatesEnd(t *testing.T) {
	day := 24 * time.Hour
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to time.Duration
		want     string
	}{
		{-day, 100 * day, ""},
		{-day, 10 * day, "renew it now"},
		{-9 * day, -day, "was good until 2026-11-21"},
		{day, 9 * day, "is this clock right?"},
	} {
		err := dates(&x509.Certificate{NotBefore: now.Add(c.from), NotAfter: now.Add(c.to)}, now)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("from %v to %v: %v", c.from, c.to, err)
		}
	}
}
