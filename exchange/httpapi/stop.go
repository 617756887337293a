package httpapi

import (
	"net/http"

	"github.com/messkit/messkit/mess"
)

// stop stops executors: {why, executors}, both of which may be left out. It is
// taken when it is on the disk; who has confirmed it, GET executors tells. There
// is no call that ends a stop.
func (c *call) stop() error {
	body, err := c.maybe()
	if err != nil {
		return err
	}
	m, err := items([]any{mess.Object{{Key: "config", Value: mess.Object{{Key: "stop", Value: body}}}}})
	if err != nil {
		return err
	}
	answer, err := c.post(m)
	if err != nil {
		return err
	}
	c.json(http.StatusAccepted, firstAck(answer).Stops[0])
	return nil
}
