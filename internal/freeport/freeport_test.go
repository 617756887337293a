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

// The UDP port shows other processes that somebody has a port.
func TestPortIsMarked(t *testing.T) {
	addr, err := freeport.Address("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if mark, err := net.ListenPacket("udp", addr); err == nil {
		t.Errorf("another process can get %s as well", addr)
		_ = mark.Close() // the test has failed
	}
}
