package peer_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/peer"
	"github.com/messkit/messkit/internal/peer/peertest"
)

// listen serves one connection with check at an address of this machine.
func listen(t *testing.T, network, addr string, check func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen(network, addr)
	if err != nil {
		t.Skipf("%s: %v", addr, err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			check(c)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

func same(t *testing.T, local, remote string) bool {
	t.Helper()
	ok, err := peer.Same(local, remote)
	if err != nil {
		t.Error(err)
	}
	return ok
}

func TestOwnConnectionIsRecognized(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		got := make(chan int, 1)
		addr := listen(t, "tcp", at, func(c net.Conn) {
			uid, err := peer.UID(c.LocalAddr().String(), c.RemoteAddr().String())
			if err != nil || !same(t, c.LocalAddr().String(), c.RemoteAddr().String()) {
				t.Errorf("%s: %v", at, err)
			}
			got <- uid
		})
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if uid := <-got; uid != os.Geteuid() {
			t.Errorf("%s: uid %d, want %d", at, uid, os.Geteuid())
		}
		_ = c.Close()
	}
	// A client of IPv4 at a socket of IPv6.
	got := make(chan error, 1)
	addr := listen(t, "tcp", ":0", func(c net.Conn) {
		_, err := peer.UID(c.LocalAddr().String(), c.RemoteAddr().String())
		got <- err
	})
	_, port, _ := net.SplitHostPort(addr)
	c, err := net.Dial("tcp4", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestOtherUserIsRecognized(t *testing.T) {
	addr := listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		uid, err := peer.UID(c.LocalAddr().String(), c.RemoteAddr().String())
		if err != nil || uid != peertest.OtherUser || same(t, c.LocalAddr().String(), c.RemoteAddr().String()) {
			t.Errorf("uid %d, %v", uid, err)
		}
		_, _ = io.WriteString(c, "seen")
	})
	if got := peertest.Speak(t, peertest.OtherUser, addr, "", time.Second); got != "seen" {
		t.Errorf("%q", got)
	}
}

// The kernel lists a closed socket as a socket of root.
func TestClosedConnectionHasNoOwner(t *testing.T) {
	done := make(chan error)
	closed := make(chan struct{})
	addr := listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		<-closed
		_, _ = io.ReadAll(c)
		_, err := peer.UID(c.LocalAddr().String(), c.RemoteAddr().String())
		done <- err
	})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	close(closed)
	if err := <-done; !errors.Is(err, peer.ErrUnknown) {
		t.Error(err)
	}
}

func TestRemotePeerIsUnknown(t *testing.T) {
	for _, c := range [][2]string{{"127.0.0.1:80", "192.0.2.1:4000"}, {"127.0.0.1:80", "pipe"}, {"", ""}, {"127.0.0.1:1", "127.0.0.1:1"}} {
		if _, err := peer.UID(c[0], c[1]); !errors.Is(err, peer.ErrUnknown) || same(t, c[0], c[1]) || peer.Terminal(os.Getpid(), c[0], c[1]) == nil {
			t.Errorf("%q: %v", c, err)
		}
	}
}

// A test has no terminal in the foreground, and another process does not hold its connections.
// Terminal rejects both.
func TestProgramWithoutTerminalIsRejected(t *testing.T) {
	got := make(chan [2]error, 1)
	addr := listen(t, "tcp", "127.0.0.1:0", func(c net.Conn) {
		l, r := c.LocalAddr().String(), c.RemoteAddr().String()
		got <- [2]error{peer.Terminal(os.Getpid(), l, r), peer.Terminal(os.Getppid(), l, r)}
	})
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	errs := <-got
	if errs[0] == nil {
		if f, _ := os.Stdin.Stat(); f != nil && f.Mode()&os.ModeCharDevice == 0 {
			t.Error("a program without a terminal counts as a person")
		}
	}
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "another process") {
		t.Errorf("the parent: %v", errs[1])
	}
}
