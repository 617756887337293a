package thread

import (
	"encoding/json"
	"slices"

	"github.com/messkit/messkit/mess"
)

// Needs is what of a request decides who may take it. Of a thread that waits
// it is all that the exchange keeps in memory beside the envelope.
type Needs struct {
	Requires      []mess.Capability
	Location      *mess.TargetArea // constraints.location
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

// stored is how needs are written: plainly, unless there is more to them than
// words.
type stored struct {
	Requires      []string       `json:"requires,omitempty"`
	Urgency       mess.Urgency   `json:"urgency,omitempty"`
	Precision     mess.Precision `json:"precision,omitempty"`
	ConfirmBefore bool           `json:"confirm_before,omitempty"`
	Request       *mess.Request  `json:"request,omitempty"` // with requires and location, where they have metadata
}

// MarshalJSON writes the needs. Metadata and places are written as in a request
// that has them (MESS 1.0 section 3.2).
func (n Needs) MarshalJSON() ([]byte, error) {
	s := stored{Urgency: n.Urgency, Precision: n.Precision, ConfirmBefore: n.ConfirmBefore}
	if n.Location != nil || slices.ContainsFunc(n.Requires, func(c mess.Capability) bool { return c.Meta != nil }) {
		s.Request = &mess.Request{Requires: n.Requires, Constraints: &mess.Constraints{Location: n.Location}}
		return json.Marshal(s)
	}
	for _, c := range n.Requires {
		s.Requires = append(s.Requires, c.ID)
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (n *Needs) UnmarshalJSON(data []byte) error {
	var s stored
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s.Request != nil {
		*n = NeedsOf(*s.Request)
	}
	for _, id := range s.Requires {
		n.Requires = append(n.Requires, mess.Capability{ID: id})
	}
	n.Urgency, n.Precision, n.ConfirmBefore = s.Urgency, s.Precision, s.ConfirmBefore
	return nil
}

// IsZero reports whether anybody may take it.
func (n Needs) IsZero() bool {
	return len(n.Requires) == 0 && n.Location == nil && n.Urgency == "" && n.Precision == "" && !n.ConfirmBefore
}
