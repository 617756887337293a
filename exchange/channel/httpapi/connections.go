package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/resources"
)

// Bytes of memory that Filled counts for one connection. A busy one has buffers and a request
// under way. A waiting one has the buffers of TLS.
const (
	busyCost = 64 << 10
	waitCost = 32 << 10
)

// Busy connections take an eighth of the open files at most, waiting ones a half.
// The MQTT broker takes a quarter, and the store has the last eighth.
const (
	busyPart = 8
	waitPart = 2
)

// Filled replaces each limit of 0 by the number of connections that a machine with the given
// memory and files can carry.
func (r Rate) Filled(of resources.Limits) Rate {
	fill := func(n *int, otherwise int) {
		if *n == 0 {
			*n = otherwise
		}
	}
	fill(&r.AllConnections, of.Share(busyCost, busyPart, 64, 16384))
	fill(&r.Connections, min(r.AllConnections, max(16, r.AllConnections/16)))
	fill(&r.AllWaiting, of.Share(waitCost, waitPart, 64, 131072))
	fill(&r.Waiting, min(r.AllWaiting, max(16, r.AllWaiting/4)))
	return r
}

// pool counts connections of one kind from other machines.
type pool struct {
	each, all int // limits

	byNetwork                      map[netip.Prefix]int
	count                          int
	refusedOfOne, refusedOfAll     int64 // connections beyond the limit of one address, or of all
	refusedOfOneAt, refusedOfAllAt time.Time
}

// enter counts a connection. It returns false at a limit.
func (p *pool) enter(from netip.Prefix) bool {
	switch {
	case p.byNetwork[from] >= p.each:
		p.refusedOfOne, p.refusedOfOneAt = p.refusedOfOne+1, time.Now()
		return false
	case p.count >= p.all:
		p.refusedOfAll, p.refusedOfAllAt = p.refusedOfAll+1, time.Now()
		return false
	}
	p.byNetwork[from]++
	p.count++
	return true
}

func (p *pool) leave(from netip.Prefix) {
	p.count--
	if p.byNetwork[from]--; p.byNetwork[from] == 0 {
		delete(p.byNetwork, from)
	}
}

func (p *pool) use(what, setting string) []resources.Use {
	fullest := 0
	for _, n := range p.byNetwork {
		fullest = max(fullest, n)
	}
	return []resources.Use{
		{What: what, Setting: "exchange: rate: all_" + setting, Now: p.count, Limit: p.all, Refused: p.refusedOfAll, Last: p.refusedOfAllAt},
		{What: what + " of one address", Setting: "exchange: rate: " + setting, Now: fullest, Limit: p.each, Refused: p.refusedOfOne, Last: p.refusedOfOneAt},
	}
}

// connections count the connections from other machines in two pools: those that
// wait for events, and all others. Neither pool takes places of the other. Clients
// on this machine have no limit.
type connections struct {
	mu            sync.Mutex
	busy, waiting pool
}

func newConnections(r Rate) *connections {
	return &connections{
		busy:    pool{each: r.Connections, all: r.AllConnections, byNetwork: map[netip.Prefix]int{}},
		waiting: pool{each: r.Waiting, all: r.AllWaiting, byNetwork: map[netip.Prefix]int{}},
	}
}

// Connections returns the use of each limit of connections from other machines.
func (d *Server) Connections() []resources.Use {
	d.conns.mu.Lock()
	defer d.conns.mu.Unlock()
	return append(d.conns.busy.use("connections", "connections"), d.conns.waiting.use("connections that wait for events", "waiting")...)
}

// limitedListener is a listener that closes a connection beyond the limit of its address, or
// of all addresses.
type limitedListener struct {
	net.Listener
	*connections
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
			return &countedConn{translatedConn: translatedConn{Conn: conn}, all: g.connections, from: from, pool: &g.busy}, nil
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
	all  *connections
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

// becomes moves the connection below TLS.
func (s *tlsConn) becomes(waiting bool) bool {
	below, ok := s.under.(interface{ becomes(bool) bool })
	return !ok || below.becomes(waiting)
}

// retryConnection is the Retry-After of these limits, in seconds.
const retryConnection = "5"

// moveToPool moves the connection of this request to another pool. Between two polls it stays
// in the pool of waiting connections.
func (c *transport) moveToPool(waiting bool) error {
	conn, ok := c.r.Context().Value(connKey{}).(interface{ becomes(bool) bool })
	if !ok || conn.becomes(waiting) { // no pool counts connections of this machine
		return nil
	}
	c.w.Header().Set("Retry-After", retryConnection)
	if waiting {
		return &httpError{http.StatusServiceUnavailable, "too many connections wait for events; try again in " + retryConnection + " s, or look with GET requests"}
	}
	return &httpError{http.StatusServiceUnavailable, "too many requests are under way; try again in " + retryConnection + " s"}
}

// leaveWaitingPool moves the connection back to the busy pool, unless the request asks for
// events again. These limits never reject a stop.
func (c *transport) leaveWaitingPool() error {
	path := c.r.URL.Path
	if strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/stop") {
		return nil
	}
	return c.moveToPool(false)
}
