package mess

import "fmt"

// Refusal is an exchange's "no" to a message. It travels over every door, so
// that a peer in another process sees what one in this process sees.
type Refusal struct {
	Why    Why    // what kind of no
	Text   string // what is wrong, and what to do
	Ref    string // the thread, where there is one
	Status Code   // the thread's status, where there is one
	Holder string // who holds the claim, where somebody does
	Legal  []Code // the steps that are open to the sender, for an illegal one
}

// Why is the kind of a Refusal.
type Why string

// The kinds of refusal. Compare with errors.Is(err, mess.Taken).
const (
	Invalid     Why = "invalid"      // the message itself is wrong
	Unknown     Why = "unknown"      // no such thread, message or attachment
	Missing     Why = "missing"      // what the message names is not here: an upload, a request to wait for, an executor
	Forbidden   Why = "forbidden"    // this actor may not
	Taken       Why = "taken"        // somebody else holds the claim
	Stale       Why = "stale"        // the fence is old: this claim is over
	Illegal     Why = "illegal"      // the state machine has no such step
	Unconfirmed Why = "unconfirmed"  // a confirmation is required and is not there
	TooLarge    Why = "too_large"    // over a size limit
	Conflict    Why = "conflict"     // a name is taken by something else
	NotReady    Why = "not_ready"    // not now: before not_before, dependencies open, out of space
	Unavailable Why = "unavailable"  // the exchange cannot be reached or cannot store
	Unauthentic Why = "unauthorised" // no credentials, or wrong ones
)

func (w Why) Error() string { return string(w) }

// Refuse makes a Refusal with a formatted text.
func Refuse(why Why, format string, args ...any) *Refusal {
	return &Refusal{Why: why, Text: fmt.Sprintf(format, args...)}
}

func (r *Refusal) Error() string {
	if r.Ref == "" {
		return r.Text
	}
	return r.Ref + ": " + r.Text
}

// Unwrap makes errors.Is(err, mess.Taken) work.
func (r *Refusal) Unwrap() error { return r.Why }
