// Package thread has the types of an exchange and its stores: envelopes and
// threads, actors and roles, events, filters, and the interface of a store. It
// knows no transition rule, no channel and no disk.
package thread

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// Envelope is the record that an exchange has of a thread (MESSE-AF 2.1, "Envelope Fields"), with
// the state that its rules need. A store writes it together with the messages of the same step.
type Envelope struct {
	Ref       string         `json:",omitzero"` // {date}-{serial}-{tokenized-id}
	ClientID  string         `json:",omitzero"` // id by the requester, or ""
	Requester string         `json:"Requestor,omitzero"`
	Executor  string         `json:",omitzero"` // holder of the claim, or the last one; "" before the first
	Status    mess.Code      `json:",omitzero"`
	Created   time.Time      `json:",omitzero"`
	Updated   time.Time      `json:",omitzero"`
	NotBefore time.Time      `json:",omitzero"` // zero for no limit
	Expires   time.Time      `json:",omitzero"` // needed_by, else timing.expires; zero for never
	Intent    string         `json:",omitzero"`
	Priority  mess.Priority  `json:",omitzero"`
	History   []HistoryEntry `json:",omitzero"`

	Rev         Rev                `json:"-"`                 // last known revision in the store; stores neither read nor set it
	Op          string             `json:",omitzero"`         // identifies the step that has written the envelope
	Ver         uint64             `json:",omitzero"`         // +1 with every step
	Epoch       uint64             `json:",omitzero"`         // +1 with every claim: the fencing token
	Instance    string             `json:",omitzero"`         // process of the executor that has claimed it; "" if the executor does not name it
	Attempts    int                `json:",omitzero"`         // claims lost before the start
	Phase       Phase              `json:",omitzero"`         // whether physical effects are possible
	Effect      string             `json:",omitzero"`         // effect of the started plan: query, idempotent or once; "" is once
	Estimate    time.Duration      `json:",omitzero"`         // of the holder, 0 if unknown
	Serial      int                `json:",omitzero"`         // of the last message with a ref
	Questions   []OpenQuestion     `json:",omitzero"`         // without an answer
	Confirm     *Confirm           `json:",omitzero"`         // the last confirmation, or nil
	BegunBy     string             `json:",omitzero"`         // lost executor that has started under an earlier claim, or ""
	CancelBy    string             `json:",omitzero"`         // actor that has cancelled it after the start, or ""
	HeldFrom    mess.Code          `json:",omitzero"`         // status before the exchange held the thread for its silent executor, or ""
	DelegatedTo string             `json:"HandedTo,omitzero"` // executor to which the last holder has delegated it, or ""
	Stopped     bool               `json:",omitzero"`         // a stop of everything has left it to people
	Stops       uint64             `json:",omitzero"`         // 1 + number of stops of everything before its creation; 0 if unknown
	Declined    []Decline          `json:",omitzero"`         // executors that have declined it
	Seen        []ProcessedMessage `json:",omitzero"`         // the last messages with an id of their sender
	Proposals   []Proposal         `json:",omitzero"`         // open suggestions
	DependsOn   []string           `json:",omitzero"`         // refs of the threads that it waits for; the client id of one that does not exist yet
	Needs       Needs              `json:",omitzero"`         // requirements; the request itself is in the first message
	Uses        []Use              `json:",omitzero"`         // what the last holder has said that it uses
	Trace       string             `json:",omitzero"`         // trace context of the request (package traceparent), or ""
}

// Use is a device of the holder of a thread, with the capability for which it uses it.
type Use struct{ Device, Capability string }

// maxUses limits the devices of a thread.
const maxUses = 16

// SetUses takes what a report says about the devices that its sender uses, if it says anything.
func (e *Envelope) SetUses(report mess.Object) {
	value, given := report.Get(mess.UsesField)
	if !given {
		return
	}
	list, _ := value.([]any)
	e.Uses = nil
	for _, one := range list[:min(len(list), maxUses)] {
		o, _ := one.(mess.Object)
		if u := (Use{o.Text("device"), o.Text("capability")}); u.Device != "" && u.Capability != "" && !slices.Contains(e.Uses, u) {
			e.Uses = append(e.Uses, u)
		}
	}
}

// Phase says whether physical effects are possible.
type Phase string

// The phases of a thread. The start permission leads from NotStarted to Started.
const (
	NotStarted Phase = ""       // no physical effect yet
	Started    Phase = "acting" // the exchange has permitted the start
	Finished   Phase = "after"  // it has a terminal status
)

