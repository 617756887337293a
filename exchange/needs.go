package exchange

import (
	"encoding/json"

	"github.com/messkit/messkit/mess"
)

// Needs is what of a request decides who may take it. Of a thread that waits
// it is all that the exchange keeps in memory beside the envelope.
type Needs struct {
	Requires      []mess.Capability
	Location      *mess.Area // constraints.location
	Urgency       mess.Urgency
	Precision     mess.Precision
	ConfirmBefore bool
}

// NeedsOf are the needs of a request.
func NeedsOf(r mess.Request) Needs {
	n := Needs{Requires: r.Requires, Precision: r.Precision, ConfirmBefore: r.ConfirmBefore != nil && *r.ConfirmBefore}
	if c := r.Constraints; c != nil {
		n.Location = c.Location
		if c.Timing != nil {
			n.Urgency = c.Timing.Urgency
		}
	}
	return n
}

// request is a request that has these needs and nothing else.
func (n Needs) request() mess.Request {
	r := mess.Request{Requires: n.Requires, Precision: n.Precision}
	if n.ConfirmBefore {
		r.ConfirmBefore = &n.ConfirmBefore
	}
	if n.Location != nil || n.Urgency != "" {
		r.Constraints = &mess.Constraints{Location: n.Location}
	}
	if n.Urgency != "" {
		r.Constraints.Timing = &mess.Timing{Urgency: n.Urgency}
	}
	return r
}

// MarshalJSON writes the needs as the request that has them (MESS 1.0 section
// 3.2): metadata and places have forms of their own there.
func (n Needs) MarshalJSON() ([]byte, error) { return json.Marshal(n.request()) }

// UnmarshalJSON reads what MarshalJSON has written.
func (n *Needs) UnmarshalJSON(data []byte) error {
	var r mess.Request
	if err := json.Unmarshal(data, &r); err != nil {
		return err
	}
	*n = NeedsOf(r)
	return nil
}

// IsZero reports whether anybody may take it.
func (n Needs) IsZero() bool {
	return len(n.Requires) == 0 && n.Location == nil && n.Urgency == "" && n.Precision == "" && !n.ConfirmBefore
}

// Request is the request that made the thread; one that has only its intent,
// where no message bears it.
func (t Thread) Request() mess.Request {
	for _, m := range t.Messages {
		for _, item := range m.Items {
			if r, ok := item.(*mess.Request); ok {
				return *r
			}
		}
	}
	return mess.Request{Intent: t.Intent}
}
