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

// Envelope is an exchange's record of a thread (MESSE-AF 2.1, "Envelope
// Fields"), with what the exchange needs to guard its steps. Together with
// the messages of the same step it is stored as one.
type Envelope struct {
	Ref       string         `json:",omitzero"` // {date}-{serial}-{tokenized-id}
	ClientID  string         `json:",omitzero"` // the requester's own id, "" if none was given
	Requestor string         `json:",omitzero"`
	Executor  string         `json:",omitzero"` // who holds the claim, or held it last; "" before the first
	Status    mess.Code      `json:",omitzero"`
	Created   time.Time      `json:",omitzero"`
	Updated   time.Time      `json:",omitzero"`
	NotBefore time.Time      `json:",omitzero"` // zero if it may start at once
	Expires   time.Time      `json:",omitzero"` // needed_by, else timing.expires; zero if never
	Intent    string         `json:",omitzero"`
	Priority  mess.Priority  `json:",omitzero"`
	History   []HistoryEntry `json:",omitzero"`

	Rev       Rev                `json:"-"`         // of the store, as far as it is known; a store neither reads nor sets it
	Op        string             `json:",omitzero"` // identifies the step that has stored the envelope
	Ver       uint64             `json:",omitzero"` // +1 with every stored step
	Epoch     uint64             `json:",omitzero"` // +1 with every claim: the fence
	Instance  string             `json:",omitzero"` // the process of the executor that has claimed it, as it names itself; "" if it does not
	Attempts  int                `json:",omitzero"` // claims that were lost before the start
	Phase     Phase              `json:",omitzero"` // what may have happened to the world
	Effect    string             `json:",omitzero"` // of the plan that passed the start gate: query, idempotent or once; "" is once
	Estimate  time.Duration      `json:",omitzero"` // by the holder, 0 if unknown
	Serial    int                `json:",omitzero"` // of the last message that got a ref
	Questions []OpenQuestion     `json:",omitzero"` // what has been asked and not answered
	Confirm   *Confirm           `json:",omitzero"` // the confirmation that was asked for last, nil if none
	BegunBy   string             `json:",omitzero"` // who began under an earlier claim and was lost; "" if nobody
	CancelBy  string             `json:",omitzero"` // who asked to cancel a task that had begun; "" if nobody
	HeldFrom  mess.Code          `json:",omitzero"` // the status before the exchange held the thread for its silent executor; "" if it did not
	HandedTo  string             `json:",omitzero"` // whom the last holder has passed it on to; "" if to nobody
	Stopped   bool               `json:",omitzero"` // everything was stopped while it waited: it is left to people
	Stops     uint64             `json:",omitzero"` // one more than how often everything had been stopped when it was asked; 0 if that is not known
	Declined  []Decline          `json:",omitzero"` // who was offered it and declined
	Seen      []ProcessedMessage `json:",omitzero"` // messages that bore an id of their sender\'s, the last of them
	Proposals []Proposal         `json:",omitzero"` // what was suggested and not answered
	DependsOn []string           `json:",omitzero"` // refs of the threads that must be completed first; of one that has not come yet, its requester's id
	Needs     Needs              `json:",omitzero"` // what decides who may take it; the request itself is in the first message
}

// Phase tells what may have happened to the world.
type Phase string

// The phases of a thread. The start gate takes it from before to acting.
const (
	NotStarted Phase = ""       // nothing physical has begun
	Started    Phase = "acting" // the gate was passed
	Finished   Phase = "after"  // a terminal status was accepted
)

// Holder is the executor that holds the claim, or "".
func (e Envelope) Holder() string {
	if e.Status == mess.Pending || e.Status.Terminal() {
		return ""
	}
	return e.Executor
}

// HasOtherInstance reports whether a process that names itself, and not instance, has
// claimed the thread.
func (e Envelope) HasOtherInstance(instance string) bool {
	return e.Instance != "" && e.Instance != instance
}

// IsUnreachable reports whether the exchange holds the thread because its
// executor is silent.
func (e Envelope) IsUnreachable() bool { return e.HeldFrom != "" }

// HasDeclined reports whether an executor has said "not me".
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

// Holders are those who have ever held the claim, some of them more than once. An
// answer to a question, or a yes, leads back to claimed too, in the name of who says it,
// and is no claim of his.
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