// ExtendForConfirmation moves the expiry of a thread whose executor asks for a confirmation now. The
// request has set for how long; without that, nothing changes.
func (e *Envelope) ExtendForConfirmation(now time.Time) {
	if e.Needs.DecideWithin > 0 {
		e.Expires = now.Add(e.Needs.DecideWithin)
	}
}

// LimitFrom moves the expiry of a thread after ExtendForConfirmation: the start must follow the
// confirmation, or after a lost claim the request, as soon as the request has set.
func (e *Envelope) LimitFrom(began time.Time) {
	if e.Needs.DecideWithin > 0 {
		e.Expires = began.Add(e.Needs.BeginWithin)
	}
}

// Holder returns the executor that holds the claim, or "".
func (e Envelope) Holder() string {
	if e.Status == mess.Pending || e.Status.Terminal() {
		return ""
	}
	return e.Executor
}

// HasOtherInstance reports whether a named process other than instance has claimed the thread.
func (e Envelope) HasOtherInstance(instance string) bool {
	return e.Instance != "" && e.Instance != instance
}

// IsUnreachable reports whether the exchange holds the thread because its
// executor is silent.
func (e Envelope) IsUnreachable() bool { return e.HeldFrom != "" }

// HasDeclined reports whether an executor has declined the thread.
func (e Envelope) HasDeclined(id string) bool {
	return slices.ContainsFunc(e.Declined, func(d Decline) bool { return d.Executor == id })
}

// HasHeld reports whether id has ever held the claim.
func (e Envelope) HasHeld(id string) bool {
	for holder := range e.Holders() {
		if holder == id {
			return true
		}
	}
	return false
}

// Holders yields all executors that have ever held the claim, some of them repeatedly. Answers and
// confirmations also lead to claimed, but their senders do not hold the claim.
func (e *Envelope) Holders() iter.Seq[string] {
	return func(yield func(string) bool) {
		var before mess.Code
		for _, h := range e.History {
			switch at := mess.Code(h.Action); at {
			case "replied":
				continue
			case mess.Claimed:
				if before != mess.NeedsConfirmation && before != mess.NeedsInput && !yield(h.By) {
					return
				}
				before = at
			default:
				before = at
			}
		}
	}
}

