package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/wait"
)

// Config is the settings of MCP over HTTP.
type Config struct {
	Enabled  bool          `yaml:"on"`       // serve it
	Sessions int           `yaml:"sessions"` // of one key at a time
	Idle     time.Duration `yaml:"idle"`     // limit of an idle session
}

// DefaultConfig returns the default settings. A person may come back to a conversation the next
// day, and few clients open a new session by themselves.
func DefaultConfig() Config { return Config{Sessions: 16, Idle: 24 * time.Hour} }

// Validate returns an error for every invalid setting.
func (c Config) Validate() error {
	var errs []error
	if c.Sessions < 1 || c.Sessions > 1000 {
		errs = append(errs, fmt.Errorf("sessions: %d is not from 1 to 1000", c.Sessions))
	}
	if c.Idle < time.Minute {
		errs = append(errs, fmt.Errorf("idle: %v is too short; use 1m or more", c.Idle))
	}
	return errors.Join(errs...)
}

// HTTPServer serves an exchange over streamable HTTP to authenticated actors. A session belongs
// to one actor with one set of roles, and does not exist for others. It is safe for concurrent
// use.
type HTTPServer struct {
	x       *exchange.Exchange
	cfg     Config
	version string
	log     *slog.Logger

	mu         sync.Mutex
	actors     map[exchange.Actor]*actorServer
	unfollowed []*actorServer // not followed yet
	closed     bool
	added      chan struct{} // unfollowed is not empty
}

// NewHTTPServer makes a server. It serves while Run runs.
func NewHTTPServer(x *exchange.Exchange, cfg Config, version string, log *slog.Logger) *HTTPServer {
	return &HTTPServer{x: x, cfg: cfg, version: version, log: log, actors: map[exchange.Actor]*actorServer{}, added: make(chan struct{}, 1)}
}

// Run notifies clients of changes, until ctx ends.
func (d *HTTPServer) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	sweep := time.NewTicker(d.cfg.Idle)
	defer sweep.Stop()
	ends := map[*actorServer]context.CancelFunc{}
	for {
		select {
		case <-d.added:
			for _, one := range d.takeNew() {
				follow, end := context.WithCancel(ctx)
				ends[one] = end
				g.Go(func() error {
					one.follow(follow)
					return nil
				})
			}
		case now := <-sweep.C:
			for _, one := range d.takeIdle(now) {
				ends[one]()
				delete(ends, one)
			}
		case <-ctx.Done():
			d.close()
			return g.Wait()
		}
	}
}

// takeNew returns the servers that Run does not follow yet.
func (d *HTTPServer) takeNew() []*actorServer {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.unfollowed
	d.unfollowed = nil
	return list
}

// close ends all sessions.
func (d *HTTPServer) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, one := range d.actors {
		one.stopWaiting()
		for s := range one.mcp.Sessions() {
			if err := s.Close(); err != nil {
				d.log.Debug("session ended", "err", err)
			}
		}
	}
}

// takeIdle removes and returns the servers without a session and without a recent request.
func (d *HTTPServer) takeIdle(now time.Time) []*actorServer {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []*actorServer
	for actor, one := range d.actors {
		if one.isIdle(now.Add(-d.cfg.Idle)) {
			delete(d.actors, actor)
			list = append(list, one)
		}
	}
	return list
}

// Serve serves one request of an actor.
func (d *HTTPServer) Serve(actor exchange.Actor, w http.ResponseWriter, r *http.Request) {
	one := d.serverOf(actor)
	if one == nil {
		writeRejection(w, http.StatusServiceUnavailable, "the exchange ends; come back when it runs again")
		return
	}
	leave, ok := one.begin(r)
	if !ok {
		w.Header().Set("Retry-After", "60")
		writeRejection(w, http.StatusTooManyRequests, fmt.Sprintf("%d sessions are in use with this key; end one with DELETE", one.maxSessions))
		return
	}
	defer leave()
	one.http.ServeHTTP(w, r)
}

// serverOf returns the server of an actor, and makes it if there is none. It returns nil after
// close.
func (d *HTTPServer) serverOf(actor exchange.Actor) *actorServer {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	if one := d.actors[actor]; one != nil {
		one.touch()
		return one
	}
	one := &actorServer{Server: New(LocalExchange(d.x, actor), d.version, d.log), maxSessions: d.cfg.Sessions, last: time.Now(), use: map[string]*sessionUse{}}
	one.http = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return one.mcp }, &sdk.StreamableHTTPOptions{
		SessionTimeout: d.cfg.Idle, Logger: slog.New(slog.DiscardHandler),
		MaxRequestBodyBytes:        -1,   // the HTTP API has read the body within its limit
		DisableLocalhostProtection: true, // the HTTP API knows more names than localhost, and has checked the name
	})
	d.actors[actor] = one
	d.unfollowed = append(d.unfollowed, one)
	wait.Notify(d.added)
	return one
}

// NewestOverHTTP is the newest MCP revision over HTTP. Later revisions have no sessions.
const NewestOverHTTP = "2025-11-25"

// NewestOverStdio returns the newest MCP revision that Serve speaks.
func NewestOverStdio() string { return sdk.SupportedProtocolVersions()[0] }

// revisionHeader names the MCP revision of a request.
const revisionHeader = "Mcp-Protocol-Version"

// RejectionReason explains an error to a client of a newer revision.
func (d *HTTPServer) RejectionReason(r *http.Request, code int) string {
	asked, err := time.Parse(time.DateOnly, r.Header.Get(revisionHeader))
	if revision := asked.Format(time.DateOnly); code == http.StatusBadRequest && err == nil && revision > NewestOverHTTP {
		return fmt.Sprintf("messkit does not serve MCP revision %s over HTTP; have the client use %s or older, or start messkit mcp, which serves %s over stdio", revision, NewestOverHTTP, NewestOverStdio())
	}
	return ""
}

// writeRejection answers with an error in the form of the HTTP API.
func writeRejection(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text}) // the client has disconnected if it fails
}

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
