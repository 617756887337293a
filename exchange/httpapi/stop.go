package httpapi

import "net/http"

// stop stops executors: {why, executors}, both of which may be left out. It is
// taken when it is on the disk; who has confirmed it, GET executors tells. There
// is no call that ends a stop.
func (c *call) stop() error {
	ack, err := c.config("stop")
	if err == nil {
		c.json(http.StatusAccepted, ack.Stops[0])
	}
	return err
}
