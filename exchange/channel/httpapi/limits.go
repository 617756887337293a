package httpapi

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
)

// Rate is what one client may ask for.
type Rate struct {
	Requests float64 `yaml:"requests"` // of one key, a second, in the long run
	Burst    int     `yaml:"burst"`    // of one key, at once

	// Limits of connections from other machines. 0 means what this machine can carry.
	// The exchange counts long polls and event streams apart from all others.
	Connections    int `yaml:"connections"`     // busy ones of one address
	AllConnections int `yaml:"all_connections"` // busy ones of all addresses
	Waiting        int `yaml:"waiting"`         // polls and streams of one address
	AllWaiting     int `yaml:"all_waiting"`     // polls and streams of all addresses
}

// DefaultRate is far above what an executor or a busy agent needs, and below
// what keeps a small board from its other work.
func DefaultRate() Rate { return Rate{Requests: 200, Burst: 1000} }

// Validate tells every setting that cannot be.
func (r Rate) Validate() error {
	var errs []error
	if !(r.Requests >= 0.1 && r.Requests <= 1e6) { // NaN is neither
		errs = append(errs, fmt.Errorf("requests: %v is not from 0.1 to 1000000 a second", r.Requests))
	}
	if r.Burst < 1 {
		errs = append(errs, fmt.Errorf("burst: %d is too few; write 1 or more", r.Burst))
	}
	for _, limit := range []struct {
		name string
		n    int
	}{{"connections", r.Connections}, {"all_connections", r.AllConnections}, {"waiting", r.Waiting}, {"all_waiting", r.AllWaiting}} {
		if limit.n < 4 && limit.n != 0 { // an executor needs two, and as many while it comes back
			errs = append(errs, fmt.Errorf("%s: %d is too few; write 4 or more, or 0 to derive it from memory and open files", limit.name, limit.n))
		}
	}
	return errors.Join(errs...)
}

// limits count what each actor asks for.
type limits struct {
	rate Rate

	mu       sync.Mutex
	limiters map[string]*rate.Limiter // by actor: one for each that has a key and has come
}

// spend counts a request, or tells after what time there may be another one.
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

// spendRate counts this request. The operator on this machine is never kept out.
func (c *caller) spendRate(who exchange.Actor) error {
	if who.Has(exchange.Operator) && loopback(c.r.RemoteAddr) && !c.isProxied() || slices.Contains(c.cfg.Unlimited, c.r.URL.EscapedPath()) {
		return nil
	}
	wait := c.limits.spend(who.ID)
	if wait <= 0 {
		return nil
	}
	return c.tooMany(wait, "too many requests with this key")
}

// tooMany refuses with 429 and Retry-After in whole seconds.
func (c *transport) tooMany(wait time.Duration, what string) error {
	seconds := int(math.Ceil(wait.Seconds()))
	c.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return &httpError{http.StatusTooManyRequests, fmt.Sprintf("%s; try again in %d s", what, seconds)}
}

// bodyGap is how long nothing may come of a body.
const bodyGap = 15 * time.Second

// steadyBody is a body that has to keep coming.
type steadyBody struct {
	io.ReadCloser
	rc  *http.ResponseController
	end time.Time // it has to be here by then
}

func (s *steadyBody) Read(p []byte) (int, error) {
	next := time.Now().Add(bodyGap)
	if next.After(s.end) {
		next = s.end
	}
	_ = s.rc.SetReadDeadline(next) // a test's writer has none
	n, err := s.ReadCloser.Read(p)
	if err == io.EOF {
		_ = s.rc.SetReadDeadline(s.end) // the server reads on, to notice when the client goes
	}
	return n, err
}

// How long, and how many bytes of, a body that is too large is thrown away after
// the answer. Most clients send all of it before they read, and a connection that
// ends under them tells them nothing.
const (
	lingerTime  = bodyGap
	lingerBytes = 16 << 20
)

// linger sends the answer, and throws away what comes.
func linger(rc *http.ResponseController, body io.Reader) {
	if errors.Join(rc.Flush(), rc.SetReadDeadline(time.Now().Add(lingerTime))) == nil {
		_, _ = io.CopyN(io.Discard, body, lingerBytes)
	}
}
