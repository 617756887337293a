package connection

import (
	"bytes"
	"net"
	"net/http"
	"sync"
	"time"
)

// TakeOver takes the connection from net/http, with what the client has sent after its request.
// It returns false for HTTP/1.0 and HTTP/2, for a request with a body, and for the writer of a
// test.
func TakeOver(w http.ResponseWriter, r *http.Request) (conn net.Conn, early []byte, ok bool) {
	if r.ProtoMajor != 1 || r.ProtoMinor != 1 || r.ContentLength != 0 {
		return nil, nil, false
	}
	conn, buffers, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, nil, false
	}
	early, _ = buffers.Reader.Peek(buffers.Reader.Buffered()) // cannot fail
	return conn, bytes.Clone(early), true
}

// Input waits for the first byte from a client, until it is interrupted.
type Input struct {
	mu          sync.Mutex
	conn        net.Conn // nil before Begin and after Read
	interrupted bool
	one         [1]byte
}

// Begin prepares Read. The read deadline of conn stays unless Interrupt was called.
func (w *Input) Begin(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = conn
	if w.interrupted {
		_ = conn.SetReadDeadline(time.Now())
	}
}

// Interrupt ends Read. It does nothing after Read.
func (w *Input) Interrupt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.interrupted = true
	if w.conn != nil {
		_ = w.conn.SetReadDeadline(time.Now())
	}
}

// Read returns one byte, or an error.
func (w *Input) Read() ([]byte, error) {
	n, err := w.conn.Read(w.one[:])
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conn = nil
	return w.one[:n], err
}

// Returned is a listener for the connections that return to net/http.
type Returned struct {
	addr   net.Addr
	conns  chan net.Conn
	closed chan struct{}
}

// NewReturned returns the listener of a server with an address.
func NewReturned(addr net.Addr) *Returned {
	return &Returned{addr, make(chan net.Conn), make(chan struct{})}
}

// Give returns a connection, or closes it if the server ends.
func (r *Returned) Give(conn net.Conn) {
	select {
	case r.conns <- conn:
	case <-r.closed:
		_ = conn.Close()
	}
}

// Accept waits for a connection.
func (r *Returned) Accept() (net.Conn, error) {
	select {
	case conn := <-r.conns:
		return conn, nil
	case <-r.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. net/http calls it once.
func (r *Returned) Close() error {
	close(r.closed)
	return nil
}

// Addr returns the address of the server.
func (r *Returned) Addr() net.Addr { return r.addr }
