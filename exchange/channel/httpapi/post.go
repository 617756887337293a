package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/messkit/messkit/mess"
)

// postMessage takes any message and returns the acks and responses, in the format of the
// message.
func (c *call) postMessage() error {
	data, yaml, err := c.readBody()
	if err != nil {
		return err
	}
	m, err := parseMessage(data, yaml)
	if err != nil {
		return err
	}
	answer, err := c.post(m)
	if err != nil {
		return err
	}
	if !yaml {
		c.writeJSON(http.StatusOK, answer)
		return nil
	}
	text, err := answer.YAML()
	if err != nil {
		return err
	}
	c.writeBody(http.StatusOK, "application/yaml; charset=utf-8", text)
	return nil
}

func parseMessage(data []byte, yaml bool) (mess.Message, error) {
	if !yaml && len(bytes.TrimSpace(data)) > 0 {
		m, err := mess.ParseValidJSON(data)
		return m, hintYAML(err)
	}
	all, err := mess.ParseValid(data)
	if err != nil {
		return mess.Message{}, err
	}
	if len(all) != 1 {
		return mess.Message{}, mess.Errorf(mess.Invalid, "there are %d documents; send one message at a time", len(all))
	}
	return all[0], nil
}

// messageOfItems makes a message of the items in a body.
func (c *requestBody) messageOfItems(value any) (mess.Message, error) {
	text, err := json.Marshal(mess.Object{{Key: "MESS", Value: value}})
	if err != nil {
		return mess.Message{}, err
	}
	parse := mess.ParseJSON
	if c.yaml {
		parse = mess.Parse // an unquoted number may be text in YAML
	}
	m, err := parse(text)
	return m, renamePath(err, "MESS", "mess")
}

// renamePath replaces a path in the problems of a text by the field that the client has sent.
func renamePath(err error, here, there string) error {
	ps, ok := errors.AsType[mess.Problems](err)
	if !ok {
		return err
	}
	ps = slices.Clone(ps)
	for i := range ps {
		if ps[i].Line = 0; ps[i].Path == here {
			ps[i].Path = there
		}
	}
	return ps
}

// create takes a request as existing clients send it: only its fields.
func (c *call) create() error {
	body, err := c.readObject()
	if err != nil {
		return err
	}
	m, err := c.messageOfItems([]any{mess.Object{{Key: "request", Value: body}}})
	if err != nil {
		return err
	}
	answer, err := c.post(m)
	if err != nil {
		return err
	}
	ack := mess.FirstAck(answer)
	v := map[string]any{"ref": ack.Ref, "status": ack.Status}
	if ack.QueuePosition != nil {
		v["queue_position"] = *ack.QueuePosition
	}
	if note := ack.Extra.Text("note"); note != "" && c.cfg.Copy != nil {
		v["note"] = note
	}
	if list := unusedFields(m.Items[0]); list != nil {
		v["unknown"] = list
	}
	c.writeJSON(http.StatusCreated, v)
	return nil
}

// unusedFields returns the fields of a request that have no effect. One of them may be a typing
// error.
func unusedFields(item mess.Item) (list []string) {
	r, ok := item.(*mess.Request)
	if !ok {
		return nil
	}
	of := func(path string, extra mess.Object) {
		for _, f := range extra {
			if path != "" || f.Key != "attachments" { // existing clients name files so
				list = append(list, path+truncate(f.Key))
			}
		}
	}
	of("", r.Extra)
	if k := r.Constraints; k != nil {
		of("constraints.", k.Extra)
		if k.Timing != nil {
			of("constraints.timing.", k.Timing.Extra)
		}
	}
	return list
}
