package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/messkit/messkit/internal/wait"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

// Serve serves one client over a pair of streams, until the client closes its end or ctx ends.
// It answers all requests before that. A line that is no message gets an error, and the session
// continues.
func (s *Server) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	ctx, cancel := context.WithCancel(ctx)
	var g errgroup.Group
	g.Go(func() error {
		s.follow(ctx)
		return nil
	})
	to := &syncWriter{WriteCloser: out}
	err := s.mcp.Run(ctx, &drainingTransport{sdk.IOTransport{Reader: newMessageReader(&endNotifyingInput{in, s.stopWaiting}, to), Writer: to, MaxLineLength: -1}}) // messageReader limits lines
	ended := ctx.Err() != nil
	cancel()
	_ = g.Wait() // it has no error
	if ended || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) {
		return nil // the client has disconnected
	}
	return err
}

// endNotifyingInput is an input that calls end at its end.
type endNotifyingInput struct {
	io.ReadCloser
	end func()
}

func (e *endNotifyingInput) Read(p []byte) (int, error) {
	n, err := e.ReadCloser.Read(p)
	if err != nil {
		e.end()
	}
	return n, err
}

// drainingTransport is a transport whose input ends after the answers to all of its requests.
type drainingTransport struct{ sdk.IOTransport }

// Connect connects the streams.
func (a *drainingTransport) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := a.IOTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &pendingCalls{Connection: c, asked: map[jsonrpc.ID]int{}, answered: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

// pendingCalls counts the requests without an answer.
type pendingCalls struct {
	sdk.Connection
	mu       sync.Mutex
	asked    map[jsonrpc.ID]int
	answered chan struct{} // a request has its answer
	once     sync.Once
	closed   chan struct{}
}

// Read reads a message. It returns the end after the last answer.
func (c *pendingCalls) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if err != nil {
		c.waitAnswered(ctx)
		return nil, err
	}
	if r, ok := m.(*jsonrpc.Request); ok {
		c.track(r)
	}
	return m, nil
}

// cancelled is the message that cancels a request, which gets no answer then (MCP 2025-06-18,
// basic/utilities/cancellation).
const cancelled = "notifications/cancelled"

// listen is a request whose answer comes at the end of the session (MCP 2026-07-28, SEP-2575).
const listen = "subscriptions/listen"

// track counts a request or its cancellation.
func (c *pendingCalls) track(r *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.ID.IsValid() && r.Method != listen:
		c.asked[r.ID]++
	case r.Method == cancelled:
		var p struct {
			RequestID any `json:"requestId"`
		}
		if json.Unmarshal(r.Params, &p) != nil {
			return
		}
		if id, err := jsonrpc.MakeID(p.RequestID); err == nil {
			delete(c.asked, id)
		}
	}
}

// waitAnswered waits until all requests have an answer, or the client has disconnected.
func (c *pendingCalls) waitAnswered(ctx context.Context) {
	for !c.allAnswered() {
		select {
		case <-c.answered:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c *pendingCalls) allAnswered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked) == 0
}

// Write writes a message.
func (c *pendingCalls) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		if c.asked[r.ID] > 1 {
			c.asked[r.ID]--
		} else {
			delete(c.asked, r.ID)
		}
		c.mu.Unlock()
		wait.Notify(c.answered)
	}
	if err != nil {
		c.markClosed()
	}
	return err
}

// Close closes the streams.
func (c *pendingCalls) Close() error {
	c.markClosed()
	return c.Connection.Close()
}

func (c *pendingCalls) markClosed() { c.once.Do(func() { close(c.closed) }) }
