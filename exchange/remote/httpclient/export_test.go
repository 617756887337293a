package httpclient

import (
	"context"
	"net"
	"net/http"
	"time"
)

// DialBy has a client reach its server in another way.
func DialBy(c *Client, dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	c.http.Transport.(*http.Transport).DialContext = dial
}

// CloseIdle ends what the client keeps of connections.
func CloseIdle(c *Client) { c.http.CloseIdleConnections() }

// IdleTime is how long a client keeps a connection that nothing goes over.
func IdleTime(c *Client) time.Duration { return c.http.Transport.(*http.Transport).IdleConnTimeout }
