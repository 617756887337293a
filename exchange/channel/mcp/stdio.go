package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/internal/wait"
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

// maxLine is the limit of a message from a client, in bytes.
const maxLine = 16 << 20

// Error codes of JSON-RPC 2.0 section 5.1.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// messageReader reads the lines of a client that are messages. It answers all other lines with
// an error, and the session continues.
type messageReader struct {
	in   io.ReadCloser
	from *bufio.Reader
	out  io.Writer
	left []byte // of the current line
	err  error
}

func newMessageReader(in io.ReadCloser, out io.Writer) *messageReader {
	return &messageReader{in: in, from: bufio.NewReaderSize(in, 64<<10), out: out}
}

// Close closes the input.
func (l *messageReader) Close() error { return l.in.Close() }

func (l *messageReader) Read(p []byte) (int, error) {
	for len(l.left) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		l.next()
	}
	n := copy(p, l.left)
	l.left = l.left[n:]
	return n, nil
}

// next reads lines until one is a message, or until the end.
func (l *messageReader) next() {
	line, long, err := l.readLine()
	l.err = err
	line = bytes.TrimSpace(line)
	if len(line) == 0 && !long {
		return
	}
	code, text := lineProblem(line)
	if long {
		code, text = invalidRequest, fmt.Sprintf("the message is longer than %d bytes", maxLine)
	}
	if code == 0 {
		l.left = append(line, '\n')
		return
	}
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text}}) // cannot fail: plain values
	if _, err := l.out.Write(append(answer, '\n')); err != nil {
		l.err = errors.Join(l.err, err)
	}
}

// readLine reads a line. It returns only long for a line above the limit.
func (l *messageReader) readLine() (line []byte, long bool, err error) {
	for {
		piece, err := l.from.ReadSlice('\n')
		if len(line)+len(piece) > maxLine {
			line, long = nil, true
		}
		if !long {
			line = append(line, piece...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// lineProblem returns the error of a line that is no message, or code 0.
func lineProblem(line []byte) (code int, text string) {
	if !json.Valid(line) {
		return parseError, "the line is not JSON; write one JSON-RPC message in each line"
	}
	if line[0] == '[' {
		return invalidRequest, "this server takes no batches; write one JSON-RPC message in each line"
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return invalidRequest, "the line is no JSON-RPC message: " + err.Error()
	}
	return 0, ""
}

// syncWriter lets several goroutines write whole messages.
type syncWriter struct {
	mu sync.Mutex
	io.WriteCloser
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.WriteCloser.Write(p)
}
