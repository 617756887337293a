// Package httpapi is the HTTP door of an exchange: the paths that clients in the
// field know, a raw entrance for MESS messages, events, and attachments. It
// translates and does nothing else.
package httpapi

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/internal/resources"
	"github.com/messkit/messkit/mess"
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

// Handler is the door as one handler.
func (d *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		markHandled(r.Context())
		rc := http.NewResponseController(w)
		now := time.Now()
		end := now.Add(answerTime)
		first := end
		sent := r.Body
		if r.ContentLength != 0 {
			first = now.Add(bodyGap)       // what is refused unread is not waited for either
			r = r.WithContext(r.Context()) // net/http looks at the body that it has made, to tell how much of it is left
			r.Body = http.MaxBytesReader(w, &steadyBody{r.Body, rc, end}, d.cfg.MaxBody)
		}
		_ = errors.Join(rc.SetReadDeadline(first), rc.SetWriteDeadline(end.Add(refusalTime))) // a test's writer has none
		if len(r.TransferEncoding) > 0 {
			// The server does not say whether a Content-Length came along, which another
			// one before it may have gone by (RFC 9112 section 6.1).
			w.Header().Set("Connection", "close")
		}
		c := d.newCall(w, r)
		defer c.recoverPanic()
		c.setCommonHeaders()
		err := c.leaveWaitingPool()
		if err == nil {
			err = c.serve()
		}
		if err != nil {
			c.writeError(err)
		}
		if c.large && r.Header.Get("Expect") == "" { // else it waits to hear whether it may send
			linger(rc, sent)
		}
	})
}

// recoverPanic makes an answer of a mistake of ours, and a line in the log.
func (c *call) recoverPanic() {
	p := recover()
	switch {
	case p == nil:
		return
	case p == http.ErrAbortHandler:
		panic(p) // the server ends the connection
	}
	c.log().Error("request crashed", "method", c.r.Method, "path", c.r.URL.Path, "err", p, "stack", string(debug.Stack()))
	c.writeJSON(http.StatusInternalServerError, errorBody{Error: "a mistake in the exchange; its log says more"})
}

// call is one request and its answer.
type call struct {
	*Server
	w   http.ResponseWriter
	r   *http.Request
	id  string // that the answer and the log have
	who exchange.Actor
	key string // that they came with

	session bool // they came with a signed-in browser, not with a key

	large bool // the body is more than is read of it
	yaml  bool // the body says that it is YAML
}

// requestID is the header of the answer under which the log has a request.
const requestID = "X-Request-Id"

func (d *Server) newCall(w http.ResponseWriter, r *http.Request) *call {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	w.Header().Set(requestID, id)
	return &call{Server: d, w: w, r: r, id: id}
}

// log is the door's, with the request's id.
func (c *call) log() *slog.Logger { return c.Server.log.With("request", c.id) }

// commonHeaders is what every answer has. Who adds to a header copies these lists.
var commonHeaders = [...]struct {
	name   string
	values []string
}{
	{"Cache-Control", []string{"no-store"}}, // a service worker in the field caches API answers otherwise
	{"Vary", []string{"*"}},
	{"X-Content-Type-Options", []string{"nosniff"}},
}

// setCommonHeaders sets what every answer has.
func (c *call) setCommonHeaders() {
	h := c.w.Header()
	c.setCORSHeaders()
	for _, one := range commonHeaders {
		h[one.name] = one.values
	}
}

func (c *call) health() error {
	h := map[string]any{"status": "ok"}
	if c.cfg.Health != nil {
		h = c.cfg.Health()
	}
	h["service"], h["version"], h["exchange_id"] = "mess-exchange", c.cfg.Version, c.x.ID()
	c.writeJSON(http.StatusOK, h)
	return nil
}

// webhooks tells what has become of notices.
func (c *call) webhooks() error {
	if c.cfg.Webhooks == nil {
		return errNoPath
	}
	c.writeJSON(http.StatusOK, map[string]any{"deliveries": c.cfg.Webhooks(c.who)})
	return nil
}

// status tells an operator how the program stands.
func (c *call) status() error {
	if c.cfg.Status == nil {
		return errNoPath
	}
	if !c.who.Has(exchange.Operator) {
		return mess.Errorf(mess.Forbidden, "only an operator may ask how the program stands")
	}
	c.writeJSON(http.StatusOK, c.cfg.Status())
	return nil
}
