package exchange

import (
	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// The types of threads, under the names that channels use.
type (
	Actor            = thread.Actor
	Attachment       = thread.Attachment
	PastConfirmation = thread.PastConfirmation
	Bind             = thread.Bind
	Confirm          = thread.Confirm
	Decline          = thread.Decline
	Envelope         = thread.Envelope
	Event            = thread.Event
	EventKind        = thread.EventKind
	Filter           = thread.Filter
	HistoryEntry     = thread.HistoryEntry
	Needs            = thread.Needs
	OpenQuestion     = thread.OpenQuestion
	Page             = thread.Page
	Phase            = thread.Phase
	Proposal         = thread.Proposal
	Role             = thread.Role
	ProcessedMessage = thread.ProcessedMessage
	Staged           = thread.Staged
	Step             = thread.Step
	Store            = thread.Store
	Thread           = thread.Thread
)

// Self is the actor id under which an exchange speaks.
const Self = thread.Self

// The roles.
const (
	Requester    = thread.Requester
	ExecutorRole = thread.ExecutorRole
	Observer     = thread.Observer
	Operator     = thread.Operator
)

// The phases of a thread.
const (
	NotStarted = thread.NotStarted
	Started    = thread.Started
	Finished   = thread.Finished
)

// The kinds of event.
const (
	EventOffer     = thread.EventOffer
	EventWithdrawn = thread.EventWithdrawn
	EventMessage   = thread.EventMessage
	EventStop      = thread.EventStop
	EventHold      = thread.EventHold
	EventReset     = thread.EventReset
)

// What a store answers.
var (
	ErrStale    = thread.ErrStale
	ErrNoThread = thread.ErrNoThread
	ErrNoBlob   = thread.ErrNoBlob
	ErrTooLarge = thread.ErrTooLarge
)

// NeedsOf are the needs of a request.
func NeedsOf(r mess.Request) Needs { return thread.NeedsOf(r) }
