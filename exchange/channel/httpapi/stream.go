package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi/connection"
	"github.com/messkit/messkit/exchange/home"
	"github.com/messkit/messkit/internal/mistake"
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
	context.AfterFunc(ctx, f.requests.OpenStream())
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

// parkedPoll is a poll that waits on a hijacked connection. It has no buffers. Its goroutine only
// reads, so that it has a small stack.
type parkedPoll struct {
	*pollCollector
	ctx     context.Context // ends with the wait
	events  *exchange.Subscription
	release func() // of what can end the wait

	run   *running
	conn  connection.Resumable
	input *connection.Input
	early []byte // what the client has sent after the request

	asked [len(keptHeaders)]string
	last  bool // the client wants no more responses on this connection
}

// keptHeaders are the headers of a request that the response to a poll depends on.
var keptHeaders = [...]string{"Accept-Encoding", "If-None-Match", "Origin"}

// park lets a poll wait without net/http. It returns false if it cannot.
func (c *call) park(p *parkedPoll) bool {
	run, ok := c.r.Context().Value(serverContextKey{}).(*running)
	if !ok {
		return false
	}
	if p.conn, ok = connection.ResumableOf(c.r.Context()); !ok {
		return false
	}
	c.streams.Add(1) // before net/http forgets the connection, because Run waits for either
	if _, p.early, ok = connection.TakeOver(c.w, c.r); !ok {
		c.streams.Done()
		return false
	}
	p.run, p.last = run, c.r.Close
	for i, name := range keptHeaders {
		p.asked[i] = strings.Clone(c.r.Header.Get(name))
	}
	p.input.Begin(p.conn)
	go p.attend()
	return true
}

// attend waits until the poll ends or the client sends or disconnects.
func (p *parkedPoll) attend() {
	var err error
	if len(p.early) == 0 {
		p.early, err = p.input.Read()
	}
	p.finish(err)
}

// finish answers the poll. err is the error of the read.
func (p *parkedPoll) finish(err error) {
	kept := false
	defer func() {
		if !kept {
			_ = p.conn.Close()
			p.streams.Done()
		}
	}()
	defer mistake.Caught(p.log, "request", p.id)
	defer p.release()
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) { // the client has disconnected, or sends no more
		p.release()
		p.last = true
	}
	<-p.ctx.Done() // the response to an early request comes after this one
	if p.write(p.events.Close()) != nil || p.last {
		return
	}
	_ = p.conn.SetDeadline(time.Now().Add(idleTime)) // a failure also fails the read
	next := &connection.Input{}
	next.Begin(p.conn)
	unwatch := context.AfterFunc(p.run.ctx, next.Interrupt)
	go p.Server.awaitRequest(p.run, p.conn, p.early, next, unwatch)
	kept = true
}

// write writes the response. err is the error of the subscription.
func (p *parkedPoll) write(err error) error {
	w := &detachedResponse{head: http.Header{}}
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: base + p.x.ID() + "/events"}, Header: http.Header{}}
	for i, name := range keptHeaders {
		r.Header.Set(name, p.asked[i])
	}
	c := p.newCall(w, r, p.id)
	c.actor = p.actor
	c.setCommonHeaders()
	if err := c.answerPoll(p.pollCollector, err); err != nil {
		c.writeError(err)
	}
	limit := writeTime
	if p.run.ctx.Err() != nil {
		p.last, limit = true, endTime
	}
	_ = p.conn.SetWriteDeadline(time.Now().Add(limit)) // a failure also fails Write
	return w.send(p.conn, p.last)
}

// awaitRequest waits for the next request of a client on a hijacked connection, and gives the
// connection back to net/http then. Until then it needs no buffers.
func (d *Server) awaitRequest(run *running, conn connection.Resumable, early []byte, input *connection.Input, unwatch func() bool) {
	defer d.streams.Done()
	if len(early) == 0 {
		early, _ = input.Read()
	}
	unwatch()
	if len(early) == 0 {
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{}) // a failure also fails the next read
	conn.Resume(early)
	run.returned.Give(conn)
}

// detachedResponse is the response to a request that net/http does not serve any more.
type detachedResponse struct {
	head http.Header
	code int
	body bytes.Buffer
}

func (r *detachedResponse) Header() http.Header         { return r.head }
func (r *detachedResponse) WriteHeader(code int)        { r.code = code }
func (r *detachedResponse) Write(p []byte) (int, error) { return r.body.Write(p) }

// send writes the response. last says that the connection ends after it.
func (r *detachedResponse) send(conn net.Conn, last bool) error {
	r.head.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	answer := http.Response{
		StatusCode: r.code, ProtoMajor: 1, ProtoMinor: 1, Header: r.head,
		Body: io.NopCloser(&r.body), ContentLength: int64(r.body.Len()), Close: last,
	}
	var b bytes.Buffer
	_ = answer.Write(&b) // cannot fail
	_, err := conn.Write(b.Bytes())
	return err
}

// streamHome streams the changes of the home until the client disconnects, its key ends or the
// server stops. After an error the client connects again with Last-Event-ID.
func (c *call) streamHome() error {
	q, err := c.readQuery()
	if err != nil {
		return err
	}
	if err := c.moveToPool(true); err != nil {
		return err
	}
	c.setStreamHeader(eventType)
	ctx, cancel, out := c.openStream()
	defer cancel()
	s := &stream{out: out}
	s.begin(cancel)
	defer s.end()
	err = c.home.Follow(ctx, c.actor, cmp.Or(c.r.Header.Get("Last-Event-ID"), q.Get("after")), func(e home.Event) error {
		data, err := json.Marshal(e.Data)
		if err != nil {
			return err
		}
		return s.write(fmt.Appendf(nil, "id: %s\nevent: %s\ndata: %s\n\n", e.ID, e.Name, data))
	})
	if err != nil && ctx.Err() == nil {
		c.log().Debug("stream of the home ended", "actor", c.actor.ID, "err", err)
	}
	return nil
}
