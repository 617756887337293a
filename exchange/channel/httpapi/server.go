// Package httpapi is the HTTP API of an exchange: the paths that existing MESS clients know, a
// path for any MESS message, events, and attachments. It translates between HTTP and messages
// to the exchange.
//
// A request goes through transport, caller and requestBody to a handler of call (routes.go).
package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/access"
	"github.com/messkit/messkit/exchange/channel/httpapi/connection"
	"github.com/messkit/messkit/exchange/channel/httpapi/measure"
	"github.com/messkit/messkit/exchange/channel/httpapi/once"
	"github.com/messkit/messkit/exchange/history"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/exchange/live"
	"github.com/messkit/messkit/internal/metrics"
	"github.com/messkit/messkit/internal/resources"
)

// Config is the settings of a server.
type Config struct {
	EnrollmentCode string   // code for registration; "": only local processes of the same user register
	Hosts          []string // names of the server in the Host header, in addition to addresses and localhost
	Origins        []string // origins of other pages that may read responses (CORS); "*": all
	// EnrollmentCapabilities lists the capabilities that executors may register with
	// EnrollmentCode. An empty list allows all.
	EnrollmentCapabilities []string

	MaxBody int64  // limit of a request body, in bytes; 0: 10 MB
	Rate    Rate   // limits of one client; zero: DefaultRate
	Version string // of the program, for /health
	// Home is the home of the exchange. nil: the server makes its own one.
	Home *home.Home

	// TLS is the TLS configuration with its certificates. nil means plain text.
	TLS *tls.Config

	// MountedHandlers serve paths of other channels, after authentication.
	MountedHandlers map[string]MountedHandler

	// Pages serve paths without authentication.
	Pages map[string]http.Handler
	// SessionKey returns the key with which a browser has signed in, or "". nil means that no
	// browser signs in.
	SessionKey func(*http.Request) string
	// SignedInByPerson reports whether a person has signed that browser in, and not a program
	// that holds the key. If it is nil, the server does not know that of any session.
	SignedInByPerson func(*http.Request) bool
	// WatchSession calls end, at most once, when somebody signs the browser out. stop ends the watch, and
	// may be called twice. Without WatchSession a session ends only with its key.
	WatchSession func(r *http.Request, end func()) (stop func())
	// ModelPaths has the mounted paths that models use. The server calls ModelSeen, at most once a
	// minute, when a local process of the exchange's user uses one. ModelSeen may be nil.
	ModelPaths []string
	ModelSeen  func()
	// Unlimited has the mounted paths without a rate limit, such as a stop.
	Unlimited []string
	// PublicHandlers serve other channels, by the prefix of their paths. They authenticate
	// their clients themselves.
	PublicHandlers map[string]http.Handler
	// Health returns additional fields of /health. It may be nil.
	Health func() map[string]any

	// Status returns the status of the program for operators, as a value for JSON. nil means
	// that the path does not exist.
	Status func() any
	// Metrics writes the metrics of the program beside those of the exchange and of this server. It
	// may be nil.
	Metrics func(*metrics.Text)
	// Unready returns the reasons why the program cannot serve now what it should. They contain no
	// secret, because everybody may read them. nil asks the exchange alone.
	Unready func(context.Context) []string
	// Webhooks returns the delivery log that an actor may see, as a value for JSON. nil means
	// that the path does not exist.
	Webhooks func(exchange.Actor) any
	// History returns the readings of a device from a time until another one, and the step between
	// two points. nil means that the path does not exist.
	History func(executor, device string, from, to time.Time) (step time.Duration, list []history.Series, err error)
	// Live is the executor in this process, for the live pictures of its cameras. It may be nil.
	Live live.Source
	// Map reads the map of a device of the executor in this process. It may be nil.
	Map home.MapFunc
	// Import stores a thread of another exchange, with its files by name: those of a folder, or
	// {ref}.messe-af.yaml alone. nil means that the exchange has no folder.
	Import func(ref string, files map[string][]byte) error
	// Copy is for an exchange whose threads are a copy of those of a site; nil for every other one.
	Copy *Copy
	// FitImage shrinks an image to a size such as 500KB, and returns its media type. nil means
	// that images stay as they are.
	FitImage func(ctx context.Context, picture []byte, size string) (data []byte, mimeType string, err error)
}

// Copy is what a server does otherwise for a copy of the threads of a site.
type Copy struct {
	// As returns who an actor is in the threads.
	As func(exchange.Actor) exchange.Actor
	// Check returns an error for a path that has no use with a copy.
	Check func(method, path string) error
	// Describe sets the headers that say how old the copy is.
	Describe func(http.Header)
}

