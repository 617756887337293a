package thread

// Self is the actor id under which an exchange speaks (MESSE-AF 2.1, "Actor
// Types").
const Self = "exchange"

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

// SeesAll reports whether an actor is one of those who see every thread.
func (a Actor) SeesAll() bool { return a.Roles&(Observer|Operator) != 0 }
