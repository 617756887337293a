package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi/connection"
	"github.com/messkit/messkit/exchange/channel/httpapi/measure"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/traceparent"
)

// transport is one request of any client, and its response.
type transport struct {
	*Server
	w  http.ResponseWriter
	r  *http.Request
	id string // in the response and in the log

	response measure.Response // w writes to it
	route    string           // pattern of the path; "" if the request has reached none
	waits    bool             // for events, so that its duration says nothing
}

// caller is the authenticated actor of a request.
type caller struct {
	*transport
	actor exchange.Actor
	key   string

	keyActor exchange.Actor // of the key; actor is another one in a copy of the threads of a site

	session bool // a signed-in browser has sent the request, without a key
}

// requestBody is the body of a request.
type requestBody struct {
	*transport
	large bool // the handler has not read all of the body
	yaml  bool // the content type is YAML
}

// call is one request on its way from the connection to the exchange. A handler of a route is
// a method of call.
type call struct {
	*transport
	caller
	requestBody
}

func (d *Server) newCall(w http.ResponseWriter, r *http.Request, id string) *call {
	w.Header().Set(connection.RequestID, id)
	t := &transport{Server: d, r: r, id: id, response: measure.Response{ResponseWriter: w}}
	t.w = &t.response
	return &call{transport: t, caller: caller{transport: t}, requestBody: requestBody{transport: t}}
}

// Handler returns the server as an http.Handler.
func (d *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connection.MarkHandled(r.Context())
		rc := http.NewResponseController(w)
		now := time.Now()
		end := now.Add(answerTime)
		first := end
		sent := r.Body
		if r.ContentLength != 0 {
			first = now.Add(bodyGap)       // a client that sends nothing gets its error soon
			r = r.WithContext(r.Context()) // net/http compares the body with its own, to find how much of it is left
			r.Body = http.MaxBytesReader(w, &steadyBody{r.Body, rc, end}, d.cfg.MaxBody)
		}
		_ = errors.Join(rc.SetReadDeadline(first), rc.SetWriteDeadline(end.Add(refusalTime))) // the writer of a test has none
		if len(r.TransferEncoding) > 0 {
			// net/http does not report a Content-Length next to Transfer-Encoding. A proxy may
			// have used the other one, so the connection must end (RFC 9112 section 6.1).
			w.Header().Set("Connection", "close")
		}
		c := d.newCall(w, r, connection.NewRequestID())
		defer c.observe(now)
		defer c.recoverPanic()
		c.setCommonHeaders()
		err := c.leaveWaitingPool()
		if err == nil {
			err = c.serve()
		}
		if err != nil {
			c.writeError(err)
		}
		if c.large && r.Header.Get("Expect") == "" { // such a client waits for permission to send
			linger(rc, sent)
		}
	})
}

// observe measures the request. The duration of an event stream or poll says nothing.
func (c *call) observe(began time.Time) {
	if c.Server.log.Enabled(c.r.Context(), slog.LevelDebug) {
		c.log().Debug("HTTP request", "method", c.r.Method, "route", c.route, "code", c.response.Code, "actor", c.actor.ID, "took", time.Since(began))
	}
	if !c.waits || c.response.Code >= http.StatusBadRequest {
		c.requests.Observe(c.r.Method, c.route, cmp.Or(c.response.Code, http.StatusOK), time.Since(began))
	}
}

// recoverPanic turns a panic into a response and an entry in the log.
func (c *call) recoverPanic() {
	p := recover()
	switch {
	case p == nil:
		return
	case p == http.ErrAbortHandler:
		panic(p) // the server ends the connection
	}
	c.log().Error("request crashed", "method", c.r.Method, "path", c.r.URL.Path, "err", p, "stack", string(debug.Stack()))
	c.writeJSON(http.StatusInternalServerError, errorBody{Error: "internal error of the exchange; see its log"})
}

// log returns the log of the server with the id of the request.
func (c *transport) log() *slog.Logger { return c.Server.log.With("request", c.id) }

// commonHeaders are the headers of every response. A handler that adds a value copies the list.
var commonHeaders = [...]struct {
	name   string
	values []string
}{
	{"Cache-Control", []string{"no-store"}}, // existing service workers cache responses otherwise
	{"Vary", []string{"*"}},
	{"X-Content-Type-Options", []string{"nosniff"}},
}

