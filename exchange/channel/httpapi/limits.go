package httpapi

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
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
		c.waits = waiting
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
	if strings.HasSuffix(path, "/events") || strings.HasSuffix(path, "/stream") || strings.HasSuffix(path, "/stop") {
		return nil
	}
	return c.moveToPool(false)
}

// Connections returns the use of each limit of connections from other machines.
func (d *Server) Connections() []resources.Use { return d.conns.Use() }

// DeniedRequest is a rejected request: an unknown caller, a missing right, or too much load.
// Requests of one caller with the same reason are one entry.
type DeniedRequest struct {
	First   time.Time `json:"first"`
	At      time.Time `json:"at"`    // time of the last one
	Count   int       `json:"count"` // how often
	Code    int       `json:"code"`
	Method  string    `json:"method"`            // of the last one, like the path
	Path    string    `json:"path"`              // without the query
	Various bool      `json:"various,omitempty"` // earlier requests had other methods or paths
	Actor   string    `json:"actor,omitempty"`   // "": unknown
	From    string    `json:"from"`              // its address
	Error   string    `json:"error"`             // of the last one
}

// deniedLog is the last rejected requests, oldest first. It is safe for concurrent use.
type deniedLog struct {
	mu   sync.Mutex
	list []DeniedRequest
}

const (
	maxDenied     = 100 // entries
	maxDeniedPath = 120 // in bytes
)

// deniedCodes are the statuses that operators want to see.
var deniedCodes = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests}

func (c *call) logDenied(code int, text string) {
	if slices.Contains(deniedCodes, code) {
		c.addDenied(code, text)
	}
}

// addDenied records a rejected request for operators.
func (c *call) addDenied(code int, text string) {
	from, _, err := net.SplitHostPort(c.r.RemoteAddr)
	if err != nil {
		from = ""
	}
	path, now := c.r.URL.EscapedPath(), time.Now().UTC()
	c.denied.add(DeniedRequest{
		First: now, At: now, Count: 1, Code: code, Method: c.r.Method[:min(len(c.r.Method), 16)], Path: path[:min(len(path), maxDeniedPath)],
		Actor: c.actor.ID, From: from, Error: text,
	})
}

// add records a request. Repeated ones do not displace the others.
func (r *deniedLog) add(one DeniedRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(o DeniedRequest) bool { return o.isLike(one) })
	switch {
	case i >= 0:
		old := r.list[i]
		one.First, one.Count = old.First, old.Count+1
		one.Various = old.Various || old.Method != one.Method || old.Path != one.Path
		r.list = slices.Delete(r.list, i, i+1)
	case len(r.list) >= maxDenied:
		r.list = slices.Delete(r.list, 0, 1)
	}
	r.list = append(r.list, one)
}

// isLike reports whether two requests have the same caller and the same reason. The reason
// ignores numbers, such as the seconds to wait.
func (r DeniedRequest) isLike(o DeniedRequest) bool {
	return r.Code == o.Code && r.Actor == o.Actor && r.From == o.From && withoutDigits(r.Error) == withoutDigits(o.Error)
}

// withoutDigits removes the digits of a text.
func withoutDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// DeniedRequests returns the last rejected requests, the newest first. They contain no secret:
// neither keys nor queries.
func (d *Server) DeniedRequests() []DeniedRequest {
	d.denied.mu.Lock()
	defer d.denied.mu.Unlock()
	list := append([]DeniedRequest{}, d.denied.list...)
	slices.Reverse(list)
	return list
}
