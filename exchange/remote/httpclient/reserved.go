package httpclient

import (
	"context"
	"net/http"
	"net/url"
)

// Unreserve releases a device that a mail agent has reserved, and returns the ids of its
// holders.
func (c *Client) Unreserve(ctx context.Context, device string) ([]string, error) {
	var freed struct {
		By []string `json:"by"`
	}
	err := c.Fetch(ctx, Request{Method: http.MethodDelete, URL: c.base + "/agentmail?device=" + url.QueryEscape(device)}, &freed)
	return freed.By, err
}
