package drivertest

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// Proxy is a network between a client and a server that a test can stall, as if it lost
// packets: after the stall the client's kernel repeats them, unless the client has reset
// the connection.
type Proxy struct {
	net.Listener

	mu    sync.Mutex
	goes  chan struct{} // closed while the link is not stalled
	conns []net.Conn    // connections of clients
}

// NewProxy returns a link to the server at an address.
func NewProxy(t *testing.T, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := &Proxy{Listener: l, goes: make(chan struct{})}
	close(k.goes)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", server)
			if err != nil {
				_ = c.Close()
				continue
			}
			k.mu.Lock()
			k.conns = append(k.conns, c)
			k.mu.Unlock()
			go func() { _, _ = io.Copy(c, s); _ = c.Close() }()
			go func() { k.carry(s, c); _ = s.Close() }()
		}
	}()
	return k
}

// carry copies bytes from a client to the server while the link is not stalled.
func (k *Proxy) carry(s, c net.Conn) {
	b := make([]byte, 4096)
	for {
		n, err := c.Read(b)
		k.mu.Lock()
		goes := k.goes
		k.mu.Unlock()
		select {
		case <-goes:
		default:
			<-goes
			_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
			more, rerr := io.ReadAll(c)
			if rerr != nil && !timedOut(rerr) {
				return // the client has reset it, so nothing is repeated
			}
			_, err = s.Write(slices.Concat(b[:n], more))
			n = 0
			if rerr == nil {
				return // the client has closed it
			}
			_ = c.SetReadDeadline(time.Time{})
		}
		if err == nil {
			_, err = s.Write(b[:n])
		}
		if err != nil {
			return
		}
	}
}

func timedOut(err error) bool {
	late, ok := err.(net.Error)
	return ok && late.Timeout()
}

// Stall blocks the bytes of the client until a call of the returned function.
func (k *Proxy) Stall() (goOn func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	stalled := make(chan struct{})
	k.goes = stalled
	for _, c := range k.conns {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // interrupts a read under way
	}
	return func() { close(stalled) }
}
