package httpapi

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/messkit/messkit/exchange/channel/httpapi/connection"
)

// CheckOrigin returns an error for an invalid origin.
func CheckOrigin(origin string) error {
	if origin == "*" {
		return nil
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != origin {
		return fmt.Errorf("%q is not where a page comes from; write it like https://console.example:8443, or \"*\" for all", origin)
	}
	return nil
}

// setCORSHeaders lets pages of the configured origins read the response. A browser keeps it
// from all others.
func (c *transport) setCORSHeaders() {
	origin := c.r.Header.Get("Origin")
	switch {
	case origin == "":
		return
	case slices.Contains(c.cfg.Origins, origin):
	case slices.Contains(c.cfg.Origins, "*"):
		origin = "*"
	default:
		return
	}
	h := c.w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, If-None-Match, Last-Event-ID, Range, Mcp-Session-Id, Mcp-Protocol-Version")
	h.Set("Access-Control-Expose-Headers", "ETag, Allow, Content-Range, Content-Disposition, Retry-After, Mcp-Session-Id, "+connection.RequestID)
}
