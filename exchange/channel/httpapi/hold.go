package httpapi

import (
	"net/http"

	"github.com/messkit/messkit/mess"
)

// hold has executors take nothing new, and resume ends that: {why, executors},
// both of which may be left out. It is taken when it is on the disk; how each
// executor stands, GET executors tells.
func (c *call) hold() error {
	ack, err := c.config("hold")
	if err == nil {
		c.json(http.StatusAccepted, ack.Drain)
	}
	return err
}

func (c *call) resume() error {
	ack, err := c.config("resume")
	if err == nil {
		c.json(http.StatusAccepted, ack.Resume)
	}
	return err
}

// config posts the body as an order to executors.
func (c *call) config(name string) (mess.Ack, error) {
	body, err := c.object()
	if err != nil {
		return mess.Ack{}, err
	}
	m, err := c.items([]any{mess.Object{{Key: "config", Value: mess.Object{{Key: name, Value: body}}}}})
	if err != nil {
		return mess.Ack{}, err
	}
	answer, err := c.post(m)
	if err != nil {
		return mess.Ack{}, err
	}
	return firstAck(answer), nil
}
