package drivers

import (
	"crypto/tls"
	"net"
)

// DropUnsent sets whether Close of a connection discards the bytes that the kernel has not
// sent yet, or continues to send them. A command must not arrive minutes after its caller
// has given up, because the kernel repeats it.
func DropUnsent(conn net.Conn, drop bool) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	seconds := -1
	if drop {
		seconds = 0
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(seconds) // a closed connection has nothing to drop
	}
}