// Parties are the ids of those who have requested a thread, hold it or have held it.
func (e *Envelope) Parties() []string {
	ids := []string{e.Requestor}
	if e.Executor != "" && e.Executor != e.Requestor {
		ids = append(ids, e.Executor)
	}
	for id := range e.Holders() {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// IsParty reports whether id has requested the thread, holds it or has held it, or
// might be offered it still.
func (e Envelope) IsParty(id string) bool {
	return e.Requestor == id || e.Executor == id || e.Status == mess.Pending || e.HasHeld(id)
}

// MESSEAF is the envelope as MESSE-AF has it. What only guards steps is left
// out: of a thread that has ended none of it is needed any more.
func (e Envelope) MESSEAF() messeaf.Envelope {
	m := messeaf.Envelope{
		Ref: e.Ref, ClientID: e.ClientID, Requestor: e.Requestor, Executor: e.Executor, Status: e.Status,
		Created: mess.TimeOf(e.Created), Updated: mess.TimeOf(e.Updated), Expires: mess.TimeOf(e.Expires),
		Intent: e.Intent, Priority: e.Priority,
	}
	for _, h := range e.History {
		m.History = append(m.History, messeaf.Entry{Action: h.Action, At: mess.TimeOf(h.At), By: h.By, Ref: h.Ref, Note: h.Note})
	}
	return m
}

// Clone returns e with lists of its own.
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
	Ref    string // the message that caused it, "" for acks and the exchange's own steps
	Note   string
}

// OpenQuestion is a question that waits for its answer.
type OpenQuestion struct {
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
	Earlier    []PastConfirmation // what the same claim has asked before, the first first
}

// PastConfirmation is a confirmation that was asked for before the present one.
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

// Next returns q as the confirmation that is asked for now, after c, which may
// be nil.
func (c *Confirm) Next(q Confirm) *Confirm {
	if c != nil && c.Epoch == q.Epoch {
		q.Earlier = append(slices.Clone(c.Earlier), PastConfirmation{c.Message, c.ActionHash, c.Given})
		q.Earlier = q.Earlier[max(0, len(q.Earlier)-maxAsked):]
	}
	return &q
}

// All lists what the claim has asked, the present question last.
func (c *Confirm) All(epoch uint64) []PastConfirmation {
	if c == nil || c.Epoch != epoch {
		return nil
	}
	return append(slices.Clone(c.Earlier), PastConfirmation{c.Message, c.ActionHash, c.Given})
}

// Decline is one executor's "not me".
type Decline struct {
	Executor string
	Reason   string
	Barred   bool `json:",omitempty"` // because something keeps it from acting
}

// ProcessedMessage is a message that bore an id of its sender's: the same one again gets
// the same answer and changes nothing.
type ProcessedMessage struct {
	From, ID string
	Ref      string // the message's ref
}

// MaxProcessed bounds the ids that a thread remembers.
const MaxProcessed = 64

// Processed returns the ref of the message that from has sent as id before.
func (e Envelope) Processed(from, id string) (string, bool) {
	for _, s := range e.Seen {
		if s.From == from && s.ID == id && id != "" {
			return s.Ref, true
		}
	}
	return "", false
}

// Proposal is a suggestion that waits for an answer.
type Proposal struct {
	ID      string    `json:",omitzero"` // its sender's
	Message string    // ref of the message that has made it
	Type    string    // delegate, defer or alternative
	To      string    `json:",omitzero"` // delegate: the executor
	Until   time.Time `json:",omitzero"` // defer: when the request may start
}

// Suggestion is the ref of the message with a suggestion that waits for an answer, by its
// sender's id for it; "" if there is none.
func (e Envelope) Suggestion(id string) string {
	for _, p := range e.Proposals {
		if p.ID == id && id != "" {
			return p.Message
		}
	}
	return ""
}

// IsVisibleTo reports whether an actor is a party of the thread, or one of those who see
// all.
func (e *Envelope) IsVisibleTo(a Actor) bool {
	return a.ID == e.Requestor || a.ID == e.Executor || a.SeesAll() || e.HasHeld(a.ID)
}

// IsBarred reports whether a robot has declined because it is kept from acting.
func (e *Envelope) IsBarred() bool {
	return slices.ContainsFunc(e.Declined, func(d Decline) bool { return d.Barred })
}

// Summary is a thread in the answer to a query.
func (e Envelope) Summary() mess.Object {
	o := mess.Object{{Key: "ref", Value: e.Ref}}
	if e.ClientID != "" {
		o = append(o, mess.Field{Key: "id", Value: e.ClientID})
	}
	o = append(o, mess.Field{Key: "status", Value: string(e.Status)}, mess.Field{Key: "intent", Value: e.Intent})
	if e.Requestor != "" {
		o = append(o, mess.Field{Key: "requestor", Value: e.Requestor})
	}
	if e.Executor != "" {
		o = append(o, mess.Field{Key: "executor", Value: e.Executor})
	}
	return append(o, mess.Field{Key: "updated", Value: string(mess.TimeOf(e.Updated))})
}

// DeclineReasons are those of all who have declined.
func (e Envelope) DeclineReasons() string {
	var reasons []string
	for _, d := range e.Declined {
		reasons = append(reasons, d.Executor+": "+cmp.Or(d.Reason, "gave no reason"))
	}
	return strings.Join(reasons, "; ")
}
