package connection

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
)

// serverMark marks the errors that net/http writes itself before it calls a handler: for
// control characters in the request line, too large headers, or another version of HTTP.
const serverMark = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// translatedConn translates those errors to JSON. It never changes what a handler writes,
// because a file may contain anything.
type translatedConn struct {
	net.Conn
	handled atomic.Bool // a handler writes
	early   []byte      // Read returns it first
}

// Resume gives the connection back to net/http, with what the client has sent already.
func (t *translatedConn) Resume(early []byte) {
	t.handle(false)
	t.early = early
}

// Read reads what the client sends.
func (t *translatedConn) Read(p []byte) (int, error) {
	if len(t.early) > 0 {
		n := copy(p, t.early)
		t.early = t.early[n:]
		return n, nil
	}
	return t.Conn.Read(p)
}

// handle reports whether a handler writes from now on.
func (t *translatedConn) handle(is bool) { t.handled.Store(is) }

// Write writes p or its translation.
func (t *translatedConn) Write(p []byte) (int, error) {
	if t.handled.Load() {
		return t.Conn.Write(p)
	}
	ours, ok := errorFor(p)
	if !ok {
		return t.Conn.Write(p)
	}
	_, err := t.Conn.Write(ours)
	return len(p), err
}

// CloseWrite ends this side, so that the client gets the response before the connection closes.
func (t *translatedConn) CloseWrite() error {
	if c, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// errorFor returns the JSON error for an error that net/http has written.
func errorFor(p []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(p, []byte("HTTP/1.1 "))
	line, text, marked := bytes.Cut(rest, []byte(serverMark))
	if !ok || !marked || len(line) < 4 || bytes.ContainsAny(line, "\r\n") {
		return nil, false
	}
	code, err := strconv.Atoi(string(line[:3]))
	if err != nil || code < 400 {
		return nil, false
	}
	body, err := json.Marshal(map[string]string{"error": fmt.Sprintf("the request is invalid (%.200s) and has no effect", text)})
	if err != nil {
		return nil, false
	}
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s: %s\r\nConnection: close\r\n\r\n%s\n",
		line, len(body)+1, RequestID, NewRequestID(), body), true
}

// RequestID is the header with the id that a request has in the log.
const RequestID = "X-Request-Id"

// NewRequestID makes an id for a request.
func NewRequestID() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}
