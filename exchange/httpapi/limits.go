package httpapi

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
)

// Rate is what one client may ask for.
type Rate struct {
	Requests    float64 `yaml:"requests"`    // of one key, a second, in the long run
	Burst       int     `yaml:"burst"`       // of one key, at once
	Connections int     `yaml:"connections"` // of one address elsewhere, at a time
}

// DefaultRate is far above what an executor or a busy agent needs, and below
// what keeps a small board from its other work.
func DefaultRate() Rate { return Rate{Requests: 200, Burst: 1000, Connections: 64} }

// Validate tells every setting that cannot be.
func (r Rate) Validate() error {
	var errs []error
	if !(r.Requests >= 0.1 && r.Requests <= 1e6) { // NaN is neither
		errs = append(errs, fmt.Errorf("requests: %v is not from 0.1 to 1000000 a second", r.Requests))
	}
	if r.Burst < 1 {
		errs = append(errs, fmt.Errorf("burst: %d is too few; write 1 or more", r.Burst))
	}
	if r.Connections < 4 { // an executor needs two, and as many while it comes back
		errs = append(errs, fmt.Errorf("connections: %d is too few; write 4 or more", r.Connections))
	}
	return errors.Join(errs...)
}

// limits count what each actor asks for.
type limits struct {
	rate Rate

	mu sync.Mutex
	of map[string]*rate.Limiter // by actor: one for each that has a key and has come
}

// spend counts a request, or tells after what time there may be another one.
func (l *limits) spend(actor string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.of[actor]
	if one == nil {
		one = rate.NewLimiter(rate.Limit(l.rate.Requests), l.rate.Burst)
		l.of[actor] = one
	}
	if one.Allow() {
		return 0
	}
	return time.Duration((1 - one.Tokens()) / l.rate.Requests * float64(time.Second))
}

// spend counts this request. The operator on this machine is never kept out.
func (c *call) spend(who exchange.Actor) error {
	if who.Has(exchange.Operator) && loopback(c.r.RemoteAddr) && !c.passedOn() || slices.Contains(c.cfg.Uncounted, c.r.URL.EscapedPath()) {
		return nil
	}
	wait := c.limits.spend(who.ID)
	if wait <= 0 {
		return nil
	}
	return c.tooMany(wait, "too many requests with this key")
}

// tooMany refuses with 429 and Retry-After in whole seconds.
func (c *call) tooMany(wait time.Duration, what string) error {
	seconds := int(math.Ceil(wait.Seconds()))
	c.w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return &httpError{http.StatusTooManyRequests, fmt.Sprintf("%s; try again in %d s", what, seconds)}
}

// bodyGap is how long nothing may come of a body.
const bodyGap = 15 * time.Second

// steady is a body that has to keep coming.
type steady struct {
	io.ReadCloser
	rc  *http.ResponseController
	end time.Time // it has to be here by then
}

func (s *steady) Read(p []byte) (int, error) {
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

// elsewhereTimes is how many addresses elsewhere may use all their connections
// before nobody else from elsewhere gets one.
const elsewhereTimes = 16

// gate is a listener that closes connections beyond what one address, and all
// addresses elsewhere together, may have. This machine has no limit.
type gate struct {
	net.Listener
	each int

	mu  sync.Mutex
	of  map[netip.Prefix]int
	all int
}

func newGate(l net.Listener, each int) *gate {
	return &gate{Listener: l, each: each, of: map[netip.Prefix]int{}}
}

// Accept waits for a connection that may be.
func (g *gate) Accept() (net.Conn, error) {
	for {
		conn, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from, ok := origin(conn.RemoteAddr())
		if !ok {
			return &translated{Conn: conn}, nil
		}
		if g.enter(from) {
			return &counted{translated: translated{Conn: conn}, leave: sync.OnceFunc(func() { g.leave(from) })}, nil
		}
		_ = conn.Close() // it has been told nothing yet
	}
}

func (g *gate) enter(from netip.Prefix) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of[from] >= g.each || g.all >= elsewhereTimes*g.each {
		return false
	}
	g.of[from]++
	g.all++
	return true
}

func (g *gate) leave(from netip.Prefix) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.of[from]--; g.of[from] == 0 {
		delete(g.of, from)
	}
}

// origin is where a connection comes from: an address, or of IPv6 the network
// that one house has. ok is false for this machine.
func origin(addr net.Addr) (from netip.Prefix, ok bool) {
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

// counted is a connection that is counted until it is closed.
type counted struct {
	translated
	leave func()
}

// Close ends the connection.
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
