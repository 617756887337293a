package mess

import (
	"fmt"
	"slices"
	"strings"
)

// Code is a status code (MESS 1.0 section 4.2), or pending, MESSE-AF's name for an
// unclaimed thread.
type Code string

// The status codes.
const (
	Received          Code = "received"
	Pending           Code = "pending"
	Claimed           Code = "claimed"
	InProgress        Code = "in_progress"
	Waiting           Code = "waiting"
	Held              Code = "held"
	Retrying          Code = "retrying"
	NeedsInput        Code = "needs_input"
	NeedsConfirmation Code = "needs_confirmation"
	Completed         Code = "completed"
	Partial           Code = "partial"
	Failed            Code = "failed"
	Declined          Code = "declined"
	Expired           Code = "expired"
	Cancelled         Code = "cancelled"
	Superseded        Code = "superseded"
	Delegated         Code = "delegated"
)

// Party is an actor that may change the status of a thread.
type Party uint8

// The parties.
const (
	ByExecutor  Party = 1 << iota // the holder of the claim (for a claim: an executor with an offer)
	ByRequester                   // the requester, or an operator
	ByExchange                    // the exchange itself: time, leases, received answers
)

var partyNames = map[Party]string{ByExecutor: "executor", ByRequester: "requester", ByExchange: "exchange"}

func (p Party) String() string {
	var names []string
	for _, q := range []Party{ByExecutor, ByRequester, ByExchange} {
		if p&q != 0 {
			names = append(names, partyNames[q])
		}
	}
	return strings.Join(names, "|")
}

const (
	ex = ByExecutor
	rq = ByRequester
	xc = ByExchange
)

// transitions is the state machine of MESS 1.0 sections 4.2 and 9, with the parties of each
// transition. The exchange checks the other guards (leases, fencing tokens, confirmation).
//
// A transition from a state to itself is a repeated report (progress, a new estimate),
// which only the executor sends.
var transitions = map[Code]map[Code]Party{
	Pending: {
		Claimed: ex, Declined: xc, Expired: xc, Cancelled: rq, Failed: xc, Superseded: rq | xc, Delegated: xc,
	},
	Claimed: working(map[Code]Party{
		Claimed: ex, Pending: xc, InProgress: ex, Declined: ex,
	}),
	InProgress: working(map[Code]Party{
		InProgress: ex, Pending: xc,
	}),
	Waiting: working(map[Code]Party{
		Waiting: ex, InProgress: ex | xc, Claimed: ex | xc, Pending: xc, Expired: ex | xc, Declined: ex,
	}),
	Held: working(map[Code]Party{
		Held: ex, InProgress: ex | xc, Claimed: ex | xc, Pending: xc, Expired: ex | xc, Declined: ex,
	}),
	Retrying: working(map[Code]Party{
		Retrying: ex, InProgress: ex | xc, Pending: xc,
	}),
	NeedsInput: working(map[Code]Party{
		NeedsInput: ex, InProgress: ex | xc, Claimed: ex | xc, Pending: xc, Declined: ex,
	}),
	NeedsConfirmation: working(map[Code]Party{
		NeedsConfirmation: ex, InProgress: ex | xc, Claimed: ex | xc, Pending: xc, Declined: ex,
	}),
	Completed: {}, Partial: {}, Failed: {}, Declined: {}, Expired: {}, Cancelled: {}, Superseded: {}, Delegated: {},
}

// working adds the transitions from every state in which an executor holds the thread.
func working(more map[Code]Party) map[Code]Party {
	steps := map[Code]Party{
		Waiting: ex, Held: ex | xc, Retrying: ex, NeedsInput: ex, NeedsConfirmation: ex,
		Completed: ex, Partial: ex, Failed: ex | xc, Expired: xc,
		Cancelled: ex | rq, Superseded: ex | rq | xc, Delegated: ex,
	}
	for to, party := range more {
		steps[to] = party
	}
	return steps
}

// Known reports whether c is a status of a thread.
func (c Code) Known() bool { _, ok := transitions[c]; return ok }

