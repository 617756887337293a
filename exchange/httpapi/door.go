// Package httpapi is the HTTP door of an exchange: the paths that clients in the
// field know, a raw entrance for MESS messages, events, and attachments. It
// translates and does nothing else.
package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"golang.org/x/time/rate"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess"
)

// Config of a door.
type Config struct {
	Enrol   string   // code with which others register; "": only from this machine
	Hosts   []string // names by which the door may be called, beside addresses and localhost
	MaxBody int64    // bytes of one request's body; 0: 10 MB
	Version string   // of the program, for /health

	// Status is how the program stands, for operators; it becomes JSON. nil: the
	// path is not there.
	Status func() any
}

// channel is the name of this door in threads.
const channel = "http"

// defaultMaxBody is the limit that clients in the field know.
const defaultMaxBody = 10 << 20

// Door serves an exchange over HTTP.
type Door struct {
	x    *exchange.Exchange
	keys *keys.Keys
	cfg  Config
	log  *slog.Logger

	guesses *rate.Limiter // of the enrolment code
}

// New makes a door.
func New(x *exchange.Exchange, k *keys.Keys, cfg Config, log *slog.Logger) *Door {
	if cfg.MaxBody == 0 {
		cfg.MaxBody = defaultMaxBody
	}
	return &Door{x: x, keys: k, cfg: cfg, log: log, guesses: rate.NewLimiter(rate.Every(guessEvery), guessBurst)}
}

// Handler is the door as one handler.
func (d *Door) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer d.recovered(w, r)
		rc := http.NewResponseController(w)
		deadline := time.Now().Add(answerTime)
		_ = errors.Join(rc.SetReadDeadline(deadline), rc.SetWriteDeadline(deadline)) // a test's writer has none
		r.Body = http.MaxBytesReader(w, r.Body, d.cfg.MaxBody)
		c := &call{Door: d, w: w, r: r}
		c.head()
		if err := c.serve(); err != nil {
			c.fail(err)
		}
	})
}

// recovered makes an answer of a mistake of ours, and a line in the log.
func (d *Door) recovered(w http.ResponseWriter, r *http.Request) {
	p := recover()
	switch {
	case p == nil:
		return
	case p == http.ErrAbortHandler:
		panic(p) // the server ends the connection
	}
	d.log.Error("request crashed", "method", r.Method, "path", r.URL.Path, "err", p, "stack", string(debug.Stack()))
	c := &call{Door: d, w: w, r: r}
	c.json(http.StatusInternalServerError, refusal{Error: "a mistake in the exchange; its log says more"})
}

// call is one request and its answer.
type call struct {
	*Door
	w   http.ResponseWriter
	r   *http.Request
	who exchange.Actor
	key string // that they came with
}

const allMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"

// head sets what every answer has.
func (c *call) head() {
	h := c.w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", allMethods)
	h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, If-None-Match, Last-Event-ID, Range")
	h.Set("Access-Control-Expose-Headers", "ETag, Allow, Content-Range, Content-Disposition, Retry-After")
	h.Set("Cache-Control", "no-store") // a service worker in the field caches API answers otherwise
	h.Set("Vary", "*")
	h.Set("X-Content-Type-Options", "nosniff")
}

func (c *call) health() error {
	c.json(http.StatusOK, map[string]string{
		"status": "ok", "service": "mess-exchange", "version": c.cfg.Version, "exchange_id": c.x.ID(),
	})
	return nil
}

// status tells an operator how the program stands.
func (c *call) status() error {
	if c.cfg.Status == nil {
		return errNoPath
	}
	if !c.who.Has(exchange.Operator) {
		return mess.Refuse(mess.Forbidden, "only an operator may ask how the program stands")
	}
	c.json(http.StatusOK, c.cfg.Status())
	return nil
}
