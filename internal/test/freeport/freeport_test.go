package freeport_test

import (
	"net"
	"testing"

	"github.com/messkit/messkit/internal/test/freeport"
)

func TestAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		addr := freeport.Address(t)
		if seen[addr] {
			t.Errorf("%s was given before", addr)
		}
		seen[addr] = true
		l, err := net.Listen("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if port := l.Addr().(*net.TCPAddr).Port; port >= 32768 {
			t.Errorf("%d is one that the system hands out", port)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
