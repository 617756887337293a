// Package port is the listener of a broker in this process, with a limit of clients and a close
// that leaves no connection.
package port

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/messkit/messkit/internal/mistake"
	"github.com/messkit/messkit/internal/resources"
)

// Port is a listener of a broker. It limits the time for the CONNECT packet, and handles TLS.
// Close leaves no connection.
type Port struct {
	net.Listener
	tls    *tls.Config
	server *broker.Server

	mu     sync.Mutex
	conns  map[net.Conn]*visit
	last   map[string]*visit // by client's id: the latest
	closed bool
	group  sync.WaitGroup

	most    int       // limit of clients; 0: none
	refused int64     // connections that the limit has refused
	at      time.Time // when it refused the last one
}

var _ listeners.Listener = (*Port)(nil)

// New makes a port of a server; secure is nil for plain text. The server closes it with
// itself. Hooks added after it see a client only when its last connection has ended
// completely.
func New(s *broker.Server, l net.Listener, secure *tls.Config) *Port {
	return &Port{Listener: l, tls: secure, server: s, conns: map[net.Conn]*visit{}, last: map[string]*visit{}}
}

// Limit sets the largest number of connected clients. Call it before the server serves. The
// broker answers one client more with "busy". The port closes connections beyond nine eighths
// of the limit, since slow clients may never send a CONNECT packet.
func (p *Port) Limit(clients int) {
	p.most = clients
	p.server.Options.Capabilities.MaximumClients = int64(clients)
}

// Use returns how many connections are open, and the limit of clients.
func (p *Port) Use() resources.Use {
	p.mu.Lock()
	defer p.mu.Unlock()
	return resources.Use{What: "MQTT clients", Now: len(p.conns), Limit: p.most, Refused: p.refused, Last: p.at}
}

// full notes that the limit has refused a connection.
func (p *Port) full() { p.refused, p.at = p.refused+1, time.Now() }

const (
	helloTime    = 10 * time.Second // for the CONNECT packet
	closeTimeout = time.Second      // for pending writes when the port closes
)

// ID names the port.
func (*Port) ID() string { return "mqtt" }

// Protocol returns the network protocol.
func (*Port) Protocol() string { return "tcp" }

// Address returns the address of the port.
func (p *Port) Address() string { return p.Addr().String() }

// Init adds the hook that orders the connections of one client id. The port is open already.
func (p *Port) Init(*slog.Logger) error { return p.server.AddHook(&turns{port: p}, nil) }

// Serve accepts clients until Close.
func (p *Port) Serve(establish listeners.EstablishFn) {
	for {
		conn, err := p.Accept()
		if err != nil {
			return
		}
		_ = conn.SetDeadline(time.Now().Add(helloTime)) // the broker sets another one after the CONNECT packet
		if p.tls != nil {
			conn = tls.Server(conn, p.tls)
		}
		if !p.enter(conn, establish) {
			_ = conn.Close() // without an answer
			return
		}
	}
}

func (p *Port) enter(conn net.Conn, establish listeners.EstablishFn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	if p.most > 0 && len(p.conns) >= p.most+p.most/8+1 {
		p.full()
		_ = conn.Close() // without an answer
		return true
	}
	v := &visit{conn: conn}
	p.conns[conn] = v
	p.group.Go(func() {
		p.serve(conn, establish)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.goes(v)
	})
	return true
}

// serve serves one client. No packet of it can end the service of the others.
func (p *Port) serve(conn net.Conn, establish listeners.EstablishFn) {
	defer mistake.Caught(p.server.Log, "remote", conn.RemoteAddr())
	if err := establish(p.ID(), conn); errors.Is(err, packets.ErrServerBusy) { // the hooks see every other end of a connection
		p.mu.Lock()
		defer p.mu.Unlock()
		p.full()
	}
}

// Close ends all connections, and returns when none is left. The broker accepts no new client
// meanwhile. Close does not call the broker's function that lists the clients of a port. That
// function takes a lock twice, and never returns if a leaving client requests the lock in between
// (Clients.GetByListener and Delete of github.com/mochi-mqtt/server/v2 2.7.9).
func (p *Port) Close(listeners.CloseFn) {
	_ = p.Listener.Close()
	p.mu.Lock()
	p.closed = true
	for conn := range p.conns {
		_ = conn.SetDeadline(time.Now().Add(closeTimeout))
	}
	p.mu.Unlock()
	for _, c := range p.server.Clients.GetAll() {
		if c.Net.Listener == p.ID() && !c.Closed() {
			_ = p.server.DisconnectClient(c, packets.ErrServerShuttingDown) // the connection ends in any case
		}
	}
	p.mu.Lock()
	for conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.group.Wait()
}
