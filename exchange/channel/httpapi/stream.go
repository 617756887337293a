package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi/connection"
)

// stream writes events and comments, one at a time. It has no goroutine, because thousands may
// be idle.
type stream struct {
	out eventWriter

	mu    sync.Mutex
	beat  *time.Timer
	ended bool // out must not be used any more
}

// eventWriter is a connection to the client.
type eventWriter interface {
	// send writes p unchanged, within writeTime.
	send(p []byte) error
}

func (s *stream) write(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errEnded
	}
	return s.out.send(p)
}

// begin starts the heartbeat. It calls broken when the client has disconnected.
func (s *stream) begin(broken func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beat = time.AfterFunc(beatEvery, func() {
		if err := s.write([]byte(": beat\n\n")); err != nil {
			broken()
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.ended {
			s.beat.Reset(beatEvery)
		}
	})
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.beat != nil {
		s.beat.Stop()
	}
}

var errEnded = errors.New("the stream has ended")

// handlerResponse writes to the response of net/http.
type handlerResponse struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (a handlerResponse) send(p []byte) error {
	_ = a.rc.SetWriteDeadline(time.Now().Add(writeTime)) // the writer of a test has none
	if _, err := a.w.Write(p); err != nil {
		return err
	}
	return a.rc.Flush()
}

// hijackedConn is a connection without net/http, whose buffers an idle stream does not need.
type hijackedConn struct{ net.Conn }

// send writes one chunk (RFC 9112 section 7.1).
func (t hijackedConn) send(p []byte) error {
	_ = t.SetWriteDeadline(time.Now().Add(writeTime)) // a failure also fails Write
	_, err := t.Write(fmt.Appendf(nil, "%x\r\n%s\r\n", len(p), p))
	return err
}

// maxIgnored is the limit of ignored input on a stream, in bytes.
const maxIgnored = 16 << 10

// waitForClose returns when the client disconnects or sends too much.
func (t hijackedConn) waitForClose() {
	b := make([]byte, 64)
	for n := 0; n < maxIgnored; {
		m, err := t.Read(b)
		if err != nil {
			return
		}
		n += m
	}
}

// hijack takes over the connection and begins the response. ok is false if it cannot.
func (c *transport) hijack() (taken hijackedConn, ok bool) {
	conn, _, ok := connection.TakeOver(c.w, c.r)
	if !ok {
		return hijackedConn{}, false
	}
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\nDate: " + time.Now().UTC().Format(http.TimeFormat) + "\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n")
	_ = c.w.Header().Write(&b) // cannot fail
	b.WriteString("\r\n")
	_ = conn.SetWriteDeadline(time.Now().Add(writeTime)) // as above
	_, _ = conn.Write([]byte(b.String()))                // the next write notices a disconnect
	return hijackedConn{conn}, true
}

// lastChunk ends a chunked body.
const lastChunk = "0\r\n\r\n"

// hijackedStream is an event stream on a hijacked connection.
type hijackedStream struct {
	*subscription
	conn    hijackedConn
	stream  stream
	events  *exchange.Subscription
	release func() // of what can end the stream
}

// serveHijacked begins a stream that lives until the connection, the key or Run ends. After an
// error the client connects again with Last-Event-ID.
func (c *call) serveHijacked(f *subscription, conn hijackedConn) {
	ctx, cancel := context.WithCancel(context.Background())
	end := func() {
		cancel()
		_ = conn.SetReadDeadline(time.Now()) // waitForClose returns
	}
	unwatch := c.onRevoked(end)
	h := &hijackedStream{subscription: f, conn: conn, stream: stream{out: conn}, release: func() { unwatch(); cancel() }}
	err := errors.New("the stream crashed")
	defer func() {
		if err != nil {
			h.close(err)
		}
	}()
	if err = h.begin(ctx, end); err == nil {
		go h.attend()
	}
}

// begin delivers the present state, and subscribes to what follows.
func (h *hijackedStream) begin(ctx context.Context, end func()) (err error) {
	if err := h.stream.write([]byte(": hello\n\n")); err != nil {
		return err // the client has disconnected
	}
	h.stream.begin(end)
	h.events, err = h.x.Subscribe(ctx, h.actor, h.after, func(e exchange.Event) error { return h.send(&h.stream, e) }, end)
	return err
}

// attend waits for the end of the stream. Its goroutine is the only one of an idle stream, and
// new, so that it has a small stack.
func (h *hijackedStream) attend() {
	h.conn.waitForClose()
	h.release()
	h.close(h.events.Close())
}

// close ends a stream, with its error or nil.
func (h *hijackedStream) close(err error) {
	defer h.streams.Done()
	defer h.conn.Close()
	h.release()
	h.stream.end()
	if err != nil {
		h.log.Debug("event stream ended", "request", h.id, "actor", h.actor.ID, "err", err)
		return
	}
	_ = h.conn.SetWriteDeadline(time.Now().Add(time.Second)) // do not wait for a client that does not read
	_, _ = h.conn.Write([]byte(lastChunk))
}
