// Package connection has the connections of the HTTP API below net/http. It limits their number, adds
// TLS, and translates the errors that net/http writes before a handler. A handler may take a
// connection from net/http and give it back. The package knows no exchange.
package connection

import (
	"net/netip"
	"sync"
	"time"

	"github.com/messkit/messkit/internal/resources"
)

// Limits are the largest numbers of connections from other machines.
type Limits struct {
	Busy, AllBusy       int // busy ones of one address, and of all
	Waiting, AllWaiting int // those that wait for events, of one address and of all
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

// Counts counts the connections from other machines in two pools: those that wait for events, and
// all others. Neither pool takes places of the other. Clients on this machine have no limit.
type Counts struct {
	mu            sync.Mutex
	busy, waiting pool
}

// NewCounts returns the counts for these limits.
func NewCounts(l Limits) *Counts {
	return &Counts{
		busy:    pool{each: l.Busy, all: l.AllBusy, byNetwork: map[netip.Prefix]int{}},
		waiting: pool{each: l.Waiting, all: l.AllWaiting, byNetwork: map[netip.Prefix]int{}},
	}
}

// Use returns the use of each limit.
func (c *Counts) Use() []resources.Use {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(c.busy.use("connections", "connections"), c.waiting.use("connections that wait for events", "waiting")...)
}
