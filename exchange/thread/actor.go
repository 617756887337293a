package thread

// Self is the actor id of the exchange (MESSE-AF 2.1, "Actor Types").
const Self = "exchange"

// Actor is the sender of a message, as a channel has authenticated it.
type Actor struct {
	ID    string
	Roles Role
}

// Role is a set of permissions of an actor.
type Role uint8

// The roles.
const (
	Requester    Role = 1 << iota // makes requests; answers and cancels its own
	ExecutorRole                  // claims and reports
	Observer                      // sees every thread
	Operator                      // answers and cancels any thread, sets routing rules
)

// Has reports whether a has every role of r.
func (a Actor) Has(r Role) bool { return a.Roles&r == r }

// SeesAll reports whether an actor sees every thread.
func (a Actor) SeesAll() bool { return a.Roles&(Observer|Operator) != 0 }
