package mess

import "slices"

// Request asks for an action in the physical world (MESS 1.0 section 3.2, 1.1 section 4).
// Only Intent is required.
type Request struct {
	ID            string         `mess:"id"`
	Intent        string         `mess:"intent,words"`
	Precision     Precision      `mess:"precision"`
	NeededBy      Time           `mess:"needed_by"`      // 1.1 section 1.1; takes precedence over constraints.timing.expires
	ConfirmBefore *bool          `mess:"confirm_before"` // 1.1 section 1.2
	Requires      []Capability   `mess:"requires"`
	Context       []Entry        `mess:"context"`
	Constraints   *Constraints   `mess:"constraints"`
	ResponseHint  []ResponseHint `mess:"response_hint"`
	Priority      Priority       `mess:"priority"`
	Compensation  *Compensation  `mess:"compensation"`
	Extra         Object         `mess:"*"`
}

// Precision is how literally the executor must interpret the intent.
type Precision string

// Values of Precision.
const (
	Loose  Precision = "loose"
	Guided Precision = "guided"
	Exact  Precision = "exact"
)

// Priority orders requests; "" means normal.
type Priority string

// Values of Priority.
const (
	Background Priority = "background"
	Normal     Priority = "normal"
	Elevated   Priority = "elevated"
	Urgent     Priority = "urgent"
)

// Capability is a capability id with optional metadata that the exchange defines (MESS 1.0
// section 8.5). Short form: only the id; long form: {id: metadata}.
type Capability struct {
	ID   string
	Meta any // nil in the short form
}

// Constraints limits a request (MESS 1.0 section 3.2).
type Constraints struct {
	Location    *TargetArea `mess:"location"`
	Timing      *Timing     `mess:"timing"`
	Environment []string    `mess:"environment"`
	DependsOn   Refs        `mess:"depends_on,list"`
	Extra       Object      `mess:"*"`
}

// TargetArea is a target area: a name (short form), or a circle. It differs from Location, which
// is a position (MESS 1.1 section 3.2).
type TargetArea struct {
	Name     string   // the short form; "" with coordinates
	Lat      *float64 `mess:"lat"`       // degrees north
	Lng      *float64 `mess:"lng"`       // degrees east
	RadiusKM *float64 `mess:"radius_km"` // kilometers
	Extra    Object   `mess:"*"`
}

// Timing limits the time of a request (MESS 1.0 section 3.2).
type Timing struct {
	NotBefore Time           `mess:"not_before"`
	Expires   TimeOrDuration `mess:"expires"` // datetime, or duration from receipt
	Urgency   Urgency        `mess:"urgency"`
	Extra     Object         `mess:"*"`
}

// Urgency of a request; "" means whenever.
type Urgency string

// Values of Urgency.
const (
	Whenever Urgency = "whenever"
	Soon     Urgency = "soon"
	Now      Urgency = "now"
)

// ResponseHint asks for a type of content in the response, with an optional
// specification (MESS 1.0 section 3.2, 1.1 section 3.1). Short form: the type.
type ResponseHint struct {
	Type string
	Spec any // nil in the short form
}

// Compensation offered for a request.
type Compensation struct {
	Shells *int64 `mess:"shells"`
	Note   string `mess:"note"`
	Extra  Object `mess:"*"`
}

// Rank orders waiting requests: by priority, then by urgency. A higher rank comes first.
func Rank(p Priority, u Urgency) int {
	if p == "" {
		p = Normal
	}
	by := slices.Index([]Priority{Background, Normal, Elevated, Urgent}, p)
	return 3*by + max(0, slices.Index([]Urgency{Whenever, Soon, Now}, u))
}
