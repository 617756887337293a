package httpapi

import (
	"net/http"

	"github.com/messkit/messkit/mess"
)

// drain has executors take nothing new, and resume ends that: {why, executors},
// both of which may be left out. It is taken when it is on the disk; how each
// executor stands, GET executors tells.
func (c *call) drain() error {
	ack, err := c.postOrder("hold")
	if err == nil {
		c.writeJSON(http.StatusAccepted, ack.Drain)
	}
	return err
}

func (c *call) resume() error {
	ack, err := c.postOrder("resume")
	if err == nil {
		c.writeJSON(http.StatusAccepted, ack.Resume)
	}
	return err
}

// postOrder posts the body as an order to executors.
func (c *call) postOrder(name string) (mess.Ack, error) {
	body, err := c.readObject()
	if err != nil {
		return mess.Ack{}, err
	}
	m, err := c.messageOfItems([]any{mess.Object{{Key: "config", Value: mess.Object{{Key: name, Value: body}}}}})
	if err != nil {
		return mess.Ack{}, err
	}
	answer, err := c.post(m)
	if err != nil {
		return mess.Ack{}, err
	}
	return firstAck(answer), nil
}