// Parties returns the ids of the requester and of all present and former holders.
func (e *Envelope) Parties() []string {
	ids := []string{e.Requester}
	if e.Executor != "" && e.Executor != e.Requester {
		ids = append(ids, e.Executor)
	}
	for id := range e.Holders() {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// MESSEAF returns the envelope in the form of MESSE-AF, without the fields that only guard steps.
func (e Envelope) MESSEAF() messeaf.Envelope {
	m := messeaf.Envelope{
		Ref: e.Ref, ClientID: e.ClientID, Requester: e.Requester, Executor: e.Executor, Status: e.Status,
		Created: mess.TimeOf(e.Created), Updated: mess.TimeOf(e.Updated), Expires: mess.TimeOf(e.Expires),
		Intent: e.Intent, Priority: e.Priority,
	}
	for _, h := range e.History {
		m.History = append(m.History, messeaf.Entry{Action: h.Action, At: mess.TimeOf(h.At), By: h.By, Ref: h.Ref, Note: h.Note})
	}
	return m
}

// Clone returns a copy with lists of its own.
func (e Envelope) Clone() Envelope {
	e.History, e.Questions = slices.Clone(e.History), slices.Clone(e.Questions)
	e.Declined, e.Seen = slices.Clone(e.Declined), slices.Clone(e.Seen)
	if e.Confirm != nil {
		e.Confirm = new(*e.Confirm)
	}
	return e
}

// HistoryEntry is one change of state (MESSE-AF 2.1, "History Log").
type HistoryEntry struct {
	Action string // created, dispatched, replied, or a status code
	At     time.Time
	By     string
	Ref    string // message that caused it; "" for acks and steps of the exchange
	Note   string
}

// OpenQuestion is a question without an answer.
type OpenQuestion struct {
	Key     string // field or id for the answer
	Message string // ref of the message with the question
}

// Confirm is a confirmation, open or answered, for one claim and one plan.
type Confirm struct {
	Message    string // ref of the needs_confirmation message
	Epoch      uint64 // of the claim
	ActionHash string // digest of the plan
	By         string // "operator" if the requester may not confirm it
	Given      *bool  // nil without an answer
	GivenBy    string
	Earlier    []PastConfirmation // earlier confirmations of the same claim, oldest first
}

// PastConfirmation is a confirmation before the present one of the same claim.
type PastConfirmation struct {
	Message    string // ref of the needs_confirmation message
	ActionHash string
	Given      *bool // nil if there was no answer until the next question
}

// IsNamed reports whether refs and a digest, as far as there are any, mean a.
func (a PastConfirmation) IsNamed(refs []string, hash string) bool {
	return (hash == "" || hash == a.ActionHash) && !slices.ContainsFunc(refs, func(r string) bool { return r != a.Message })
}

// maxAsked bounds the questions that a claim remembers.
const maxAsked = 64

// Next returns q as the open confirmation after c, which may be nil.
func (c *Confirm) Next(q Confirm) *Confirm {
	if c != nil && c.Epoch == q.Epoch {
		q.Earlier = append(slices.Clone(c.Earlier), PastConfirmation{c.Message, c.ActionHash, c.Given})
		q.Earlier = q.Earlier[max(0, len(q.Earlier)-maxAsked):]
	}
	return &q
}

// All lists the confirmations of a claim, the present one last.
func (c *Confirm) All(epoch uint64) []PastConfirmation {
	if c == nil || c.Epoch != epoch {
		return nil
	}
	return append(slices.Clone(c.Earlier), PastConfirmation{c.Message, c.ActionHash, c.Given})
}

// Decline is the decline of one executor.
type Decline struct {
	Executor string
	Reason   string
	Barred   bool `json:",omitempty"` // a stop, a lockout or a policy rule prevents it from acting
}

// ProcessedMessage is a message with an id of its sender. The same message again gets the same
// answer and changes nothing.
type ProcessedMessage struct {
	From, ID string
	Ref      string // of the message
}

// MaxProcessed limits the ProcessedMessages of a thread.
const MaxProcessed = 64

// Processed returns the ref of the message that an actor has sent with an id before.
func (e Envelope) Processed(from, id string) (string, bool) {
	for _, s := range e.Seen {
		if s.From == from && s.ID == id && id != "" {
			return s.Ref, true
		}
	}
	return "", false
}

// Proposal is a suggestion without an answer.
type Proposal struct {
	ID      string    `json:",omitzero"` // by its sender
	Message string    // ref of the message with the suggestion
	Type    string    // delegate, defer or alternative
	To      string    `json:",omitzero"` // delegate: the executor
	Until   time.Time `json:",omitzero"` // defer: when the request may start
}

// Suggestion returns the ref of the message with an open suggestion, by the id of its sender, or
// "".
func (e Envelope) Suggestion(id string) string {
	for _, p := range e.Proposals {
		if p.ID == id && id != "" {
			return p.Message
		}
	}
	return ""
}

// IsVisibleTo reports whether an actor is a party of the thread, or sees every thread.
func (e *Envelope) IsVisibleTo(a Actor) bool {
	return a.ID == e.Requester || a.ID == e.Executor || a.SeesAll() || e.HasHeld(a.ID)
}

// IsBarred reports whether a robot has declined because something prevents it from acting.
func (e *Envelope) IsBarred() bool {
	return slices.ContainsFunc(e.Declined, func(d Decline) bool { return d.Barred })
}

// Summary returns the thread in the form of an answer to a query (MESS 1.0 section 7.3).
func (e Envelope) Summary() mess.Object {
	o := mess.Object{{Key: "ref", Value: e.Ref}}
	if e.ClientID != "" {
		o = append(o, mess.Field{Key: "id", Value: e.ClientID})
	}
	o = append(o, mess.Field{Key: "status", Value: string(e.Status)}, mess.Field{Key: "intent", Value: e.Intent})
	if e.Requester != "" {
		o = append(o, mess.Field{Key: "requestor", Value: e.Requester})
	}
	if e.Executor != "" {
		o = append(o, mess.Field{Key: "executor", Value: e.Executor})
	}
	return append(o, mess.Field{Key: "updated", Value: string(mess.TimeOf(e.Updated))})
}

// DeclineReasons joins the reasons of all declines.
func (e Envelope) DeclineReasons() string {
	var reasons []string
	for _, d := range e.Declined {
		reasons = append(reasons, d.Executor+": "+cmp.Or(d.Reason, "gave no reason"))
	}
	return strings.Join(reasons, "; ")
}
