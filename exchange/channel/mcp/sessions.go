package mcp

import (
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// actorServer is the server of one actor, with its sessions.
type actorServer struct {
	*Server
	http        http.Handler
	maxSessions int

	mu      sync.Mutex
	opening int                    // requests under way that may open a session
	last    time.Time              // time of the last request
	use     map[string]*sessionUse // by session
}

// sessionUse is the use of one session.
type sessionUse struct {
	busy int       // requests and streams under way
	last time.Time // time when the last of them ended
}

// sessionHeader is the header with the session of a request.
const sessionHeader = "Mcp-Session-Id"

// replaceableAfter is how long a session must be idle before a new one may replace it. A client that
// has vanished has no request and no stream.
const replaceableAfter = time.Minute

// begin counts a request. ok is false if it would open a session beyond the limit.
func (g *actorServer) begin(r *http.Request) (leave func(), ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := r.Header.Get(sessionHeader)
	if id != "" {
		return g.markUsed(id), true
	}
	if r.Method != http.MethodPost {
		return func() {}, true // only POST opens a session
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

// markUsed counts the use of an existing session. The caller holds g.mu.
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

// openSessions returns the sessions by id.
func (g *actorServer) openSessions() map[string]*sdk.ServerSession {
	all := map[string]*sdk.ServerSession{}
	for s := range g.mcp.Sessions() {
		all[s.ID()] = s
	}
	return all
}

// closeIdlest closes the session that has been idle for longest, if one may close. The caller
// holds g.mu.
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
		if u == nil { // the session is new
			g.use[id] = &sessionUse{last: now}
			continue
		}
		if u.busy == 0 && now.Sub(u.last) >= replaceableAfter && (oldest == "" || u.last.Before(g.use[oldest].last)) {
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

// isIdle reports whether there has been no session, and no request since a time.
func (g *actorServer) isIdle(since time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opening == 0 && len(g.openSessions()) == 0 && g.last.Before(since)
}
