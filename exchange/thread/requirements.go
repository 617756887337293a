package thread

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/messkit/messkit/mess"
)

// Needs has the requirements of a request for its executors. For a pending thread, the exchange
// keeps only the envelope and its needs in memory.
type Needs struct {
	Requires      []mess.Capability
	Location      *mess.TargetArea // constraints.location
	Urgency       mess.Urgency
	Precision     mess.Precision
	ConfirmBefore bool
	BeginWithin   time.Duration // from the request, or from the confirmation, to the start; 0 unless DecideWithin is set
	DecideWithin  time.Duration // for which a confirmation suspends BeginWithin; 0 for not at all
}

// NeedsOf returns the needs of a request.
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

// HasCapability reports whether the request requires a capability.
func (n Needs) HasCapability(id string) bool {
	return slices.ContainsFunc(n.Requires, func(c mess.Capability) bool { return c.ID == id })
}

// stored is the JSON form of Needs: lists of words, unless there is metadata.
type stored struct {
	Requires      []string       `json:"requires,omitempty"`
	Urgency       mess.Urgency   `json:"urgency,omitempty"`
	Precision     mess.Precision `json:"precision,omitempty"`
	ConfirmBefore bool           `json:"confirm_before,omitempty"`
	BeginWithin   time.Duration  `json:"begin_within,omitempty"`  // in ns, as below
	DecideWithin  time.Duration  `json:"decide_within,omitempty"` // suspends BeginWithin
	Request       *mess.Request  `json:"request,omitempty"`       // requires and location, if they have metadata
}

// MarshalJSON writes the needs. Metadata and places have the form of a request (MESS 1.0 section
// 3.2).
func (n Needs) MarshalJSON() ([]byte, error) {
	s := stored{Urgency: n.Urgency, Precision: n.Precision, ConfirmBefore: n.ConfirmBefore, BeginWithin: n.BeginWithin, DecideWithin: n.DecideWithin}
	if n.Location != nil || slices.ContainsFunc(n.Requires, func(c mess.Capability) bool { return c.Meta != nil }) {
		s.Request = &mess.Request{Requires: n.Requires, Constraints: &mess.Constraints{Location: n.Location}}
		return json.Marshal(s)
	}
	for _, c := range n.Requires {
		s.Requires = append(s.Requires, c.ID)
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads the form of MarshalJSON.
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
	n.BeginWithin, n.DecideWithin = s.BeginWithin, s.DecideWithin
	return nil
}

// IsZero reports whether there are no requirements.
func (n Needs) IsZero() bool {
	return len(n.Requires) == 0 && n.Location == nil && n.Urgency == "" && n.Precision == "" && !n.ConfirmBefore && n.DecideWithin == 0
}
