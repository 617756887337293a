package connection

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
)

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

// becomes moves the connection below TLS.
func (s *tlsConn) becomes(waiting bool) bool {
	below, ok := s.under.(interface{ becomes(bool) bool })
	return !ok || below.becomes(waiting)
}
