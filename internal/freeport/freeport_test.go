package freeport_test

import (
	"net"
	"testing"

	"github.com/messkit/messkit/internal/freeport"
)

func TestAddress(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		addr, err := freeport.Address("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
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

func TestNoSuchHost(t *testing.T) {
	if addr, err := freeport.Address("192.0.2.1"); err == nil {
		t.Errorf("a host of another network has the port %s", addr)
	}
}
