package drivers

import (
	"crypto/tls"
	"net"
)

// DropUnsent sets what the end of a connection does with bytes that the kernel has not
// sent yet: it drops them, or goes on sending them. A command that its caller has given up
// must not arrive minutes later because the kernel repeats it.
func DropUnsent(conn net.Conn, drop bool) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	seconds := -1
	if drop {
		seconds = 0
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(seconds) // a connection that has ended has nothing to drop
	}
}
