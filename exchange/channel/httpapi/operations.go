package httpapi

import (
	"bytes"
	"net/http"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

func (c *call) health() error {
	h := map[string]any{"status": "ok"}
	if c.cfg.Health != nil {
		h = c.cfg.Health()
	}
	h["service"], h["version"], h["exchange_id"] = "mess-exchange", c.cfg.Version, c.x.ID()
	c.writeJSON(http.StatusOK, h)
	return nil
}

// webhooks returns the delivery log.
func (c *call) webhooks() error {
	if c.cfg.Webhooks == nil {
		return errNoPath
	}
	c.writeJSON(http.StatusOK, map[string]any{"deliveries": c.cfg.Webhooks(c.actor)})
	return nil
}

// status returns the status of the program, for operators.
func (c *call) status() error {
	if c.cfg.Status == nil {
		return errNoPath
	}
	if !c.actor.Has(exchange.Operator) {
		return mess.Errorf(mess.Forbidden, "only an operator may read the status of the program")
	}
	c.writeJSON(http.StatusOK, c.cfg.Status())
	return nil
}

// stop stops executors: {why, executors}, both optional. It returns when the stop is on the
// disk. GET executors shows who has confirmed it. There is no path that resets a stop.
func (c *call) stop() error {
	s, err := c.readStop()
	if err != nil {
		return err
	}
	answer, err := c.post(mess.Message{Items: []mess.Item{&mess.Config{Stop: &s}}})
	if err == nil {
		c.writeJSON(http.StatusAccepted, mess.FirstAck(answer).Stops[0])
	}
	return err
}

// readStop reads a stop. A long reason is no error.
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

// drain makes executors take no new tasks, and resume ends that: {why, executors}, both
// optional. It returns when the order is on the disk. GET executors shows the status of each
// executor.
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
	return mess.FirstAck(answer), nil
}
