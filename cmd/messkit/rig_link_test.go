package main

import (
	"net"
	"sync"
	"testing"
)

// direction is one of the two directions of a link.
type direction int

const (
	forth direction = iota // from the client to the server
	back
)

// link is a TCP connection that a test can disturb. It delays the bytes of one or both
// directions, or it cuts connections and rejects new ones.
type link struct {
	net.Listener
	to string

	mu     sync.Mutex
	change *sync.Cond
	held   [2]bool
	cut    bool
	closed bool
	conns  map[net.Conn]bool
}

// newLink starts a link to an address. The link ends with the test.
func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{Listener: listener, to: to, conns: map[net.Conn]bool{}}
	l.change = sync.NewCond(&l.mu)
	var running sync.WaitGroup
	running.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { l.serve(near) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		l.set(func() { l.closed = true })
		l.hangUp()
		running.Wait()
	})
	return l
}

func (l *link) address() string { return l.Listener.Addr().String() }

func (l *link) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.change.Broadcast()
}

// hold delays the bytes of these directions until heal.
func (l *link) hold(ways ...direction) {
	l.set(func() {
		for _, way := range ways {
			l.held[way] = true
		}
	})
}

// sever cuts all connections, and rejects new ones until heal.
func (l *link) sever() {
	l.set(func() { l.cut = true })
	l.hangUp()
}

func (l *link) heal() {
	l.set(func() { l.held, l.cut = [2]bool{}, false })
}

// hangUp resets all connections.
func (l *link) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.conns {
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
	}
}

// open waits until a direction is open, and reports false if the link has ended.
func (l *link) open(way direction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.held[way] && !l.closed {
		l.change.Wait()
	}
	return !l.closed
}

// keep registers connections that a cut closes, and reports false during a cut.
func (l *link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		l.conns[conn] = true
	}
	return !l.cut && !l.closed
}

func (l *link) forget(conns ...net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range conns {
		_ = conn.Close()
		delete(l.conns, conn)
	}
}

// serve carries one connection. It delivers delayed bytes even if the sender closes, because the
// network already had them.
func (l *link) serve(near net.Conn) {
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
	both.Go(func() { l.carry(forth, near, far) })
	both.Go(func() { l.carry(back, far, near) })
	both.Wait()
}

func (l *link) carry(way direction, from, to net.Conn) {
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
