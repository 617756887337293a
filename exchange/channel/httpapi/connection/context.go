package connection

import (
	"context"
	"net"
	"net/http"
)

// connKey is the key of the connection, in the context of a request.
type connKey struct{}

// WithConn returns the context for the requests of a connection. The functions of this package expect
// it, and do nothing without it.
func WithConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// MarkHandled reports that a handler writes.
func MarkHandled(ctx context.Context) {
	if t, ok := ctx.Value(connKey{}).(interface{ handle(bool) }); ok { // the server of a test has none
		t.handle(true)
	}
}

// MarkIdle reports that no handler writes any more.
func MarkIdle(conn net.Conn, s http.ConnState) {
	if t, ok := conn.(interface{ handle(bool) }); ok && s == http.StateIdle {
		t.handle(false)
	}
}

// Move moves the connection of a request to the pool of waiting or of busy connections. It returns
// false, and changes nothing, at a limit of that pool. No pool counts connections of this machine.
func Move(ctx context.Context, waiting bool) bool {
	conn, ok := ctx.Value(connKey{}).(interface{ becomes(bool) bool })
	return !ok || conn.becomes(waiting)
}

// Resumable is a connection that can return to net/http.
type Resumable interface {
	net.Conn
	// Resume gives the connection back to net/http, with what the client has sent already.
	Resume(early []byte)
}

// ResumableOf returns the connection of a request. ok is false if it cannot return to net/http.
func ResumableOf(ctx context.Context) (conn Resumable, ok bool) {
	conn, ok = ctx.Value(connKey{}).(Resumable)
	return conn, ok
}
