package httpapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
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

// resume gives the connection back to net/http, with what the client has sent already.
func (t *translatedConn) resume(early []byte) {
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

// connKey is the key of the connection, in the context of a request.
type connKey struct{}

// handle reports whether a handler writes from now on.
func (t *translatedConn) handle(is bool) { t.handled.Store(is) }

// markHandled reports that a handler writes.
func markHandled(ctx context.Context) {
	if t, ok := ctx.Value(connKey{}).(interface{ handle(bool) }); ok { // the server of a test has none
		t.handle(true)
	}
}

// markIdle reports that no handler writes any more.
func markIdle(conn net.Conn, s http.ConnState) {
	if t, ok := conn.(interface{ handle(bool) }); ok && s == http.StateIdle {
		t.handle(false)
	}
}

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

// tlsListener accepts connections and wraps them in TLS. net/http does not do that here, so
// that translatedConn sees its errors before they are encrypted.
type tlsListener struct {
	net.Listener
	cfg *tls.Config
}

// Accept waits for a connection. The first Read does the handshake.
func (s *tlsListener) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsConn{translatedConn{Conn: tls.Server(conn, s.cfg)}, conn}, nil
}

type tlsConn struct {
	translatedConn
	under net.Conn // the connection below TLS
}

// Read answers clients that speak plain text.
func (s *tlsConn) Read(p []byte) (int, error) {
	n, err := s.translatedConn.Read(p)
	if h, ok := errors.AsType[tls.RecordHeaderError](err); ok && h.Conn != nil && looksLikeMethod(h.RecordHeader[:]) {
		answer, _ := errorFor([]byte("HTTP/1.1 400 Bad Request" + serverMark + "this port speaks HTTPS; write https://"))
		_, _ = h.Conn.Write(answer) // the connection ends anyway
	}
	return n, err
}

// looksLikeMethod reports whether bytes that are no TLS may be an HTTP method.
func looksLikeMethod(b []byte) bool {
	return !bytes.ContainsFunc(b, func(r rune) bool { return (r < 'A' || r > 'Z') && r != ' ' && r != '/' })
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
	body, err := json.Marshal(errorBody{Error: fmt.Sprintf("the request is invalid (%.200s) and has no effect", text)})
	if err != nil {
		return nil, false
	}
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s: %s\r\nConnection: close\r\n\r\n%s\n",
		line, len(body)+1, requestID, newRequestID(), body), true
}
