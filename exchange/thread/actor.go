package thread

import (
	"slices"
	"time"
)

// Self is the actor id of the exchange (MESSE-AF 2.1, "Actor Types").
const Self = "exchange"

// Actor is the sender of a message, as a channel has authenticated it.
type Actor struct {
	ID    string
	Roles Role
	Scope *Scope // of a guest; nil for all others
}

// Scope limits a guest. A guest is a person without roles that operates some devices until a time.
type Scope struct {
	Areas []string  // nil for all
	Entry bool      // also what lets people in, or runs a script
	Until time.Time // the end of the access
}

// Equal reports whether two scopes allow the same. nil is the scope of an actor that is no guest.
func (s *Scope) Equal(o *Scope) bool {
	if s == nil || o == nil {
		return s == o
	}
	return slices.Equal(s.Areas, o.Areas) && (s.Areas == nil) == (o.Areas == nil) && s.Entry == o.Entry && s.Until.Equal(o.Until)
}

// IsGuest reports whether an actor is a guest.
func (a Actor) IsGuest() bool { return a.Scope != nil }

// Role is a set of permissions of an actor.
type Role uint8

// The roles.
const (
	Requester    Role = 1 << iota // makes requests; answers and cancels its own
	ExecutorRole                  // claims and reports
	Observer                      // sees every thread
	Operator                      // answers and cancels any thread, sets routing rules
	Resident                      // lives in the home: answers and cancels any thread, but gives no confirmation that needs an operator
)

// Has reports whether a has every role of r.
func (a Actor) Has(r Role) bool { return a.Roles&r == r }

// SeesAll reports whether an actor sees every thread.
func (a Actor) SeesAll() bool { return a.Roles&(Observer|Operator) != 0 }
