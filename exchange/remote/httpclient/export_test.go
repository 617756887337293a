package httpclient

import (
	"context"
	"net"
	"net/http"
	"time"
)

// DialBy sets the function with which a client dials its server.
func DialBy(c *Client, dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	c.http.Transport.(*http.Transport).DialContext = dial
}

// CloseIdle closes the idle connections of a client.
func CloseIdle(c *Client) { c.http.CloseIdleConnections() }

// IdleTime returns the time after which a client closes an idle connection.
func IdleTime(c *Client) time.Duration { return c.http.Transport.(*http.Transport).IdleConnTimeout }
