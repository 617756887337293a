package httpapi

import (
	"encoding/json"
	"net/http"

	"github.com/messkit/messkit/exchange"
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

// patch adds to a thread, as clients in the field do: a status, a note, and
// items. Nothing at all tells the status.
func (c *call) patch(ref string) error {
	body, err := c.object()
	if err != nil {
		return err
	}
	t, unseen := c.x.Thread(c.r.Context(), c.who, ref)
	if unseen != nil {
		t.Ref = ref // one who may not see it (any more) still hears that it is taken
	}
	m, err := c.update(t, body)
	if err != nil {
		return err
	}
	status := t.Status
	if len(m.Items) == 0 && unseen != nil {
		return unseen
	}
	if len(m.Items) > 0 {
		m.Re = mess.Refs{t.Ref}
		answer, err := c.post(m)
		if err != nil {
			return err
		}
		status = firstAck(answer).Status
	}
	c.json(http.StatusOK, map[string]any{"ref": t.Ref, "status": status})
	return nil
}

// update is the message that a PATCH means.
func (c *call) update(t exchange.Thread, body mess.Object) (mess.Message, error) {
	var m mess.Message
	if v, ok := body.Get("mess"); ok && v != nil {
		var err error
		if m, err = items(v); err != nil {
			return m, err
		}
	}
	note := textOf(body, "message")
	v, ok := body.Get("status")
	if !ok || v == nil {
		return m, nil
	}
	word, ok := v.(string)
	if !ok {
		return m, mess.Refuse(mess.Invalid, "status: is not text; write a status such as claimed")
	}
	code, err := mess.ParseCode(word)
	if err != nil {
		return m, mess.Refuse(mess.Invalid, "status: %v", err)
	}
	return c.withStatus(t, m, code, note), nil
}

// withStatus makes sure that the message says the status. Whoever does not hold
// the claim cancels with a cancel.
func (c *call) withStatus(t exchange.Thread, m mess.Message, code mess.Code, note string) mess.Message {
	for _, item := range m.Items {
		switch i := item.(type) {
		case *mess.Status:
			if i.Code == code {
				if i.Message == "" {
					i.Message = note
				}
				return m
			}
		case *mess.Cancel:
			if code == mess.Cancelled {
				return m
			}
		}
	}
	var said mess.Item = &mess.Status{Code: code, Message: note}
	if code == mess.Cancelled && c.who.ID != t.Executor {
		said = &mess.Cancel{Reason: note}
	}
	m.Items = append([]mess.Item{said}, m.Items...)
	return m
}
