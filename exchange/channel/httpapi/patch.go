package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// patchThread adds to a thread as existing clients do: a status, a note, and items. An empty
// body returns the status.
func (c *call) patchThread(ref string) error {
	body, err := c.readObject()
	if err != nil {
		return err
	}
	t, unseen := c.x.Envelope(c.r.Context(), c.actor, ref)
	if unseen != nil {
		t.Ref = ref // a caller that may not see it still gets the error of a taken claim
	}
	m, err := c.messageOfPatch(t, body)
	if err != nil {
		return err
	}
	if len(m.Items) == 0 {
		if unseen != nil {
			return unseen
		}
		c.writeJSON(http.StatusOK, withUnknown(map[string]any{"ref": t.Ref, "status": t.Status}, body, patchFields))
		return nil
	}
	m.Re = mess.Refs{t.Ref}
	if ref == mess.Last {
		m.Re = mess.Refs{mess.Last} // this name cannot confirm (MESS 1.0 section 1.3)
	}
	answer, err := c.post(m)
	if err != nil {
		return err
	}
	v := withUnknown(map[string]any{"ref": t.Ref, "status": mess.FirstAck(answer).Status}, body, patchFields)
	for _, item := range m.Items {
		if o, ok := item.(*mess.Other); ok { // the exchange stores it without effect
			list, _ := v["unknown"].([]string)
			v["unknown"] = append(list, "mess."+truncate(string(o.Type)))
		}
	}
	c.writeJSON(http.StatusOK, v)
	return nil
}

// patchFields are the known fields of a PATCH.
var patchFields = []string{"status", "message", "mess"}

// messageOfPatch returns the message that a PATCH means.
func (c *call) messageOfPatch(t exchange.Envelope, body mess.Object) (mess.Message, error) {
	var m mess.Message
	if v, ok := body.Get("mess"); ok && v != nil {
		var err error
		if m, err = c.messageOfItems(v); err != nil {
			return m, err
		}
		for _, item := range m.Items {
			if err := pointAtThread(item, t); err != nil {
				return m, err
			}
		}
	}
	note, err := textField(body, "message")
	if err != nil {
		return m, err
	}
	code, err := parseStatus(body)
	switch {
	case err != nil:
		return m, err
	case len(body) > 0 && len(unknownFields(body, patchFields)) == len(body):
		return m, checkKnown(body, patchFields...)
	case code != "":
		return c.withStatus(t, m, code, note), nil
	case note != "" && len(m.Items) == 0:
		return m, mess.Errorf(mess.Invalid, "message: says something about a status; send one beside it, or answer with mess")
	}
	return m, nil
}

// parseStatus reads the status of a body, or "".
func parseStatus(body mess.Object) (mess.Code, error) {
	v, _ := body.Get("status")
	if v == nil {
		return "", nil
	}
	word, ok := v.(string)
	if !ok {
		return "", mess.Errorf(mess.Invalid, "status: is not text; write a status such as claimed")
	}
	code, err := mess.ParseCode(word)
	if err != nil {
		return "", mess.Errorf(mess.Invalid, "status: %v", err)
	}
	return code, nil
}

// pointAtThread points an item at the thread of the path. Existing clients write a name of that
// thread into re. Only the ref of one of its messages adds anything, so others are removed.
// Suggestions may name any thread.
func pointAtThread(item mess.Item, t exchange.Envelope) error {
	var re *mess.Refs
	switch i := item.(type) {
	case *mess.Status:
		re = &i.Re
	case *mess.Response:
		re = &i.Re
	case *mess.Reply:
		re = &i.Re
	case *mess.Answer:
		re = &i.Re
	case *mess.Cancel:
		re = &i.Re
	case *mess.Suggestion, *mess.Other:
		return nil
	default:
		return mess.Errorf(mess.Invalid, "mess: %s: does not belong in a thread; post it to mess", item.Kind())
	}
	var kept mess.Refs
	for _, r := range *re {
		switch {
		case strings.HasPrefix(r, t.Ref+"/"):
			kept = append(kept, r)
		case t.Suggestion(r) != "":
			kept = append(kept, t.Suggestion(r))
		case r != t.Ref && r != mess.Last && (r != t.ClientID || r == ""):
			return mess.Errorf(mess.Invalid, "mess: %s.re: names %.60q, but the path names %s; leave re out", item.Kind(), r, t.Ref)
		}
	}
	*re = kept
	return nil
}

// withStatus adds the status to the message, unless an item has it. The status cancelled of the
// requester becomes a cancel.
func (c *call) withStatus(t exchange.Envelope, m mess.Message, code mess.Code, note string) mess.Message {
	if code == mess.Cancelled && c.isRequestCancel(t) {
		return withCancel(m, note)
	}
	for _, item := range m.Items {
		if s, ok := item.(*mess.Status); ok && s.Code == code {
			s.Message = cmp.Or(s.Message, note)
			return m
		}
	}
	m.Items = slices.Insert(m.Items, 0, mess.Item(statusWithNote(code, note)))
	return m
}

// isRequestCancel reports whether the caller's status cancelled cancels the request. From the
// holder it reports that the work has stopped.
func (c *call) isRequestCancel(t exchange.Envelope) bool {
	return c.actor.ID != t.Executor || c.actor.ID == t.Requester && t.CancelBy == ""
}

// withCancel returns m with one cancel, and without the status cancelled.
func withCancel(m mess.Message, note string) mess.Message {
	m.Items = slices.DeleteFunc(m.Items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return ok && s.Code == mess.Cancelled
	})
	if !slices.ContainsFunc(m.Items, func(i mess.Item) bool { return i.Kind() == mess.KindCancel }) {
		m.Items = slices.Insert(m.Items, 0, mess.Item(&mess.Cancel{Reason: note}))
	}
	return m
}

// statusWithNote returns a status that has only a note, which becomes the mandatory field of
// the status (MESS 1.0 section 4.2).
func statusWithNote(code mess.Code, note string) *mess.Status {
	s := &mess.Status{Code: code, Message: note}
	if note == "" {
		return s
	}
	switch code {
	case mess.NeedsInput:
		s.Questions = []mess.Question{{Field: "answer", Question: note}}
	case mess.NeedsConfirmation:
		s.Action = note
	case mess.Waiting:
		s.WaitingFor = &mess.WaitingFor{Type: "condition", Condition: note}
	}
	return s
}
