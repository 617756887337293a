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
)

// stream writes events, and comments in between, one at a time. It has no
// goroutine of its own: there may be thousands that are idle.
type stream struct {
	out eventWriter

	mu    sync.Mutex
	beat  *time.Timer
	ended bool // out must not be used any more
}

// eventWriter is a connection on its way to the client.
type eventWriter interface {
	// send sends p as it is, within writeTime.
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

// begin lets it beat; broken is called when nobody is there to hear it.
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
	s.beat.Stop()
}

var errEnded = errors.New("the stream has ended")

// handlerResponse is a stream in the answer that net/http writes.
type handlerResponse struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (a handlerResponse) send(p []byte) error {
	_ = a.rc.SetWriteDeadline(time.Now().Add(writeTime)) // a test's writer has none
	if _, err := a.w.Write(p); err != nil {
		return err
	}
	return a.rc.Flush()
}

// hijackedConn is a connection that was taken over from net/http: of what that keeps for
// each connection, an idle stream needs nothing.
type hijackedConn struct{ net.Conn }

// send writes one chunk (RFC 9112 section 7.1).
func (t hijackedConn) send(p []byte) error {
	_ = t.SetWriteDeadline(time.Now().Add(writeTime)) // it fails as Write does
	_, err := t.Write(fmt.Appendf(nil, "%x\r\n%s\r\n", len(p), p))
	return err
}

// maxIgnored is how much a client may send on a stream, in bytes: nobody reads it.
const maxIgnored = 16 << 10

// waitForClose returns when the client is gone, or says too much.
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

// hijack takes the connection over, with the answer begun. It returns false
// where that cannot be: for HTTP/1.0 and /2, with a body, in a test's writer.
func (c *transport) hijack() (hijackedConn, bool) {
	if c.r.ProtoMajor != 1 || c.r.ProtoMinor != 1 || c.r.ContentLength != 0 {
		return hijackedConn{}, false
	}
	conn, _, err := http.NewResponseController(c.w).Hijack()
	if err != nil {
		return hijackedConn{}, false
	}
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\nDate: " + time.Now().UTC().Format(http.TimeFormat) + "\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n")
	_ = c.w.Header().Write(&b) // cannot fail
	b.WriteString("\r\n")
	_ = errors.Join(conn.SetDeadline(time.Time{}), conn.SetWriteDeadline(time.Now().Add(writeTime))) // as above
	_, _ = conn.Write([]byte(b.String()))                                                            // who is gone is missed by what follows
	return hijackedConn{conn}, true
}

// lastChunk is the chunk that ends a body in order.
const lastChunk = "0\r\n\r\n"

// serveHijacked follows on a connection that was taken over until that, the key or the
// door ends. The goroutine that calls it is the only one of an idle stream.
func (f *subscription) serveHijacked(ctx context.Context, cancel context.CancelFunc, conn hijackedConn) {
	defer conn.Close()
	if err := f.attend(ctx, cancel, conn); err != nil {
		f.log.Debug("event stream ended", "request", f.id, "actor", f.who.ID, "err", err)
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // nobody waits for who does not read
	_, _ = conn.Write([]byte(lastChunk))
}

// attend streams until ctx or the connection ends. The error is why it has ended before:
// then the client comes back with Last-Event-ID.
func (f *subscription) attend(ctx context.Context, cancel context.CancelFunc, conn hijackedConn) error {
	s := &stream{out: conn}
	if err := s.write([]byte(": hello\n\n")); err != nil {
		return err // the client is gone
	}
	s.begin(cancel)
	defer s.end()
	a, err := f.x.Subscribe(ctx, f.who, f.after, func(e exchange.Event) error { return f.send(s, e) }, cancel)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) }) // then listen returns
	conn.waitForClose()
	stop()
	cancel()
	return a.Close()
}
