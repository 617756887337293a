// Package httpapi is the HTTP door of an exchange: the paths that clients in the
// field know, a raw entrance for MESS messages, events, and attachments. It
// translates and does nothing else.
package httpapi

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/resources"
)

// Config of a door.
type Config struct {
	EnrollmentCode string   // code with which others register; "": only this user of this machine
	Hosts          []string // names by which the door may be called, beside addresses and localhost
	Origins        []string // of pages elsewhere that may read the answers (CORS); "*": all
	// EnrollmentCapabilities are those that executors may register with that code; none: all.
	EnrollmentCapabilities []string

	MaxBody int64  // bytes of one request's body; 0: 10 MB
	Rate    Rate   // what one client may; zero: DefaultRate
	Version string // of the program, for /health

	// TLS is how connections are secured; nil: in plain text. Its certificates are
	// there.
	TLS *tls.Config

	// MountedHandlers are other doors on the same port, by their path.
	MountedHandlers map[string]MountedHandler

	// Pages are shown without a key, by their path.
	Pages map[string]http.Handler
	// SessionKey is the key with which a browser has signed in, "" if it has not; nil:
	// none does.
	SessionKey func(*http.Request) string
	// SignedInByPerson reports whether it was a person who signed that browser in, and not a
	// program that holds the key; nil: it is not known.
	SignedInByPerson func(*http.Request) bool
	// ModelPaths are paths of guests that models use, and Model is called, once a minute
	// at most, when a process of the exchange's own user uses one; nil: nothing is.
	ModelPaths []string
	ModelSeen  func()
	// Unlimited are paths of guests that no limit keeps anybody from: a stop.
	Unlimited []string
	// PublicHandlers are other doors on the same port that let in whom they know
	// themselves, by the path that theirs begin with.
	PublicHandlers map[string]http.Handler
	// Health is what /health says beside the usual; nil: nothing.
	Health func() map[string]any

	// Status is how the program stands, for operators; it becomes JSON. nil: the
	// path is not there.
	Status func() any
	// Webhooks is what has become of notices, as far as an actor may know; it
	// becomes JSON. nil: the path is not there.
	Webhooks func(exchange.Actor) any
	// Import takes a thread in that was written elsewhere, with its files by name:
	// those of a folder, or {ref}.messe-af.yaml alone. nil: there is nowhere to put
	// it.
	Import func(ref string, files map[string][]byte) error
	// FitImage makes a picture as small as a size such as 500KB says, and tells its media
	// type; nil: pictures stay as they are.
	FitImage func(ctx context.Context, picture []byte, size string) (data []byte, mimeType string, err error)
}

// channel is the name of this door in threads.
const channel = "http"

// defaultMaxBody is the limit that clients in the field know.
const defaultMaxBody = 10 << 20

// Server serves an exchange over HTTP.
type Server struct {
	x    *exchange.Exchange
	keys *keys.Keys
	cfg  Config
	log  *slog.Logger

	guessing   sync.Mutex    // of the enrolment code, by one at a time
	guesses    *rate.Limiter // that were wrong
	limits     *limits
	conns      *connections
	streams    sync.WaitGroup // on connections that were taken over
	denied     deniedLog
	modelNoted atomic.Int64 // when a model of this user was noted last, in ns
}

// New makes a door.
func New(x *exchange.Exchange, k *keys.Keys, cfg Config, log *slog.Logger) *Server {
	if cfg.MaxBody == 0 {
		cfg.MaxBody = defaultMaxBody
	}
	if cfg.Rate == (Rate{}) {
		cfg.Rate = DefaultRate()
	}
	cfg.Rate = cfg.Rate.Filled(resources.Of())
	return &Server{
		x: x, keys: k, cfg: cfg, log: log, guesses: rate.NewLimiter(rate.Every(guessEvery), guessBurst),
		limits: &limits{rate: cfg.Rate, limiters: map[string]*rate.Limiter{}}, conns: newConnections(cfg.Rate),
	}
}

// Time limits of a connection. A stream of events has none: it sets a deadline
// for each thing it writes.
const (
	headerTime  = 10 * time.Second
	idleTime    = 2 * time.Minute
	answerTime  = 2 * time.Minute  // reading the body and writing the answer
	refusalTime = 10 * time.Second // writing that it took too long
	workTime    = 30 * time.Second // what the exchange may take for one message
	endTime     = 5 * time.Second  // what is under way may still take when the program ends
	maxHeader   = 16 << 10
)

// serverContextKey is the key under which a request finds the context that ends when
// the door closes.
type serverContextKey struct{}

// Run serves until ctx ends; then streams and polls end at once, and what is
// under way is finished within some seconds.
func (d *Server) Run(ctx context.Context, l net.Listener) error {
	g, gctx := errgroup.WithContext(ctx)
	base := context.WithValue(context.WithoutCancel(ctx), serverContextKey{}, gctx)
	s := &http.Server{
		Handler: d.Handler(), ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return base },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
		ConnState: markIdle,
		ErrorLog:  slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
		Protocols: new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true) // its limits are by connection; of HTTP/2 one has many streams
	var port net.Listener = &limitedListener{l, d.conns}
	if d.cfg.TLS != nil {
		port = &tlsListener{port, d.cfg.TLS}
	}
	g.Go(func() error {
		if err := s.Serve(port); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
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
