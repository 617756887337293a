package remote

import (
	"context"
	"encoding/json"
	"net/http"
)

// MESH gives an order to the exchange's agent in a mesh, and reads its report.
func (c *Client) MESH(ctx context.Context, order, report any) error {
	text, err := json.Marshal(order)
	if err != nil {
		return err
	}
	return c.fetch(ctx, request{method: http.MethodPost, url: c.base + "/mesh", mime: "application/json", body: text}, report)
}