// setCommonHeaders sets the headers of every response.
func (c *transport) setCommonHeaders() {
	h := c.w.Header()
	c.setCORSHeaders()
	for _, one := range commonHeaders {
		h[one.name] = one.values
	}
}

// waitContext returns a context for a request that waits for events. It ends when the client
// disconnects, its key ends or the server stops.
func (c *caller) waitContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.r.Context())
	unwatch := c.onRevoked(cancel)
	return ctx, func() { unwatch(); cancel() }
}

// onRevoked calls end when the key of the request ends or the server stops. unwatch prevents
// that, and may be called twice. It does not keep the request.
func (c *caller) onRevoked(end func()) (unwatch func()) {
	unwatchKey := c.keys.Watch(c.key, c.keyActor, end)
	if c.session && c.cfg.WatchSession != nil {
		unwatch, key := c.cfg.WatchSession(c.r, end), unwatchKey
		unwatchKey = func() { key(); unwatch() }
	}
	run, ok := c.r.Context().Value(serverContextKey{}).(*running)
	if !ok {
		return unwatchKey
	}
	unwatchServer := context.AfterFunc(run.ctx, end)
	return func() { unwatchServer(); unwatchKey() }
}

// post passes a message to the exchange. It continues when the client disconnects, because the
// exchange may have stored the message.
func (c *call) post(m mess.Message) (mess.Message, error) {
	return c.postAllowed(m, isConfirmOrCancel(m)) // of its own threads
}

// postAllowed is like post. A guest is a requester only of a message that is allowed for guests: this is
// the one place that gives guests this role.
func (c *call) postAllowed(m mess.Message, forGuests bool) (mess.Message, error) {
	ctx, cancel := context.WithTimeout(exchange.WithRequestID(context.WithoutCancel(c.r.Context()), c.id), workTime)
	defer cancel()
	actor := c.actor
	if forGuests && actor.IsGuest() {
		actor.Roles |= exchange.Requester
	}
	return c.x.Post(ctx, exchange.Inbound{Actor: actor, Channel: channel, Proof: c.proof(), Message: c.traced(m)})
}

// traced returns a message with the trace context of the HTTP request, if it has a valid one. That in the
// message itself goes first: a proxy may have added the header.
func (c *transport) traced(m mess.Message) mess.Message {
	if list := c.r.Header[traceparent.Header]; len(list) == 1 && traceparent.Of(m) == "" {
		if t, ok := traceparent.Parse(list[0]); ok {
			return traceparent.With(m, t.String())
		}
	}
	return m
}

// isConfirmOrCancel reports whether a message only confirms, rejects or cancels. An answer in words
// could name another device.
func isConfirmOrCancel(m mess.Message) bool {
	return len(m.Items) > 0 && !slices.ContainsFunc(m.Items, func(i mess.Item) bool {
		switch v := i.(type) {
		case *mess.Cancel:
			return false
		case *mess.Reply:
			return v.Confirm == nil || len(v.Answers) > 0 || v.Accept != nil
		}
		return true
	})
}

// CheckOrigin returns an error for an invalid origin.
func CheckOrigin(origin string) error {
	if origin == "*" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
		return fmt.Errorf("%q is not where a page comes from; write it like https://console.example:8443, or \"*\" for all", origin)
	}
	return nil
}

// setCORSHeaders lets pages of the configured origins read the response. A browser keeps it
// from all others.
func (c *transport) setCORSHeaders() {
	origin := c.r.Header.Get("Origin")
	switch {
	case origin == "":
		return
	case slices.Contains(c.cfg.Origins, origin):
	case slices.Contains(c.cfg.Origins, "*"):
		origin = "*"
	default:
		return
	}
	h := c.w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, If-None-Match, Last-Event-ID, Range, Mcp-Session-Id, Mcp-Protocol-Version")
	h.Set("Access-Control-Expose-Headers", "ETag, Allow, Content-Range, Content-Disposition, Retry-After, Mcp-Session-Id, "+connection.RequestID)
}
