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

// maxLine is the longest message of a client, in bytes.
const maxLine = 16 << 20

// Codes of JSON-RPC 2.0 section 5.1.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// messageReader hands on the lines of a client that are messages, and answers the others:
// one of them is no reason to end. It reads like the input that it is made of.
type messageReader struct {
	in   io.ReadCloser
	from *bufio.Reader
	out  io.Writer
	left []byte // of the line that is being read
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

// next reads lines until one is a message, or there are no more.
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
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": text}}) // of plain values
	if _, err := l.out.Write(append(answer, '\n')); err != nil {
		l.err = errors.Join(l.err, err)
	}
}

// readLine reads a line; of one that is too long, long is all that is known.
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

// lineProblem says why a line is no message, with the code for it; 0 if it is one.
func lineProblem(line []byte) (code int, text string) {
	if !json.Valid(line) {
		return parseError, "the line is not JSON; write one JSON-RPC message in each line"
	}
	if line[0] == '[' {
		return invalidRequest, "batches are not taken; write one JSON-RPC message in each line"
	}
	if _, err := jsonrpc.DecodeMessage(line); err != nil {
		return invalidRequest, "the line is no JSON-RPC message: " + err.Error()
	}
	return 0, ""
}

// syncWriter is an output that several write to, whole messages each.
type syncWriter struct {
	mu sync.Mutex
	io.WriteCloser
}

func (s *syncWriter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.WriteCloser.Write(p)
}
