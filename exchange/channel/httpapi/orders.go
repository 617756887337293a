package httpapi

import (
	"bytes"
	"net/http"

	"github.com/messkit/messkit/mess"
)

// stop stops executors: {why, executors}, both of which may be left out. It is
// taken when it is on the disk; who has confirmed it, GET executors tells. There
// is no call that ends a stop.
func (c *call) stop() error {
	s, err := c.readStop()
	if err != nil {
		return err
	}
	answer, err := c.post(mess.Message{Items: []mess.Item{&mess.Config{Stop: &s}}})
	if err == nil {
		c.writeJSON(http.StatusAccepted, firstAck(answer).Stops[0])
	}
	return err
}

// readStop reads a stop. However long its reason is, that is no reason not to stop.
func (c *requestBody) readStop() (s mess.Stop, err error) {
	data, yaml, err := c.readBody()
	switch {
	case err != nil || len(bytes.TrimSpace(data)) == 0:
		return s, err
	case !yaml:
		return s, hintYAML(mess.ReadJSON(data, &s))
	}
	body, err := mess.ParseObject(data)
	if err != nil {
		return s, err
	}
	m, err := c.messageOfItems([]any{mess.Object{{Key: "config", Value: mess.Object{{Key: "stop", Value: body}}}}})
	if err != nil {
		return s, err
	}
	return *m.Items[0].(*mess.Config).Stop, nil
}

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
