package httpapi

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
)

// MountedHandler serves paths of another channel. The server authenticates and counts its callers,
// and does not pass on their keys.
type MountedHandler interface {
	Serve(actor exchange.Actor, w http.ResponseWriter, r *http.Request)
}

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
	r := c.r.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(data))
	r.Header.Del("Authorization")
	r = r.WithContext(exchange.WithProof(r.Context(), c.proof()))
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
