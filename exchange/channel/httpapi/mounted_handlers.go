package httpapi

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
)

// MountedHandler is another door on the same port. Who calls it has shown a key, and is
// counted as everybody is; the key itself does not go on to it.
type MountedHandler interface {
	Serve(who exchange.Actor, w http.ResponseWriter, r *http.Request)
}

// RejectionExplainer is a Guest that says why it has refused a request with this code,
// where the people who run the place should know of it; "" where they need not.
type RejectionExplainer interface {
	RejectionReason(r *http.Request, code int) string
}

// serveMounted lets a guest answer. What it does ends when the key does, or when this
// door closes; how long it takes is its own affair.
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
	_ = rc.SetReadDeadline(time.Time{}) // a stream is as long as it is; a test's writer has none
	ctx, cancel := c.waitContext()
	defer cancel()
	r := c.r.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(data))
	r.Header.Del("Authorization")
	r = r.WithContext(exchange.WithProof(r.Context(), c.proof()))
	w := &errorWriter{streamWriter: streamWriter{c.w, rc}}
	g.Serve(c.who, w, r)
	w.finish(c)
	if e, ok := g.(RejectionExplainer); ok && w.status >= http.StatusBadRequest {
		if why := e.RejectionReason(r, w.status); why != "" {
			c.addDenied(w.status, why)
		}
	}
	return nil
}

// errorWriter says the errors of a guest as all others, in JSON, where it has them in
// plain text.
type errorWriter struct {
	streamWriter
	status int    // of the answer, 0 until it begins
	code   int    // of an error in plain text, 0 for none
	text   []byte // of it
}

// maxWorded is how much of a guest's error is repeated, in bytes.
const maxWorded = 1000

// WriteHeader keeps an error that is plain text, or nothing.
func (w *errorWriter) WriteHeader(code int) {
	if w.status == 0 {
		w.status = code
	}
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

// Flush sends what is written, but for an error that has no words yet.
func (w *errorWriter) Flush() {
	if w.code == 0 {
		w.streamWriter.Flush()
	}
}

// Unwrap is for http.ResponseController.
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

// publicHandler is the door that a path is that of, nil for none.
func (c *call) publicHandler() http.Handler {
	for prefix, v := range c.cfg.PublicHandlers {
		if strings.HasPrefix(c.r.URL.EscapedPath(), prefix) {
			return v
		}
	}
	return nil
}

// servePublic lets a visitor answer, within the time that all answers have.
func (c *call) servePublic(v http.Handler) error {
	if err := c.checkOrigin(); err != nil {
		return err
	}
	v.ServeHTTP(c.w, c.r)
	return nil
}

// checkOrigin refuses web pages from elsewhere, which a browser lets send what
// it likes.
func (c *transport) checkOrigin() error {
	origin := c.r.Header.Get("Origin")
	if !c.isForeignPage() || slices.Contains(c.cfg.Origins, origin) || slices.Contains(c.cfg.Origins, "*") {
		return nil
	}
	return &httpError{http.StatusForbidden, "pages from " + truncate(origin) + " may not use this; configure cors"}
}

// maxShown is how much of a header an error repeats, in bytes.
const maxShown = 100

func truncate(s string) string { return s[:min(len(s), maxShown)] }

// streamWriter is an answer of which each piece has a time limit, and the whole has
// none.
type streamWriter struct {
	http.ResponseWriter
	rc *http.ResponseController
}

// Unwrap is for http.ResponseController.
func (u *streamWriter) Unwrap() http.ResponseWriter { return u.ResponseWriter }

func (u *streamWriter) Write(p []byte) (int, error) {
	u.extendDeadline()
	return u.ResponseWriter.Write(p)
}

// Flush sends what is written.
func (u *streamWriter) Flush() {
	u.extendDeadline()
	_ = u.rc.Flush() // the client is gone if it fails
}

func (u *streamWriter) extendDeadline() { _ = u.rc.SetWriteDeadline(time.Now().Add(writeTime)) }
