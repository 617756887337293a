package mqtt

import (
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/mochi-mqtt/server/v2/listeners"
)

// port is where clients come in. It gives connections a time for their first
// words, takes care of TLS, and when it is closed it has let go of everybody.
type port struct {
	net.Listener
	tls *tls.Config

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool
	group  sync.WaitGroup
}

var _ listeners.Listener = (*port)(nil)

func newPort(l net.Listener, secure *tls.Config) *port {
	return &port{Listener: l, tls: secure, conns: map[net.Conn]bool{}}
}

const (
	helloTime    = 10 * time.Second // for a connection's first words
	farewellTime = time.Second      // for what is still to be written when the port closes
)

// ID names the port.
func (*port) ID() string { return "mqtt" }

// Protocol is that of the port.
func (*port) Protocol() string { return "tcp" }

// Address is that of the port.
func (p *port) Address() string { return p.Addr().String() }

// Init does nothing: the port is open.
func (*port) Init(*slog.Logger) error { return nil }

// Serve lets clients in until the port is closed.
func (p *port) Serve(establish listeners.EstablishFn) {
	for {
		conn, err := p.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(helloTime)) // the broker sets another when it knows who it is
		if p.tls != nil {
			conn = tls.Server(conn, p.tls)
		}
		if !p.enter(conn, establish) {
			_ = conn.Close() // it has been told nothing
			return
		}
	}
}

func (p *port) enter(conn net.Conn, establish listeners.EstablishFn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.conns[conn] = true
	p.group.Go(func() {
		_ = establish(p.ID(), conn) // how it ended, the hooks have heard
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, conn)
	})
	return true
}

// Close ends all connections, and returns when nobody is there any more. The
// broker counts its clients in a way that allows no one to come meanwhile.
func (p *port) Close(closeClients listeners.CloseFn) {
	_ = p.Listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.conns {
		_ = conn.SetDeadline(time.Now().Add(farewellTime))
	}
	p.mu.Unlock()
	closeClients(p.ID())
	p.mu.Lock()
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.group.Wait()
}
