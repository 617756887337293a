package exchange

import (
	"time"

	"github.com/messkit/messkit/mess"
)

// Envelope is an exchange's record of a thread (MESSE-AF 2.1, "Envelope
// Fields"), with what the exchange needs to guard its steps. Together with
// the messages of the same step it is stored as one.
type Envelope struct {
	Ref       string // {date}-{serial}-{tokenized-id}
	ClientID  string // the requester's own id, "" if none was given
	Requestor string
	Executor  string // who holds the claim, or held it last; "" before the first
	Status    mess.Code
	Created   time.Time
	Updated   time.Time
	NotBefore time.Time // zero if it may start at once
	Expires   time.Time // needed_by, else timing.expires; zero if never
	Intent    string
	Priority  mess.Priority
	History   []HistoryEntry

	Ver       uint64 // +1 with every stored step; the compare-and-swap is on it
	Epoch     uint64 // +1 with every claim: the fence
	Attempts  int    // claims so far that were lost before the start
	Phase     Phase
	Serial    int        // of the last message that got a ref
	Questions []OpenItem // what has been asked and not answered
	Confirm   *Confirm   // the confirmation that was asked for last, nil if none
	CancelBy  string     // who asked to cancel a task that had begun; "" if nobody
	Declined  []Declined // who was offered it and declined
	Request   mess.Request
}

// Phase tells what may have happened to the world.
type Phase string

// The phases of a thread. The start gate takes it from before to acting.
const (
	Before Phase = ""       // nothing physical has begun
	Acting Phase = "acting" // the gate was passed
	After  Phase = "after"  // a terminal status was accepted
)

// HistoryEntry is one change of state (MESSE-AF 2.1, "History Log").
type HistoryEntry struct {
	Action string // created, dispatched, replied, or a status code
	At     time.Time
	By     string
	Ref    string // the message that caused it, "" for acks and the exchange's own steps
	Note   string
}

// OpenItem is a question that waits for its answer.
type OpenItem struct {
	Key     string // the field or id that an answer names
	Message string // ref of the message that asked
}

// Confirm is a confirmation, asked for and perhaps given, bound to one claim
// and one plan.
type Confirm struct {
	Message    string // ref of the needs_confirmation message
	Epoch      uint64 // of the claim that asked
	ActionHash string // digest of the plan
	By         string // "operator" where the requester's own word is not enough
	Given      *bool  // nil while it is open
	GivenBy    string
}

// Declined is one executor's "not me".
type Declined struct {
	Executor string
	Reason   string
}

// Thread is an envelope with its messages in order.
type Thread struct {
	Envelope
	Messages []mess.Message
}

// Actor is who speaks to the exchange, as a door has authenticated it.
type Actor struct {
	ID    string
	Roles Role
}

// Role is a set of what an actor may do.
type Role uint8

// The roles.
const (
	Requester    Role = 1 << iota // makes requests; answers and cancels its own
	ExecutorRole                  // claims and reports
	Observer                      // sees every thread
	Operator                      // a person who runs the place: answers and cancels any thread, sets routing
)

// Has reports whether a has every role of r.
func (a Actor) Has(r Role) bool { return a.Roles&r == r }

// Inbound is what a door hands to the exchange.
type Inbound struct {
	Actor   Actor
	Channel string // the door: http, mqtt, mcp, cli, local
	Message mess.Message
}

// Event is something that happened, for one who follows the exchange.
type Event struct {
	ID      string // where to resume
	Kind    EventKind
	Thread  Envelope     // after what happened; zero for a reset
	Message mess.Message // offer: the request; message: what was said
}

// EventKind is the kind of an Event.
type EventKind string

// The kinds of event.
const (
	EventOffer     EventKind = "offer"     // to an executor: you may claim this
	EventWithdrawn EventKind = "withdrawn" // to an executor: not any more
	EventMessage   EventKind = "message"   // a message was stored; the thread is as shown
	EventReset     EventKind = "reset"     // what lies between the resume point and now is gone: read afresh
)

// Filter selects threads.
type Filter struct {
	Status    []mess.Code // any of these; none: all
	Executor  string
	Requestor string
	Since     time.Time // updated at or after
	Limit     int       // 0: 50; at most 1000
	Cursor    string    // from the page before
}

// Page is one page of a list, newest change first.
type Page struct {
	Threads []Envelope
	Cursor  string // "" on the last page
}

// ExecutorInfo is a registered executor.
type ExecutorInfo struct {
	mess.Executor
	Created  time.Time
	LastSeen time.Time
	Live     bool // heard of within the heartbeat time
}

// Attachment is a file that belongs to a thread.
type Attachment struct {
	Name   string // att-{serial}-{type}-{name}.{ext}
	MIME   string
	Size   int64  // bytes
	SHA256 string // hex
}
