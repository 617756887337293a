package httpapi_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"
)

// rawConn is a connection to the server.
type rawConn struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
	body []byte
}

// Sizes of the read buffers: for one response, or for a few lines of an idle stream.
const (
	anAnswer = 4 << 10
	fewLines = 512
)

func dial(addr string, room int) (*rawConn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &rawConn{conn: conn, in: bufio.NewReaderSize(conn, room)}, nil
}

// begin sends a request.
func (l *rawConn) begin(method, path, key, mime string, body []byte) error {
	l.out = fmt.Appendf(l.out[:0], "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n", method, path, key)
	if body != nil {
		l.out = fmt.Appendf(l.out, "Content-Type: %s\r\nContent-Length: %d\r\n", mime, len(body))
	}
	l.out = append(append(l.out, "\r\n"...), body...)
	_, err := l.conn.Write(l.out)
	return err
}

// do sends a request and reads the answer, which has that code unless it is 0.
func (l *rawConn) do(code int, method, path, key, mime string, body []byte) ([]byte, error) {
	if err := l.begin(method, path, key, mime, body); err != nil {
		return nil, err
	}
	got, answer, err := l.answer()
	if err == nil && code != 0 && got != code {
		err = fmt.Errorf("%s %s: %d %s", method, path, got, answer)
	}
	return answer, err
}

// answer reads an answer with a Content-Length. The body is valid until the next call.
func (l *rawConn) answer() (code int, body []byte, err error) {
	line, err := l.in.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	number, ok := bytes.CutPrefix(line, []byte("HTTP/1.1 "))
	if code, err = strconv.Atoi(string(number[:min(len(number), len("200"))])); !ok || err != nil {
		return 0, nil, fmt.Errorf("this is no answer: %q", line)
	}
	length := -1
	for len(line) > len("\r\n") {
		if line, err = l.in.ReadSlice('\n'); err != nil {
			return 0, nil, err
		}
		if n, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(n))); err != nil {
				return 0, nil, err
			}
		}
	}
	if length < 0 {
		return 0, nil, errors.New("an answer does not say how long it is")
	}
	l.body = slices.Grow(l.body[:0], length)[:length]
	_, err = io.ReadFull(l.in, l.body)
	return code, l.body, err
}

// readUntil reads until it gets the line want.
func (l *rawConn) readUntil(want string) error {
	if err := l.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		return err
	}
	for {
		got, err := l.in.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return err
		}
		if string(got) == want {
			return nil
		}
	}
}
