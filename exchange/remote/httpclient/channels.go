package httpclient

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// MESH sends an order to the exchange's agent in a mesh, and decodes its report.
func (c *Client) MESH(ctx context.Context, order, report any) error {
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	return c.Fetch(ctx, Request{Method: http.MethodPost, URL: c.base + "/mesh", MIME: "application/json", Body: text}, report)
}

// Unreserve releases a device that a mail agent has reserved, and returns the ids of its
// holders.
func (c *Client) Unreserve(ctx context.Context, device string) ([]string, error) {
	var freed struct {
		By []string `json:"by"`
	}
	err := c.Fetch(ctx, Request{Method: http.MethodDelete, URL: c.base + "/agentmail?device=" + url.QueryEscape(device)}, &freed)
	return freed.By, err
}
