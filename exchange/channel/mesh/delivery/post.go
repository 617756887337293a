// Package delivery sends MESH messages to peers, with retries, circuit breakers and health checks.
// It does not know the exchange, and does not read the messages.
package delivery

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange/channel/mesh/state"
	"github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/internal/safehttp"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/internal/wait"
)

// Message is a message to send.
type Message struct {
	ID        string
	To        string // name of the peer
	Path      string // path at the peer, like /hooks/arm_01; unused with URL
	URL       string // address for an answer
	Token     secret.Text
	Body      []byte // of the HTTP request
	Signature string // value of the signature header, "" for none
	Priority  string // of package wire
	Alert     bool   // no health check delays it
	Expires   time.Time
	Once      bool // one attempt only
}

// Outcome is the result of a delivery.
type Outcome struct {
	Status   string // sent, expired, interrupted, circuit_open, client_error_404, all_retries_exhausted
	Code     int    // status code of the last answer, 0 for none
	Attempts int
	Err      string // error of the last attempt
}

// The values of Outcome.Status.
const (
	Sent        = "sent"
	Expired     = "expired"
	Interrupted = "interrupted" // the next run sends it
	CircuitOpen = "circuit_open"
	Exhausted   = "all_retries_exhausted"
)

// Config configures a Post.
type Config struct {
	Version    string
	RetryAfter bool // wait and try again after an answer 429
	// Client makes the client for a peer; nil: Peer.Client.
	Client func(p Peer, total time.Duration) *http.Client
}

// Post sends messages. It is safe for concurrent use.
type Post struct {
	cfg   Config
	store *state.Store
	log   *slog.Logger

	mu    sync.Mutex
	lines map[string]*line
}

// line is the connection to one peer.
type line struct {
	peer   Peer
	client *http.Client
	normal chan struct{} // a slot for each message in progress
	low    chan struct{}

	mu     sync.Mutex
	looked time.Time
	there  bool
}

// gaps are the waits before the attempts (MESH 1.0 section 8, "Retry Strategy").
var gaps = [...]time.Duration{0, 5 * time.Second, 15 * time.Second, 60 * time.Second}

const (
	atOnce     = 4 // concurrent messages to one peer; urgent ones need no slot
	healthTime = 2 * time.Second
	healthFor  = 30 * time.Second // how long a health check is valid
	maxPause   = 5 * time.Minute  // longest Retry-After
)

// New makes a Post for some peers.
func New(peers []Peer, cfg Config, store *state.Store, log *slog.Logger) *Post {
	if cfg.Client == nil {
		cfg.Client = Peer.Client
	}
	p := &Post{cfg: cfg, store: store, log: log, lines: map[string]*line{}}
	p.Peers(peers)
	return p
}

// Peers replaces the peers. Messages in progress continue unchanged.
func (p *Post) Peers(peers []Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := p.lines
	p.lines = map[string]*line{}
	for _, one := range peers {
		l := was[one.Name]
		if l == nil || !reflect.DeepEqual(l.peer, one) {
			l = &line{peer: one, client: p.cfg.Client(one, totalTime), normal: make(chan struct{}, atOnce), low: make(chan struct{}, 1)}
		}
		p.lines[one.Name] = l
	}
}

func (p *Post) line(to string) *line {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[to]
}

// Send sends a message, and returns after the delivery or its failure.
func (p *Post) Send(ctx context.Context, m Message) Outcome {
	l := p.line(m.To)
	if l == nil {
		return Outcome{Status: Exhausted, Err: "there is no agent " + strconv.Quote(m.To)}
	}
	ok, probe := p.store.Enter(m.To)
	if !ok {
		return Outcome{Status: CircuitOpen, Err: "the last attempts have failed; the agent tries again soon"}
	}
	if probe {
		defer p.store.Leave(m.To)
	}
	leave, ok := l.enter(ctx, m.Priority)
	if !ok {
		return Outcome{Status: Interrupted}
	}
	defer leave()
	var out Outcome
	var pause time.Duration
	for n, gap := range gaps {
		if n > 0 && (m.Once || probe) {
			break
		}
		end := time.Until(m.Expires)
		if end < max(gap, pause) && n > 0 || end < 0 {
			if wait.For(ctx, min(end, max(gap, pause))); ctx.Err() == nil {
				out.Status = Expired
				return out
			}
		}
		if !wait.For(ctx, max(gap, pause)) {
			return Outcome{Status: Interrupted, Attempts: out.Attempts}
		}
		if is := p.line(m.To); is != nil {
			l = is // its token may have changed
		}
		out.Attempts++
		var code int
		var err error
		code, pause, err = p.attempt(ctx, l, m)
		if ctx.Err() != nil && err != nil {
			return Outcome{Status: Interrupted, Attempts: out.Attempts}
		}
		if out.Code = code; p.judged(m.To, code, err, &out) {
			return out
		}
		p.log.Debug("mesh: message not delivered", "to", m.To, "id", m.ID, "err", out.Err)
	}
	out.Status = Exhausted
	return out
}

