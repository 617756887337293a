package httpapi

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi/connection"
	"github.com/messkit/messkit/internal/resources"
)

// Rate is the limits of one client.
type Rate struct {
	Requests float64 `yaml:"requests"` // requests of one key per second, in the long run
	Burst    int     `yaml:"burst"`    // requests of one key at once

	// Limits of connections from other machines. 0 means what this machine can carry.
	// The exchange counts long polls and event streams apart from all others.
	Connections    int `yaml:"connections"`     // busy ones of one address
	AllConnections int `yaml:"all_connections"` // busy ones of all addresses
	Waiting        int `yaml:"waiting"`         // polls and streams of one address
	AllWaiting     int `yaml:"all_waiting"`     // polls and streams of all addresses
}

// DefaultRate returns limits far above the need of an executor or a busy agent, and low enough
// for a small board.
func DefaultRate() Rate { return Rate{Requests: 200, Burst: 1000} }

// Validate returns an error for every invalid setting.
func (r Rate) Validate() error {
	var errs []error
	if !(r.Requests >= 0.1 && r.Requests <= 1e6) { // false for NaN
		errs = append(errs, fmt.Errorf("requests: %v is not from 0.1 to 1000000 a second", r.Requests))
	}
	if r.Burst < 1 {
		errs = append(errs, fmt.Errorf("burst: %d is too few; write 1 or more", r.Burst))
	}
	for _, limit := range []struct {
		name string
		n    int
	}{{"connections", r.Connections}, {"all_connections", r.AllConnections}, {"waiting", r.Waiting}, {"all_waiting", r.AllWaiting}} {
		if limit.n < 4 && limit.n != 0 { // an executor needs two, and twice as many while it reconnects
			errs = append(errs, fmt.Errorf("%s: %d is too few; write 4 or more, or 0 to derive it from memory and open files", limit.name, limit.n))
		}
	}
	return errors.Join(errs...)
}

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

// connectionLimits returns the limits of connections.
func (r Rate) connectionLimits() connection.Limits {
	return connection.Limits{Busy: r.Connections, AllBusy: r.AllConnections, Waiting: r.Waiting, AllWaiting: r.AllWaiting}
}

// limits counts the requests of each actor. It is safe for concurrent use.
type limits struct {
	rate Rate

	mu       sync.Mutex
	limiters map[string]*rate.Limiter // by actor that has used a key
}

// spend counts a request. It returns the time to wait if the actor has reached its limit.
func (l *limits) spend(actor string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.limiters[actor]
	if one == nil {
		one = rate.NewLimiter(rate.Limit(l.rate.Requests), l.rate.Burst)
		l.limiters[actor] = one
	}
	if one.Allow() {
		return 0
	}
	return time.Duration((1 - one.Tokens()) / l.rate.Requests * float64(time.Second))
}

// spendRate counts this request. The local operator has no limit.
func (c *caller) spendRate(actor exchange.Actor) error {
	if actor.Has(exchange.Operator) && loopback(c.r.RemoteAddr) && !c.isProxied() || slices.Contains(c.cfg.Unlimited, c.r.URL.EscapedPath()) {
		return nil
	}
	wait := c.limits.spend(actor.ID)
	if wait <= 0 {
		return nil
	}
	return c.tooMany(wait, "too many requests with this key")
}

// tooMany returns the error 429 and sets Retry-After, in whole seconds.
func (c *transport) tooMany(wait time.Duration, what string) error {
	seconds := int(math.Ceil(wait.Seconds()))
	c.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return &httpError{http.StatusTooManyRequests, fmt.Sprintf("%s; try again in %d s", what, seconds)}
}

// bodyGap is the longest pause in a body.
const bodyGap = 15 * time.Second

// steadyBody is a body with a deadline for each pause.
type steadyBody struct {
	io.ReadCloser
	rc  *http.ResponseController
	end time.Time // deadline of the whole body
}

func (s *steadyBody) Read(p []byte) (int, error) {
	next := time.Now().Add(bodyGap)
	if next.After(s.end) {
		next = s.end
	}
	_ = s.rc.SetReadDeadline(next) // the writer of a test has none
	n, err := s.ReadCloser.Read(p)
	if err == io.EOF {
		_ = s.rc.SetReadDeadline(s.end) // the server reads on, to notice a disconnect
	}
	return n, err
}

// How long, and how many bytes of, a too large body the server discards after the response.
// Most clients send all of it before they read, and would not see the error if the connection
// ended.
const (
	lingerTime  = bodyGap
	lingerBytes = 16 << 20
)

// linger sends the response, and discards what comes.
func linger(rc *http.ResponseController, body io.Reader) {
	if errors.Join(rc.Flush(), rc.SetReadDeadline(time.Now().Add(lingerTime))) == nil {
		_, _ = io.CopyN(io.Discard, body, lingerBytes)
	}
}

// retryConnection is the Retry-After of these limits, in seconds.
const retryConnection = "5"

// moveToPool moves the connection of this request to another pool. Between two polls it stays
// in the pool of waiting connections.
func (c *transport) moveToPool(waiting bool) error {
	if connection.Move(c.r.Context(), waiting) {
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

// Connections returns the use of each limit of connections from other machines.
func (d *Server) Connections() []resources.Use { return d.conns.Use() }
