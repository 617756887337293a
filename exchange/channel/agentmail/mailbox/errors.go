package mailbox

import (
	"errors"
	"strings"
)

// ErrDenied is the error if the server rejects this program, or a call that the program needs. The
// user must correct the configuration.
var ErrDenied = errors.New("the mail server refuses this program; check token_file, and that the server gives it more than the role reader (HTTP_RBAC_DEFAULT_ROLE)")

// ToolError is the error of one call that the server has rejected.
type ToolError struct {
	Tool string
	Text string
}

func (e *ToolError) Error() string { return e.Tool + ": " + e.Text }

// The kinds of ToolError. The server has no error codes, so its texts show the kind.
var (
	ErrNoContact  = errors.New("the recipient has not approved this agent")
	ErrRetired    = errors.New("the agent is retired")
	ErrToken      = errors.New("the agent's registration token is missing or wrong")
	ErrNoAgent    = errors.New("there is no such agent")
	ErrBadName    = errors.New("the server takes no mail for an agent of that name")
	ErrBadMessage = errors.New("the server does not take the message")
)

// phrases are the texts of the server.
var phrases = []struct {
	text string
	kind error
}{
	{"Contact approval required", ErrNoContact},
	{"is retired", ErrRetired},
	{"requires registration_token", ErrToken},
	{"requires sender_token", ErrToken},
	{"Invalid registration_token", ErrToken},
	{"Invalid sender_token", ErrToken},
	{"not registered in project", ErrNoAgent},
	{"not found", ErrNoAgent},
	{"Invalid recipient", ErrBadName},
	{"Invalid thread_id", ErrBadMessage},
	{"validation error", ErrBadMessage},
}

// Is reports the kind of the error.
func (e *ToolError) Is(target error) bool {
	for _, p := range phrases {
		if strings.Contains(e.Text, p.text) {
			return p.kind == target
		}
	}
	return false
}
