// Package httpapi is the HTTP door of an exchange: the paths that clients in the
// field know, a raw entrance for MESS messages, events, and attachments. It
// translates and does nothing else.
package httpapi

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
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
}

const (
	allMethods = "GET, HEAD, POST, PUT, PATCH, OPTIONS"
	base       = "/api/v1/exchanges/"
)

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

// serve finds what the path means. Paths are taken as they are: nothing is
// cleaned or redirected. Whoever has no key learns nothing of what is there.
func (c *call) serve() error {
	if err := c.checkHost(); err != nil {
		return err
	}
	if c.r.Method == http.MethodOptions {
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if c.r.URL.Path == "/health" {
		return c.only(c.health, http.MethodGet, http.MethodHead)
	}
	p, ok := segments(c.r.URL)
	if !ok {
		return errNoPath
	}
	if len(p) == 2 && p[0] == c.x.ID() && p[1] == "register" {
		return c.only(c.register, http.MethodPost)
	}
	if err := c.authenticate(p[0]); err != nil {
		return err
	}
	return c.route(p[1:])
}

// segments splits what comes after the base. A slash that is escaped belongs to
// its name, as in the ref of a message.
func segments(u *url.URL) ([]string, bool) {
	rest, ok := strings.CutPrefix(u.EscapedPath(), base)
	if !ok {
		return nil, false
	}
	p := strings.Split(rest, "/")
	for i := range p {
		var err error
		if p[i], err = url.PathUnescape(p[i]); err != nil {
			return nil, false
		}
	}
	return p, true
}

// route serves what lies below an exchange.
func (c *call) route(p []string) error {
	switch {
	case len(p) == 1 && p[0] == "mess":
		return c.only(c.mess, http.MethodPost)
	case len(p) == 1 && p[0] == "stop":
		return c.only(c.stop, http.MethodPost)
	case len(p) == 1 && p[0] == "events":
		return c.only(c.events, http.MethodGet)
	case len(p) == 1 && p[0] == "status" && c.cfg.Status != nil:
		return c.only(c.status, http.MethodGet, http.MethodHead)
	case len(p) == 1 && p[0] == "capabilities":
		return c.only(c.capabilities, http.MethodGet, http.MethodHead)
	case len(p) == 1 && p[0] == "executors":
		return c.only(c.executors, http.MethodGet, http.MethodHead)
	case len(p) == 2 && p[0] == "executors":
		return c.only(func() error { return c.profile(p[1]) }, http.MethodPatch)
	case len(p) >= 1 && p[0] == "requests":
		return c.requests(p[1:])
	}
	return errNoPath
}

// requests serves what lies below requests/.
func (c *call) requests(p []string) error {
	switch {
	case len(p) == 0:
		if c.r.Method == http.MethodPost {
			return c.create()
		}
		return c.only(c.list, http.MethodGet, http.MethodHead, http.MethodPost)
	case len(p) == 1 && p[0] != "":
		if c.r.Method == http.MethodPatch {
			return c.patch(p[0])
		}
		return c.only(func() error { return c.thread(p[0]) }, http.MethodGet, http.MethodHead, http.MethodPatch)
	case len(p) == 2 && p[1] == "thread":
		return c.only(func() error { return c.text(p[0]) }, http.MethodGet, http.MethodHead)
	case len(p) == 3 && p[1] == "attachments":
		if c.r.Method == http.MethodPut {
			return c.upload(p[0], p[2])
		}
		return c.only(func() error { return c.download(p[0], p[2]) }, http.MethodGet, http.MethodHead, http.MethodPut)
	}
	return errNoPath
}

// only calls serve for the methods that the path has.
func (c *call) only(serve func() error, methods ...string) error {
	if slices.Contains(methods, c.r.Method) {
		return serve()
	}
	c.w.Header().Set("Allow", strings.Join(methods, ", "))
	return &httpError{http.StatusMethodNotAllowed, "this path has no " + c.r.Method + "; use " + strings.Join(methods, " or ")}
}

func (c *call) health() error {
	c.json(http.StatusOK, map[string]string{
		"status": "ok", "service": "mess-exchange", "version": c.cfg.Version, "exchange_id": c.x.ID(),
	})
	return nil
}

// status tells an operator how the program stands.
func (c *call) status() error {
	if !c.who.Has(exchange.Operator) {
		return mess.Refuse(mess.Forbidden, "only an operator may ask how the program stands")
	}
	c.json(http.StatusOK, c.cfg.Status())
	return nil
}