// judged records the result of an attempt, and reports whether it was the last.
func (p *Post) judged(peer string, code int, err error, out *Outcome) (last bool) {
	switch {
	case err != nil:
		out.Err = err.Error()
	case code/100 == 2:
		p.store.Succeeded(peer)
		out.Status, out.Err = Sent, ""
		return true
	case code/100 == 4: // the peer is reachable and rejects the message
		p.store.Succeeded(peer)
		out.Err = fmt.Sprintf("it answers %d", code)
		out.Status = fmt.Sprintf("client_error_%d", code)
		return !p.cfg.RetryAfter || code != http.StatusTooManyRequests
	default:
		out.Err = fmt.Sprintf("it answers %d", code)
		if code/100 == 3 {
			out.Err += "; the agent follows no redirects"
		}
	}
	p.store.Failed(peer)
	return false
}

// enter waits for a slot. Urgent messages need none.
func (l *line) enter(ctx context.Context, priority string) (leave func(), ok bool) {
	places := l.normal
	switch priority {
	case wire.High:
		return func() {}, ctx.Err() == nil
	case wire.Low:
		places = l.low
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, true
	case <-ctx.Done():
		return nil, false
	}
}

// attempt sends a message once. pause is how long the peer wants no further message.
func (p *Post) attempt(ctx context.Context, l *line, m Message) (code int, pause time.Duration, _ error) {
	if !m.Alert && m.Priority != wire.High && !p.healthy(ctx, l) {
		return 0, 0, errors.New("it does not answer health checks")
	}
	address := m.URL
	if address == "" {
		base, err := Base(l.peer.URL)
		if err != nil {
			return 0, 0, err
		}
		address = base.String() + m.Path
	}
	token := cmp.Or(m.Token, l.peer.Token)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(m.Body))
	if err != nil {
		return 0, 0, errors.New("there is no such address")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "messkit/"+p.cfg.Version)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+string(token))
	}
	if m.Signature != "" {
		req.Header.Set("X-MESH-Signature", m.Signature)
	}
	res, err := safehttp.Send(l.client, req)
	if err != nil {
		l.forget()
		return 0, 0, err
	}
	return res.StatusCode, p.asked(res), nil
}

// asked returns how long the peer wants no further message.
func (p *Post) asked(res *http.Response) time.Duration {
	n, err := strconv.Atoi(res.Header.Get("Retry-After"))
	if !p.cfg.RetryAfter || err != nil || n < 0 || res.StatusCode != http.StatusTooManyRequests && res.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	return min(time.Duration(n)*time.Second, maxPause)
}

// healthy reports whether a peer is reachable. A check counts for 30 s.
func (p *Post) healthy(ctx context.Context, l *line) bool {
	l.mu.Lock()
	fresh, there := time.Since(l.looked) < healthFor, l.there
	l.mu.Unlock()
	if fresh && there {
		return true
	}
	return p.Look(ctx, l.peer.Name)
}

// Look checks the health of a peer. Every answer counts, except those of a gateway without the
// peer.
func (p *Post) Look(ctx context.Context, peer string) bool {
	l := p.line(peer)
	if l == nil {
		return false
	}
	base, err := Base(l.peer.URL)
	if err != nil {
		return false
	}
	asked, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	began := time.Now()
	code := 0
	req, err := http.NewRequestWithContext(asked, http.MethodGet, base.String()+"/health", nil)
	if err == nil {
		var res *http.Response
		if res, err = safehttp.Send(l.client, req); err == nil {
			code = res.StatusCode
		}
	}
	if ctx.Err() != nil {
		return false
	}
	down := code == 0 || code == http.StatusBadGateway || code == http.StatusServiceUnavailable || code == http.StatusGatewayTimeout
	port, _ := strconv.Atoi(base.Port())
	p.store.Probed(peer, state.Health{IP: base.Hostname(), Port: port, HTTPCode: fmt.Sprintf("%03d", code), LatencyMS: time.Since(began).Milliseconds(), Reachable: !down})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked, l.there = time.Now(), !down
	return !down
}

// forget makes the next message check the health of the peer.
func (l *line) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.looked = time.Time{}
}
