package httpapi

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
)

// serverMark stands in the answers that net/http gives by itself, before any
// handler is asked: to a request line with control characters, to headers that
// are too large, to another version of HTTP. Handlers' answers go another way.
const serverMark = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// translated is a connection on which those answers are refusals like ours. Under
// TLS it sees only what is encrypted, and changes nothing.
type translated struct{ net.Conn }

// Write sends p, or what p means.
func (t *translated) Write(p []byte) (int, error) {
	ours, ok := refusalFor(p)
	if !ok {
		return t.Conn.Write(p)
	}
	_, err := t.Conn.Write(ours)
	return len(p), err
}

// CloseWrite ends this side, so that the answer arrives before the connection
// is closed.
func (t *translated) CloseWrite() error {
	if c, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return nil
}

// refusalFor is the refusal for an answer of the server's own.
func refusalFor(p []byte) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(p, []byte("HTTP/1.1 "))
	line, text, marked := bytes.Cut(rest, []byte(serverMark))
	if !ok || !marked || len(line) < 4 || bytes.ContainsAny(line, "\r\n") {
		return nil, false
	}
	code, err := strconv.Atoi(string(line[:3]))
	if err != nil || code < 400 {
		return nil, false
	}
	body, err := json.Marshal(refusal{Error: fmt.Sprintf("the request cannot be read (%.200s); nothing was done", text)})
	if err != nil {
		return nil, false
	}
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Appendf(nil, "HTTP/1.1 %s\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s: %s\r\nConnection: close\r\n\r\n%s\n",
		line, len(body)+1, requestID, hex.EncodeToString(random[:]), body), true
}
