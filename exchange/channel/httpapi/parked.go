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
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi/connection"
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