// Terminal reports whether c is a terminal status.
func (c Code) Terminal() bool { steps, ok := transitions[c]; return ok && len(steps) == 0 }

// Next returns the codes that who may set after c, sorted.
func (c Code) Next(party Party) []Code {
	var next []Code
	for to, by := range transitions[c] {
		if by&party != 0 {
			next = append(next, to)
		}
	}
	slices.Sort(next)
	return next
}

// Step returns nil if who may change a thread from one status to the other, else a
// *TransitionError.
func Step(from, to Code, party Party) error {
	if transitions[from][to]&party != 0 {
		return nil
	}
	return &TransitionError{From: from, To: to, By: party, Legal: from.Next(party)}
}

// TransitionError reports a transition that the state machine does not allow.
type TransitionError struct {
	From, To Code
	By       Party
	Legal    []Code // allowed transitions of the same party from From
}

func (e *TransitionError) Error() string {
	if len(e.Legal) == 0 {
		return fmt.Sprintf("%s to %s: not a step the %s may take; none is open to it from %[1]s", e.From, e.To, e.By)
	}
	return fmt.Sprintf("%s to %s: not a step the %s may take; open to it: %s", e.From, e.To, e.By, join(e.Legal))
}

func join(codes []Code) string {
	s := make([]string, len(codes))
	for i, c := range codes {
		s[i] = string(c)
	}
	return strings.Join(s, ", ")
}

// codes returns all status codes, sorted.
func codes() []Code {
	all := []Code{Received}
	for c := range transitions {
		all = append(all, c)
	}
	slices.Sort(all)
	return all
}

// Transition is a step in the life of a task that matters for physical actions. Comments and the
// model docs/model/execution.pml refer to it by its name.
type Transition struct {
	Name  string // "T4"
	From  []Code // any of these; "" is a nonexistent thread
	To    []Code // any of these; none if the status does not change
	By    Party
	Guard string // further condition
}

// Transitions contains the steps that prevent duplicate physical actions and lost requests.
// Steps without a status belong to the executor, on its disk and in the physical world.
var Transitions = []Transition{
	{"T1", []Code{""}, []Code{Pending}, rq, "one thread for a requester and its id of the request"},
	{"T2", []Code{Pending}, []Code{Claimed}, ex, "no other claim; the epoch rises; the executor is able, the time is right, the dependencies have ended"},
	{"T3", []Code{Claimed, NeedsConfirmation}, []Code{NeedsConfirmation, Claimed}, ex | rq, "a confirmation is for one claim, one plan and one question"},
	{"T4", []Code{Claimed}, []Code{InProgress}, ex, "the holder, with its epoch; not cancelled, not late, confirmed; the same holder may ask again"},
	{"T5", nil, nil, ex, "the intent is on the disk, and the start permission is at most two seconds old"},
	{"T6", nil, nil, ex, "the physical action begins"},
	{"T7", nil, nil, ex, "the report is on the disk"},
	{"T8", []Code{InProgress, Held}, []Code{Completed, Partial, Failed}, ex, "the holder, with its epoch"},
	{"T9", []Code{Claimed, NeedsConfirmation, InProgress}, []Code{Pending, Failed}, xc | ex, "the lease is over before the start, or the holder died after the start permission and knows that it did nothing"},
	{"T10", []Code{InProgress, Held}, []Code{Held, InProgress}, xc, "the holder is silent, or sends again"},
	{"T11", []Code{Held}, []Code{Pending, Failed}, xc, "the holder stays silent: pending again if a repetition is harmless, else failed"},
	{"T12", []Code{Pending, Claimed, NeedsConfirmation}, []Code{Cancelled}, rq, "before the start: either T4 or T12 happens"},
	{"T13", []Code{InProgress, Held}, []Code{Cancelled}, ex | rq, "after the start: the requester orders it, and the holder reports that it has stopped"},
	{"T14", nil, nil, ex, "the exchange keeps a late report as evidence"},
}
