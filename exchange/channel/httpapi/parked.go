package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/internal/mistake"
)

// parkedPoll is a poll that waits on a hijacked connection. It has no buffers. Its goroutine only
// reads, so that it has a small stack.
type parkedPoll struct {
	*pollCollector
	ctx     context.Context // ends with the wait
	events  *exchange.Subscription
	release func() // of what can end the wait

	run   *running
	conn  resumable
	input *inputWait
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
	if p.conn, ok = c.r.Context().Value(connKey{}).(resumable); !ok {
		return false
	}
	c.streams.Add(1) // before net/http forgets the connection, because Run waits for either
	if _, p.early, ok = c.takeOver(); !ok {
		c.streams.Done()
		return false
	}
	p.run, p.last = run, c.r.Close
	for i, name := range keptHeaders {
		p.asked[i] = strings.Clone(c.r.Header.Get(name))
	}
	p.input.begin(p.conn)
	go p.attend()
	return true
}

// attend waits until the poll ends or the client sends or disconnects.
func (p *parkedPoll) attend() {
	var err error
	if len(p.early) == 0 {
		p.early, err = p.input.read()
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
	next := &inputWait{}
	next.begin(p.conn)
	unwatch := context.AfterFunc(p.run.ctx, next.interrupt)
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
	c.who = p.who
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
func (d *Server) awaitRequest(run *running, conn resumable, early []byte, input *inputWait, unwatch func() bool) {
	defer d.streams.Done()
	if len(early) == 0 {
		early, _ = input.read()
	}
	unwatch()
	if len(early) == 0 {
		_ = conn.Close()
		return
	}
	_ = conn.SetDeadline(time.Time{}) // a failure also fails the next read
	conn.resume(early)
	run.returned.give(conn)
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

// inputWait waits for the first byte from a client, until it is interrupted.
type inputWait struct {
	mu          sync.Mutex
	conn        net.Conn // nil before begin and after read
	interrupted bool
	one         [1]byte
}

// begin prepares read. The read deadline of conn stays unless interrupt was called.
func (w *inputWait) begin(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = conn
	if w.interrupted {
		_ = conn.SetReadDeadline(time.Now())
	}
}

// interrupt ends read. It does nothing after read.
func (w *inputWait) interrupt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupted = true
	if w.conn != nil {
		_ = w.conn.SetReadDeadline(time.Now())
	}
}

// read returns one byte, or an error.
func (w *inputWait) read() ([]byte, error) {
	n, err := w.conn.Read(w.one[:])
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = nil
	return w.one[:n], err
}

// resumable is a connection that can return to net/http.
type resumable interface {
	net.Conn
	resume(early []byte)
}

// returnedConns is a listener for the connections that return to net/http.
type returnedConns struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
}

func newReturnedConns(addr net.Addr) *returnedConns {
	return &returnedConns{addr, make(chan net.Conn), make(chan struct{})}
}

// give returns a connection, or closes it if the server ends.
func (r *returnedConns) give(conn net.Conn) {
	select {
	case r.conns <- conn:
	case <-r.closed:
		_ = conn.Close()
	}
}

// Accept waits for a connection.
func (r *returnedConns) Accept() (net.Conn, error) {
	select {
	case conn := <-r.conns:
		return conn, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. net/http calls it once.
func (r *returnedConns) Close() error {
	close(r.closed)
	return nil
}

// Addr returns the address of the server.
func (r *returnedConns) Addr() net.Addr { return r.addr }
