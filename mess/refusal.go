package mess

import "fmt"

// Refusal is the error of an exchange for a message. Every channel transports it, so that
// peers in other processes get the same error.
type Refusal struct {
	Why    Why    // error code
	Text   string // problem and remedy
	Ref    string // thread, if there is one
	Status Code   // status of the thread, if there is one
	Holder string // holder of the claim, if there is one
	Legal  []Code // allowed statuses of the sender, for an illegal transition
}

// Why is the code of a Refusal.
type Why string

// Error codes. Compare with errors.Is(err, mess.Taken).
const (
	Invalid     Why = "invalid"      // the message itself is invalid
	Unknown     Why = "unknown"      // no such thread, message or attachment
	Missing     Why = "missing"      // a thing that the message refers to does not exist: an upload, a dependency, an executor
	Forbidden   Why = "forbidden"    // the actor has no permission
	Taken       Why = "taken"        // another executor holds the claim
	Stale       Why = "stale"        // the fencing token is old: the claim has ended
	Illegal     Why = "illegal"      // the state machine has no such transition
	Unconfirmed Why = "unconfirmed"  // a required confirmation is missing
	TooLarge    Why = "too_large"    // above a size limit
	Conflict    Why = "conflict"     // another object already has the name
	NotReady    Why = "not_ready"    // not yet: before not_before, open dependencies, no disk space
	Unavailable Why = "unavailable"  // the exchange is unreachable or cannot store
	Unauthentic Why = "unauthorised" // missing or wrong credentials
)

func (w Why) Error() string { return string(w) }

// Refuse returns a Refusal with a formatted text.
func Refuse(why Why, format string, args ...any) *Refusal {
	return &Refusal{Why: why, Text: fmt.Sprintf(format, args...)}
}

func (r *Refusal) Error() string {
	if r.Ref == "" {
		return r.Text
	}
	return r.Ref + ": " + r.Text
}

// Unwrap supports errors.Is(err, mess.Taken).
func (r *Refusal) Unwrap() error { return r.Why }
