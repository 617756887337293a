package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/messkit/messkit/mess"
)

// mess is the full entrance: a message in, acks and answers out, in the format
// that was sent.
func (c *call) mess() error {
	data, yaml, err := c.read()
	if err != nil {
		return err
	}
	all, err := mess.ParseValid(data)
	if err != nil {
		return err
	}
	if len(all) != 1 {
		return mess.Refuse(mess.Invalid, "there are %d documents; send one message at a time", len(all))
	}
	answer, err := c.post(all[0])
	if err != nil {
		return err
	}
	if !yaml {
		c.json(http.StatusOK, answer)
		return nil
	}
	text, err := answer.YAML()
	if err != nil {
		return err
	}
	c.body(http.StatusOK, "application/yaml; charset=utf-8", text)
	return nil
}

// items makes a message of items in JSON.
func items(value any) (mess.Message, error) {
	text, err := json.Marshal(mess.Object{{Key: "MESS", Value: value}})
	if err != nil {
		return mess.Message{}, err
	}
	return mess.Parse(text)
}

// create takes a request as clients in the field send it: its fields alone.
func (c *call) create() error {
	body, err := c.object()
	if err != nil {
		return err
	}
	m, err := items([]any{mess.Object{{Key: "request", Value: body}}})
	if err != nil {
		return err
	}
	answer, err := c.post(m)
	if err != nil {
		return err
	}
	ack := firstAck(answer)
	c.json(http.StatusCreated, map[string]any{"ref": ack.Ref, "status": ack.Status})
	return nil
}

func firstAck(m mess.Message) mess.Ack {
	for _, item := range m.Items {
		if a, ok := item.(*mess.Ack); ok {
			return *a
		}
	}
	return mess.Ack{}
}
