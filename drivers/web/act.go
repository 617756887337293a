package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/messkit/messkit/drivers"
)

// late are the calls that a device has heard, and whose callers have gone.
type late struct {
	mu     sync.Mutex
	calls  map[<-chan struct{}]bool // each until its end, within the timeout; it is closed then
	silent bool                     // one has ended without an answer since the last act, and may be done yet
	ended  time.Time                // when the last one has ended so
}

func (l *late) add(call <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[<-chan struct{}]bool{}
	}
	l.calls[call] = true
}

func (l *late) over(call <-chan struct{}, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, call)
	if !answered {
		l.unsure()
	}
}

// unsure notes that one has ended without an answer. mu is held.
func (l *late) unsure() { l.silent, l.ended = true, time.Now() }

// doubt is why the device may do yet what it was told, nil if it may not.
func (l *late) doubt() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended.IsZero() || time.Since(l.ended) > drivers.LateTime {
		return nil
	}
	return fmt.Errorf("it has never answered what it was told before: %w", drivers.ErrMayAct)
}

// one returns one of them, nil if there is none.
func (l *late) one() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	for call := range l.calls {
		return call
	}
	return nil
}

// wait waits until there are none.
func (l *late) wait(ctx context.Context) error {
	for call := l.one(); call != nil; call = l.one() {
		select {
		case <-call:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// lastWord marks the context of Last.
type lastWord struct{}

// Unanswered is an error, once, for a device that has taken an order, and never answered
// the one before, whose caller has gone: it may do that yet. What is to be the last that
// it does is no business of this.
func (c *Client) Unanswered(ctx context.Context) error {
	if ctx.Value(lastWord{}) != nil {
		return nil
	}
	c.late.mu.Lock()
	defer c.late.mu.Unlock()
	if !c.late.silent {
		return nil
	}
	c.late.silent = false
	return fmt.Errorf("it took this, and has never answered what it was told before: %w", drivers.ErrMayAct)
}

// Unsure notes that the device was told something by another way, and never answered.
func (c *Client) Unsure() {
	c.late.mu.Lock()
	defer c.late.mu.Unlock()
	c.late.unsure()
}

// Last does what is to hold in the end, whatever the device was told before: at
// once, and once more after the calls that it has heard, and may do late. Of one that it
// has never answered nobody knows: that it may be done yet is an error for a minute, and
// Last is called again.
func (c *Client) Last(ctx context.Context, do func(context.Context) error) error {
	ctx = context.WithValue(ctx, lastWord{}, true)
	told := c.late.one() != nil
	err := do(ctx)
	if told {
		if werr := c.late.wait(ctx); werr != nil {
			return errors.Join(err, fmt.Errorf("what it was told before may still be done: %w", werr))
		}
		err = do(ctx)
	}
	if err != nil {
		return err
	}
	return c.late.doubt()
}

// InTurn waits until the device is done with what it was told before.
func (c *Client) InTurn(ctx context.Context) error {
	if ctx.Value(lastWord{}) != nil {
		return nil
	}
	return c.late.wait(ctx)
}

// hearing is whether a device has heard a call, or was spared it: one of both.
type hearing struct {
	mu         sync.Mutex
	heard, cut bool
	conn       net.Conn // set before heard or cut is
}

func (h *hearing) hear() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = !h.cut
	return h.heard
}

func (h *hearing) spare() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = !h.heard
	return h.cut
}

// act makes a request that changes the device. Before the device can have heard
// it, the end of ctx is its end. From then on it is only the end of the wait: a
// device may do what it was told long after who told it has hung up, and after
// what it is told next, so the call goes on to its answer or the timeout. An error
// of a call that was sent and not answered is drivers.ErrMayAct. act resets the
// connection of such a call, so that the kernel does not go on sending it.
func (c *Client) act(ctx context.Context, req *http.Request) (*http.Response, error) {
	var h hearing
	own, end := context.WithTimeoutCause(context.WithoutCancel(ctx), c.timeout, errSlow)
	own = httptrace.WithClientTrace(own, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		h.conn = got.Conn
		drivers.DropUnsent(got.Conn, true)
		if ctx.Err() != nil || !h.hear() {
			_ = got.Conn.Close() // so nothing is written
		}
	}})
	var resp *http.Response
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		resp, err = transport.RoundTrip(req.WithContext(own))
	}()
	select {
	case <-done:
	case <-ctx.Done():
		if !h.spare() {
			c.Outlive(func() (answered bool) {
				<-done
				if err == nil {
					_ = resp.Body.Close() // nobody wants it
				}
				end()
				return err == nil
			})
			return nil, drivers.Unanswered(context.Cause(ctx))
		}
		end()
		<-done
	}
	if err != nil {
		end()
		switch {
		case !h.heard:
			return nil, drivers.NotDone(err)
		case errors.Is(context.Cause(own), errSlow):
			c.Unsure()
		}
		return nil, drivers.Unanswered(err)
	}
	drivers.DropUnsent(h.conn, false)
	stop := context.AfterFunc(ctx, end)
	resp.Body = &body{resp.Body, func() { stop(); end() }}
	return resp, nil
}

// Outlive keeps a call that the device has heard, and whose caller goes. end waits for
// its end, within the timeout, and reports whether there was an answer.
func (c *Client) Outlive(end func() (answered bool)) {
	over := make(chan struct{})
	c.late.add(over)
	go func() {
		c.late.over(over, end())
		close(over)
	}()
}

// body is an answer's, whose end is that of its call.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
