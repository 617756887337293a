// Package link carries TCP connections that a test can disturb. Only tests import it.
package link

import (
	"net"
	"sync"
	"testing"
)

// Direction is one of the two directions of a link.
type Direction int

// The directions.
const (
	Forth Direction = iota // from the client to the server
	Back                   // from the server to the client
)

// Link carries TCP connections to an address. It delays the bytes of one or both directions, or it
// cuts connections and rejects new ones. It is safe for concurrent use.
type Link struct {
	listener net.Listener
	to       string

	mu     sync.Mutex
	change *sync.Cond
	held   [2]bool
	cut    bool
	closed bool
	conns  map[net.Conn]bool
}

// New starts a link to an address. The link ends with the test.
func New(t testing.TB, to string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{listener: listener, to: to, conns: map[net.Conn]bool{}}
	l.change = sync.NewCond(&l.mu)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.serve(near) })
		}
	})
	t.Cleanup(func() {
		_ = l.listener.Close()
		l.set(func() { l.closed = true })
		l.hangUp()
		running.Wait()
	})
	return l
}

// Address returns where the link listens, host:port.
func (l *Link) Address() string { return l.listener.Addr().String() }

func (l *Link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.change.Broadcast()
}

// Hold delays the bytes of these directions until Heal.
func (l *Link) Hold(ways ...Direction) {
	l.set(func() {
		for _, way := range ways {
			l.held[way] = true
		}
	})
}

// Sever cuts all connections, and rejects new ones until Heal.
func (l *Link) Sever() {
	l.set(func() { l.cut = true })
	l.hangUp()
}

// Heal ends all disturbances.
func (l *Link) Heal() {
	l.set(func() { l.held, l.cut = [2]bool{}, false })
}

// hangUp resets all connections.
func (l *Link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// open waits until a direction is open, and reports false if the link has ended.
func (l *Link) open(way Direction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held[way] && !l.closed {
		l.change.Wait()
	}
	return !l.closed
}

// keep registers connections that a cut closes, and reports false during a cut.
func (l *Link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		l.conns[conn] = true
	}
	return !l.cut && !l.closed
}

func (l *Link) forget(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(l.conns, conn)
	}
}

// serve carries one connection. It delivers delayed bytes even if the sender closes, because the
// network already had them.
func (l *Link) serve(near net.Conn) {
	far, err := net.Dial("tcp", l.to)
	if err != nil {
		_ = near.Close()
		return
	}
	defer l.forget(near, far)
	if !l.keep(near, far) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.carry(Forth, near, far) })
	both.Go(func() { l.carry(Back, far, near) })
	both.Wait()
}

func (l *Link) carry(way Direction, from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !l.open(way) {
			return
		}
		if n > 0 {
			if _, werr := to.Write(buffer[:n]); werr != nil {
				_ = from.Close() // the sender gets an error for further bytes
				return
			}
		}
		if err != nil {
			_ = to.(*net.TCPConn).CloseWrite()
			return
		}
	}
}
