package connection

import (
	"crypto/tls"
	"net"
	"net/netip"
)

// Listen returns a listener for the connections of l within the limits. It adds TLS unless secure is
// nil.
func (c *Counts) Listen(l net.Listener, secure *tls.Config) net.Listener {
	l = &limitedListener{l, c}
	if secure != nil {
		l = &tlsListener{l, secure}
	}
	return l
}

// limitedListener is a listener that closes a connection beyond the limit of its address, or
// of all addresses.
type limitedListener struct {
	net.Listener
	*Counts
}

// Accept waits for a connection within the limits.
func (g *limitedListener) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, ok := clientNetwork(conn.RemoteAddr())
		if !ok {
			return &translatedConn{Conn: conn}, nil
		}
		g.mu.Lock()
		ok = g.busy.enter(from)
		g.mu.Unlock()
		if ok {
			return &countedConn{translatedConn: translatedConn{Conn: conn}, all: g.Counts, from: from, pool: &g.busy}, nil
		}
		_ = conn.Close() // the client has sent nothing yet
	}
}

// clientNetwork returns the address of a client, or for IPv6 its /64 network: one
// household has a whole network. ok is false for a client on this machine.
func clientNetwork(addr net.Addr) (from netip.Prefix, ok bool) {
	a, err := netip.ParseAddrPort(addr.String())
	if err != nil || a.Addr().Unmap().IsLoopback() {
		return from, false
	}
	ip, bits := a.Addr().Unmap().WithZone(""), 32
	if ip.Is6() {
		bits = 64
	}
	from, err = ip.Prefix(bits)
	return from, err == nil
}

// countedConn is a connection that a pool counts until it closes.
type countedConn struct {
	translatedConn
	all  *Counts
	from netip.Prefix
	pool *pool // nil after Close
}

// Close closes the connection and frees its place.
func (c *countedConn) Close() error {
	c.all.mu.Lock()
	if c.pool != nil {
		c.pool.leave(c.from)
		c.pool = nil
	}
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// becomes moves the connection to the pool of waiting or of busy connections. It returns false,
// and changes nothing, at a limit of that pool.
func (c *countedConn) becomes(waiting bool) bool {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	to := &c.all.busy
	if waiting {
		to = &c.all.waiting
	}
	if c.pool == nil || c.pool == to {
		return true
	}
	if !to.enter(c.from) {
		return false
	}
	c.pool.leave(c.from)
	c.pool = to
	return true
}
