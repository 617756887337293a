// Package intake reads the messages of MESS that clients send through a broker or a NATS server,
// and makes the answers to invalid ones. It knows no transport.
package intake

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Max is the limit of a payload, in bytes. The parser limits what is inside.
const Max = 10 << 20

// maxID is the limit of a message id in a reply to an invalid message, in bytes.
const maxID = 128

// Read reads a payload. A request that may arrive twice needs an id, which identifies the second one
// as the same. With an error, a *mess.Error, the message has only its id, if that is readable.
func Read(data []byte, mayRepeat bool) (mess.Message, error) {
	if len(data) > Max {
		return mess.Message{}, mess.Errorf(mess.TooLarge, "a message of %d bytes is too large; send files as attachments", len(data))
	}
	all, err := mess.ParseValid(data)
	switch {
	case err != nil:
	case len(all) != 1:
		err = fmt.Errorf("there are %d documents; send one message at a time", len(all))
	default:
		if err = setRequestIDs(&all[0], mayRepeat); err == nil {
			return all[0], nil
		}
	}
	return mess.Message{ID: readID(data)}, mess.Errorf(mess.Invalid, "%v", err)
}

// readID returns the id of an invalid message for the reply, or "" if the id is unusable.
func readID(payload []byte) string {
	o, err := mess.ParseObject(payload)
	if err != nil {
		return ""
	}
	id := o.Text("id")
	if len(id) > maxID || strings.ContainsFunc(id, unicode.IsControl) {
		return ""
	}
	return id
}

// setRequestIDs gives each request without an id the id of the message. So the same message
// again is the same request.
func setRequestIDs(m *mess.Message, again bool) error {
	n := 0
	for _, item := range m.Items {
		r, ok := item.(*mess.Request)
		if !ok {
			continue
		}
		n++
		switch {
		case r.ID != "":
		case m.ID != "" && n == 1:
			r.ID = m.ID
		case m.ID != "":
			r.ID = fmt.Sprintf("%s-%d", m.ID, n)
		case again:
			return errors.New("id: is missing; add one, because a message with QoS 1 may arrive twice")
		}
	}
	return nil
}

// Rejection returns an error of the exchange as a message.
func Rejection(err error) mess.Message {
	r, ok := errors.AsType[*mess.Error](err)
	if !ok {
		r = mess.Errorf(mess.Unavailable, "%v", err)
	}
	ack := &mess.Ack{Ref: r.Ref, Status: r.Status, Extra: mess.Object{{Key: "why", Value: string(r.Code)}, {Key: "error", Value: r.Text}}}
	if r.Holder != "" {
		ack.Extra = ack.Extra.Set("executor_id", r.Holder)
	}
	if len(r.Allowed) > 0 {
		legal := make([]any, len(r.Allowed))
		for i, c := range r.Allowed {
			legal[i] = string(c)
		}
		ack.Extra = ack.Extra.Set("legal", legal)
	}
	return mess.Message{From: exchange.Self, Items: []mess.Item{ack}}
}

// Attached returns the answer to an attachment that the exchange has.
func Attached(ref string, m mess.Media, at mess.Time) mess.Message {
	ack := &mess.Ack{Ref: ref, Extra: mess.Object{{Key: "attachment", Value: m}}}
	return mess.Message{From: exchange.Self, Received: at, Items: []mess.Item{ack}}
}

// IsLogged reports whether to log the nth event of a kind: the first ten, and then at powers of
// two.
func IsLogged(n int64) bool { return n <= 10 || n&(n-1) == 0 }
