package mcp

import (
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// actorServer is an actor with its sessions.
type actorServer struct {
	*Server
	http        http.Handler
	maxSessions int

	mu      sync.Mutex
	opening int                    // requests under way that may open a session
	last    time.Time              // when there was a request
	use     map[string]*sessionUse // by session
}

// sessionUse is how a session is used.
type sessionUse struct {
	busy int       // requests and streams under way
	last time.Time // when the last of them ended
}

// sessionHeader names the session of a request.
const sessionHeader = "Mcp-Session-Id"

// leftAlone is how long a session is left alone before it may make room for
// another: a client that has vanished has neither a request nor a stream.
const leftAlone = time.Minute

// begin counts a request; ok is false if it would open a session too many.
func (g *actorServer) begin(r *http.Request) (leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := r.Header.Get(sessionHeader)
	if id != "" {
		return g.markUsed(id), true
	}
	if r.Method != http.MethodPost {
		return func() {}, true // which opens none
	}
	if g.opening+len(g.openSessions()) >= g.maxSessions && !g.closeIdlest(time.Now()) {
		return nil, false
	}
	g.opening++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.opening--
	}, true
}

// markUsed notes that a session is used. One that is not there is not counted. g.mu
// is held.
func (g *actorServer) markUsed(id string) (leave func()) {
	if g.openSessions()[id] == nil {
		return func() {}
	}
	u := g.use[id]
	if u == nil {
		u = &sessionUse{}
		g.use[id] = u
	}
	u.busy++
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		u.busy--
		u.last = time.Now()
	}
}

// openSessions are the sessions by their ids.
func (g *actorServer) openSessions() map[string]*sdk.ServerSession {
	all := map[string]*sdk.ServerSession{}
	for s := range g.mcp.Sessions() {
		all[s.ID()] = s
	}
	return all
}

// closeIdlest ends the session that was left alone for longest, and reports whether
// there was one. g.mu is held.
func (g *actorServer) closeIdlest(now time.Time) bool {
	all := g.openSessions()
	for id := range g.use {
		if all[id] == nil {
			delete(g.use, id)
		}
	}
	oldest := ""
	for id := range all {
		u := g.use[id]
		if u == nil { // it was opened, and not used yet
			g.use[id] = &sessionUse{last: now}
			continue
		}
		if u.busy == 0 && now.Sub(u.last) >= leftAlone && (oldest == "" || u.last.Before(g.use[oldest].last)) {
			oldest = id
		}
	}
	if oldest == "" {
		return false
	}
	if err := all[oldest].Close(); err != nil {
		g.log.Debug("session ended", "err", err)
	}
	delete(g.use, oldest)
	return true
}

func (g *actorServer) touch() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = time.Now()
}

// isIdle reports whether there was nobody since then.
func (g *actorServer) isIdle(since time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opening == 0 && len(g.openSessions()) == 0 && g.last.Before(since)
}
