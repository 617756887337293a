package httpapi

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// transport is one request of any client, and its response.
type transport struct {
	*Server
	w  http.ResponseWriter
	r  *http.Request
	id string // in the response and in the log
}

// caller is the authenticated actor of a request.
type caller struct {
	*transport
	who exchange.Actor
	key string

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

// requestID is the header of the answer under which the log has a request.
const requestID = "X-Request-Id"

func (d *Server) newCall(w http.ResponseWriter, r *http.Request) *call {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	id := hex.EncodeToString(random[:])
	w.Header().Set(requestID, id)
	t := &transport{Server: d, w: w, r: r, id: id}
	return &call{transport: t, caller: caller{transport: t}, requestBody: requestBody{transport: t}}
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

// log is the door's, with the request's id.
func (c *transport) log() *slog.Logger { return c.Server.log.With("request", c.id) }

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
func (c *transport) setCommonHeaders() {
	h := c.w.Header()
	c.setCORSHeaders()
	for _, one := range commonHeaders {
		h[one.name] = one.values
	}
}

// waitContext is the context of what waits for news: it ends when the client goes,
// its key ends or the door closes.
func (c *caller) waitContext() (context.Context, context.CancelFunc) {
	return c.untilRevoked(c.r.Context())
}

// untilRevoked is that for what outlives its request: nothing of which must be kept.
func (c *caller) untilRevoked(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	unwatch := c.keys.Watch(c.key, c.who, cancel)
	closes := func() bool { return true }
	if door, ok := c.r.Context().Value(serverContextKey{}).(context.Context); ok {
		closes = context.AfterFunc(door, cancel)
	}
	return ctx, func() { closes(); unwatch(); cancel() }
}

// post hands a message to the exchange. What has begun is finished, even if the
// client goes: it may have been stored already.
func (c *call) post(m mess.Message) (mess.Message, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.r.Context()), workTime)
	defer cancel()
	return c.x.Post(ctx, exchange.Inbound{Actor: c.who, Channel: channel, Proof: c.proof(), Message: m})
}