// channel is the name of the HTTP API in threads.
const channel = "http"

// defaultMaxBody is the limit that existing clients expect.
const defaultMaxBody = 10 << 20

// Server serves an exchange over HTTP. It is safe for concurrent use.
type Server struct {
	x    *exchange.Exchange
	keys *keys.Keys
	home *home.Home
	live *live.Pictures
	cfg  Config
	log  *slog.Logger

	guessing   sync.Mutex    // serializes the attempts with an enrollment code
	guesses    *rate.Limiter // limits wrong enrollment codes
	limits     *limits
	conns      *connection.Counts
	requests   *measure.Requests
	streams    sync.WaitGroup // on hijacked connections
	denied     deniedLog
	answers    once.Answers
	modelNoted atomic.Int64 // time of the last call of ModelSeen, in ns
}

// New makes a server.
func New(x *exchange.Exchange, k *keys.Keys, cfg Config, log *slog.Logger) *Server {
	cfg.MaxBody = cmp.Or(cfg.MaxBody, defaultMaxBody)
	if cfg.Rate == (Rate{}) {
		cfg.Rate = DefaultRate()
	}
	cfg.Rate = cfg.Rate.Filled(resources.Of())
	if cfg.Home == nil {
		cfg.Home = home.New(x, time.Now)
	}
	return &Server{
		x: x, keys: k, home: cfg.Home, live: live.New(x, cfg.Home, cfg.Live), cfg: cfg, log: log, guesses: rate.NewLimiter(rate.Every(guessEvery), guessBurst),
		limits: &limits{rate: cfg.Rate, limiters: map[string]*rate.Limiter{}}, conns: connection.NewCounts(cfg.Rate.connectionLimits()), requests: measure.New(),
	}
}

// Time limits of a connection. An event stream has none, and sets a deadline for each write.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	answerTime  = 2 * time.Minute  // for reading the body and writing the response
	refusalTime = 10 * time.Second // for writing the error after a timeout
	workTime    = 30 * time.Second // for one message at the exchange
	endTime     = 5 * time.Second  // for requests under way when the program ends
	maxHeader   = 16 << 10
)

// running is what a request needs of Run.
type running struct {
	ctx      context.Context // ends with Run
	returned *connection.Returned
}

// serverContextKey is the key of *running in the context of a request.
type serverContextKey struct{}

