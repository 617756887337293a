package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

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
