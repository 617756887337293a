package httpapi

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
)

// serverMark stands in the answers that net/http gives by itself, before any
// handler is asked: to a request line with control characters, to headers that
// are too large, to another version of HTTP.
const serverMark = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// translatedConn is a connection on which those answers are refusals like ours. What a
// handler answers is left alone: a file may hold whatever its sender likes.
type translatedConn struct {
	net.Conn
	handled atomic.Bool // a handler answers
}

// connKey is the key under which a request finds its connection.
type connKey struct{}

// handle says whether a handler answers from now on.
func (t *translatedConn) handle(is bool) { t.handled.Store(is) }

// markHandled says that a handler answers a request.
func markHandled(ctx context.Context) {
	if t, ok := ctx.Value(connKey{}).(interface{ handle(bool) }); ok { // a test's server has none
		t.handle(true)
	}
}

// markIdle says that no handler answers any more, once a request is done.
func markIdle(conn net.Conn, s http.ConnState) {
	if t, ok := conn.(interface{ handle(bool) }); ok && s == http.StateIdle {
		t.handle(false)
	}
}

// Write sends p, or what p means.
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

// tlsListener is a listener of connections under TLS. It is not net/http that does the
// TLS, so that its own answers can be translated before they are encrypted.
type tlsListener struct {
	net.Listener
	cfg *tls.Config
}

// Accept waits for a connection. The handshake is done when it is first read.
func (s *tlsListener) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &tlsConn{translatedConn{Conn: tls.Server(conn, s.cfg)}, conn}, nil
}

type tlsConn struct {
	translatedConn
	under net.Conn // below TLS
}

// Read answers who speaks plain text.
func (s *tlsConn) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	if h, ok := errors.AsType[tls.RecordHeaderError](err); ok && h.Conn != nil && looksLikeMethod(h.RecordHeader[:]) {
		answer, _ := errorFor([]byte("HTTP/1.1 400 Bad Request" + serverMark + "this port speaks HTTPS; write https://"))
		_, _ = h.Conn.Write(answer) // nothing else can be said to it
	}
	return n, err
}

// looksLikeMethod reports whether what is no TLS may be HTTP.
func looksLikeMethod(b []byte) bool {
	return !bytes.ContainsFunc(b, func(r rune) bool { return (r < 'A' || r > 'Z') && r != ' ' && r != '/' })
}

// CloseWrite ends this side, so that the answer arrives before the connection
// is closed.
func (t *translatedConn) CloseWrite() error {
	if c, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// errorFor is the refusal for an answer of the server's own.
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
	body, err := json.Marshal(errorBody{Error: fmt.Sprintf("the request cannot be read (%.200s); nothing was done", text)})
	if err != nil {
		return nil, false
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s: %s\r\nConnection: close\r\n\r\n%s\n",
		line, len(body)+1, requestID, hex.EncodeToString(random[:]), body), true
}