// Run serves until ctx ends. Then streams and polls end at once, and other requests have a few
// seconds to finish.
func (d *Server) Run(ctx context.Context, l net.Listener) error {
	g, gctx := errgroup.WithContext(ctx)
	returned := connection.NewReturned(l.Addr())
	base := context.WithValue(context.WithoutCancel(ctx), serverContextKey{}, &running{gctx, returned})
	s := &http.Server{
		Handler: d.Handler(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ConnContext: connection.WithConn, ConnState: connection.MarkIdle,
		ErrorLog:  slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
		Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true) // the limits count connections, and a connection of HTTP/2 has many streams
	for _, from := range []net.Listener{d.conns.Listen(l, d.cfg.TLS), returned} {
		g.Go(func() error {
			if err := s.Serve(from); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
	}
	g.Go(func() error {
		<-gctx.Done()
		last, cancel := context.WithTimeout(base, endTime)
		defer cancel()
		if err := s.Shutdown(last); err != nil {
			return s.Close()
		}
		return nil
	})
	err := g.Wait()
	d.streams.Wait()
	return err
}

// MountedHandler serves paths of another channel. The server authenticates and counts its callers,
// and does not pass on their keys.
type MountedHandler interface {
	Serve(actor exchange.Actor, w http.ResponseWriter, r *http.Request)
}

// RuledHandler is a MountedHandler whose paths have rules in package access, which it checks.
type RuledHandler interface{ HasRules() }

// RejectionExplainer is a MountedHandler that explains its errors to operators. RejectionReason
// returns "" if they need not know.
type RejectionExplainer interface {
	RejectionReason(r *http.Request, code int) string
}

// serveMounted calls a mounted handler. Its context ends with the key of the caller or with
// Run. It has no time limit.
func (c *call) serveMounted(g MountedHandler) error {
	if err := c.checkOrigin(); err != nil {
		return err
	}
	if err := c.authenticate(c.x.ID()); err != nil {
		return err
	}
	if _, ok := g.(RuledHandler); !ok {
		if err := access.CheckOther(c.actor); err != nil {
			return err
		}
	}
	if c.r.Method == http.MethodGet && strings.Contains(c.r.Header.Get("Accept"), "text/event-stream") {
		if err := c.moveToPool(true); err != nil {
			return err
		}
	}
	if c.r.ContentLength > c.cfg.MaxBody {
		return c.tooLarge(c.cfg.MaxBody)
	}
	data, err := io.ReadAll(c.r.Body)
	if err != nil {
		return c.bodyError(err)
	}
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Time{}) // a stream has no limit; the writer of a test has none
	ctx, cancel := c.waitContext()
	defer cancel()
	if c.waits {
		defer c.requests.OpenStream()()
	}
	r := c.r.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(data))
	r.Header.Del("Authorization")
	r = r.WithContext(exchange.WithProof(r.Context(), c.proof()))
	serve := func() error {
		w := &errorWriter{streamWriter: streamWriter{c.w, rc}}
		g.Serve(c.actor, w, r)
		w.finish(c)
		if e, ok := g.(RejectionExplainer); ok && w.status >= http.StatusBadRequest {
			if reason := e.RejectionReason(r, w.status); reason != "" {
				c.addDenied(w.status, reason)
			}
		}
		return nil
	}
	if c.r.Method != http.MethodPost || slices.Contains(c.cfg.Unlimited, c.route) { // a stop waits for no other request
		return serve()
	}
	return c.carryOutOnce(data, serve)
}

// errorWriter turns the plain-text errors of a mounted handler into JSON.
type errorWriter struct {
	streamWriter
	status int    // of the response; 0 before it
	code   int    // of a plain-text error; 0 for none
	text   []byte // of the error
}

// maxWorded is the limit of a repeated error, in bytes.
const maxWorded = 1000

// WriteHeader holds back the status of an error in plain text.
func (w *errorWriter) WriteHeader(code int) {
	w.status = cmp.Or(w.status, code)
	kind := w.Header().Get("Content-Type")
	if code >= http.StatusBadRequest && (kind == "" || strings.HasPrefix(kind, "text/plain")) && w.code == 0 {
		w.code = code
		return
	}
	w.streamWriter.WriteHeader(code)
}

func (w *errorWriter) Write(p []byte) (int, error) {
	if w.code == 0 {
		return w.streamWriter.Write(p)
	}
	w.text = append(w.text, p[:min(len(p), maxWorded-len(w.text))]...)
	return len(p), nil
}

// Flush sends the written bytes, except an error that is not complete.
func (w *errorWriter) Flush() {
	if w.code == 0 {
		w.streamWriter.Flush()
	}
}

// Unwrap implements the interface of http.ResponseController.
func (w *errorWriter) Unwrap() http.ResponseWriter { return &w.streamWriter }

func (w *errorWriter) finish(c *call) {
	if w.code == 0 {
		return
	}
	text := strings.TrimSpace(strings.ToValidUTF8(string(w.text), ""))
	if text == "" {
		text = strings.ToLower(http.StatusText(w.code))
	}
	w.Header().Del("Content-Length")
	c.writeError(&httpError{w.code, text})
}

// publicHandler returns the public handler of a path, or nil.
func (c *call) publicHandler() http.Handler {
	for prefix, v := range c.cfg.PublicHandlers {
		if strings.HasPrefix(c.r.URL.EscapedPath(), prefix) {
			c.route = prefix
			return v
		}
	}
	return nil
}

// servePublic calls a public handler, with the usual time limit.
func (c *call) servePublic(v http.Handler) error {
	if err := c.checkOrigin(); err != nil {
		return err
	}
	v.ServeHTTP(c.w, c.r)
	return nil
}

// checkOrigin rejects foreign web pages.
func (c *transport) checkOrigin() error {
	origin := c.r.Header.Get("Origin")
	if !c.isForeignPage() || slices.Contains(c.cfg.Origins, origin) || slices.Contains(c.cfg.Origins, "*") {
		return nil
	}
	return &httpError{http.StatusForbidden, "pages from " + truncate(origin) + " may not use this; configure cors"}
}

// maxShown is the limit of a header in an error, in bytes.
const maxShown = 100

func truncate(s string) string { return s[:min(len(s), maxShown)] }

// streamWriter is a response with a time limit for each write.
type streamWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Unwrap implements the interface of http.ResponseController.
func (u *streamWriter) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func (u *streamWriter) Write(p []byte) (int, error) {
	u.extendDeadline()
	return u.ResponseWriter.Write(p)
}

// Flush sends the written bytes.
func (u *streamWriter) Flush() {
	u.extendDeadline()
	_ = u.rc.Flush() // the client has disconnected if it fails
}

func (u *streamWriter) extendDeadline() { _ = u.rc.SetWriteDeadline(time.Now().Add(writeTime)) }
