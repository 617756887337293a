package httpclient

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

// unconfirmedCalls contains the calls that a device has received and whose callers no longer wait.
type unconfirmedCalls struct {
	mu     sync.Mutex
	calls  map[<-chan struct{}]bool // each call until its end or the timeout, which closes the channel
	silent bool                     // a call has ended without an answer since the last command, and the device may still execute it
	ended  time.Time                // end of the last unanswered call
}

func (l *unconfirmedCalls) add(call <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[<-chan struct{}]bool{}
	}
	l.calls[call] = true
}

func (l *unconfirmedCalls) over(call <-chan struct{}, answered bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, call)
	if !answered {
		l.unsure()
	}
}

// unsure records a call that ended without an answer. The caller holds mu.
func (l *unconfirmedCalls) unsure() { l.silent, l.ended = true, time.Now() }

// doubt returns an error if the device may still execute an unanswered command.
func (l *unconfirmedCalls) doubt() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended.IsZero() || time.Since(l.ended) > drivers.LateEffectTime {
		return nil
	}
	return fmt.Errorf("the device has never answered an earlier command: %w", drivers.ErrMayAct)
}

// one returns one of the calls, or nil if there is none.
func (l *unconfirmedCalls) one() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	for call := range l.calls {
		return call
	}
	return nil
}

// wait waits until there are no calls.
func (l *unconfirmedCalls) wait(ctx context.Context) error {
	for call := l.one(); call != nil; call = l.one() {
		select {
		case <-call:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// lastCallKey is the context key of RunLast.
type lastCallKey struct{}

// Unanswered returns an error, once, if the device has answered this command but never
// answered an earlier one whose caller no longer waits: the device may still execute the
// earlier one. Unanswered ignores commands below RunLast.
func (c *Client) Unanswered(ctx context.Context) error {
	if ctx.Value(lastCallKey{}) != nil {
		return nil
	}
	c.unconfirmed.mu.Lock()
	defer c.unconfirmed.mu.Unlock()
	if !c.unconfirmed.silent {
		return nil
	}
	c.unconfirmed.silent = false
	return fmt.Errorf("the device has accepted this command, and has never answered an earlier one: %w", drivers.ErrMayAct)
}

// Unsure records an unanswered command that the driver sent without this client.
func (c *Client) Unsure() {
	c.unconfirmed.mu.Lock()
	defer c.unconfirmed.mu.Unlock()
	c.unconfirmed.unsure()
}

// RunLast runs do so that its effect remains. It runs do at once, and again after the device
// has answered the calls that it may execute late. For a minute after an unanswered call,
// RunLast returns ErrMayAct, and the caller must repeat it.
func (c *Client) RunLast(ctx context.Context, do func(context.Context) error) error {
	ctx = context.WithValue(ctx, lastCallKey{}, true)
	waits := c.unconfirmed.one() != nil
	err := do(ctx)
	if waits {
		if werr := c.unconfirmed.wait(ctx); werr != nil {
			return errors.Join(err, fmt.Errorf("the device may still execute an earlier command: %w", werr))
		}
		err = do(ctx)
	}
	if err != nil {
		return err
	}
	return c.unconfirmed.doubt()
}

// WaitTurn waits until the device has answered all earlier commands.
func (c *Client) WaitTurn(ctx context.Context) error {
	if ctx.Value(lastCallKey{}) != nil {
		return nil
	}
	return c.unconfirmed.wait(ctx)
}

// delivery decides whether a device has received a call or the client has cut it off before.
// Only one can happen.
type delivery struct {
	mu            sync.Mutex
	received, cut bool
	conn          net.Conn // set before received or cut
}

func (d *delivery) receive() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.received = !d.cut
	return d.received
}

func (d *delivery) cutOff() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut = !d.received
	return d.cut
}

// act sends a request that changes the device. Until the request is on the connection, the
// end of ctx cancels it. After that, the end of ctx only ends the wait: a device may
// execute a command long after its client has disconnected, and after a later command, so
// the call continues until its answer or the timeout. An error of a call without an answer
// is drivers.ErrMayAct. act resets the connection of such a call, so that the kernel does
// not continue to send it.
func (c *Client) act(ctx context.Context, req *http.Request) (*http.Response, error) {
	var h delivery
	own, end := context.WithTimeoutCause(context.WithoutCancel(ctx), c.timeout, errSlow)
	own = httptrace.WithClientTrace(own, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		h.conn = got.Conn
		drivers.DropUnsent(got.Conn, true)
		if ctx.Err() != nil || !h.receive() {
			_ = got.Conn.Close() // prevents any write
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
		if !h.cutOff() {
			c.Outlive(func() (answered bool) {
				<-done
				if err == nil {
					_ = resp.Body.Close() // the answer has no reader
				}
				end()
				return err == nil
			})
			return nil, drivers.MarkMayAct(context.Cause(ctx))
		}
		end()
		<-done
	}
	if err != nil {
		end()
		switch {
		case !h.received:
			return nil, drivers.MarkNothingDone(err)
		case errors.Is(context.Cause(own), errSlow):
			c.Unsure()
		}
		return nil, drivers.MarkMayAct(err)
	}
	drivers.DropUnsent(h.conn, false)
	stop := context.AfterFunc(ctx, end)
	resp.Body = &body{resp.Body, func() { stop(); end() }}
	return resp, nil
}

// Outlive tracks a call that the device has received and whose caller no longer waits. end
// waits for the end of the call, within the timeout, and reports whether the device has
// answered.
func (c *Client) Outlive(end func() (answered bool)) {
	over := make(chan struct{})
	c.unconfirmed.add(over)
	go func() {
		c.unconfirmed.over(over, end())
		close(over)
	}()
}

// body is the body of an answer; its Close ends the call.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
