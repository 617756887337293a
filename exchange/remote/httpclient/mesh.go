package httpclient

import (
	"context"
	"encoding/json"
	"net/http"
)

// MESH sends an order to the exchange's agent in a mesh, and decodes its report.
func (c *Client) MESH(ctx context.Context, order, report any) error {
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	return c.Fetch(ctx, Request{Method: http.MethodPost, URL: c.base + "/mesh", MIME: "application/json", Body: text}, report)
}
