package mess

import "fmt"

// Error is the error of an exchange for a message. Every channel transports it, so that
// peers in other processes get the same error.
type Error struct {
	Code    ErrorCode // error code
	Text    string    // problem and remedy
	Ref     string    // thread, if there is one
	Status  Code      // status of the thread, if there is one
	Holder  string    // holder of the claim, if there is one
	Allowed []Code    // allowed statuses of the sender, for an illegal transition
}

// ErrorCode is the code of an Error.
type ErrorCode string

// Error codes. Compare with errors.Is(err, mess.AlreadyClaimed).
const (
	Invalid           ErrorCode = "invalid"      // the message itself is invalid
	NotFound          ErrorCode = "unknown"      // no such thread, message or attachment
	MissingReference  ErrorCode = "missing"      // a thing that the message refers to does not exist: an upload, a dependency, an executor
	Forbidden         ErrorCode = "forbidden"    // the actor has no permission
	AlreadyClaimed    ErrorCode = "taken"        // another executor holds the claim
	StaleToken        ErrorCode = "stale"        // the fencing token is old: the claim has ended
	IllegalTransition ErrorCode = "illegal"      // the state machine has no such transition
	Unconfirmed       ErrorCode = "unconfirmed"  // a required confirmation is missing
	TooLarge          ErrorCode = "too_large"    // above a size limit
	Conflict          ErrorCode = "conflict"     // another object already has the name
	NotYet            ErrorCode = "not_ready"    // not yet: before not_before, open dependencies, no disk space
	Unavailable       ErrorCode = "unavailable"  // the exchange is unreachable or cannot store
	Unauthorized      ErrorCode = "unauthorised" // missing or wrong credentials
)

func (c ErrorCode) Error() string { return string(c) }

// Errorf returns an Error with a formatted text.
func Errorf(code ErrorCode, format string, args ...any) *Error {
	return &Error{Code: code, Text: fmt.Sprintf(format, args...)}
}

func (e *Error) Error() string {
	if e.Ref == "" {
		return e.Text
	}
	return e.Ref + ": " + e.Text
}

// Unwrap supports errors.Is(err, mess.AlreadyClaimed).
func (e *Error) Unwrap() error { return e.Code }
