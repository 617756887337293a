package runtime

import (
	"context"
	"errors"

	"github.com/messkit/messkit/agent/policy"
)

// Causes for which the agent cancels the work on a thread.
var (
	ErrLost      = errors.New("the claim is over")
	ErrCancelled = errors.New("cancelled")
)

// ProgramEnds reports whether the work ends because the program ends.
func ProgramEnds(ctx context.Context) bool {
	cause := context.Cause(ctx)
	return cause != nil && !errors.Is(cause, ErrLost) && !errors.Is(cause, ErrCancelled) && StopOf(ctx) == nil
}

// StopOf returns the stop that ended a context; nil for any other cause, or none.
func StopOf(ctx context.Context) *policy.Rejection {
	no, _ := context.Cause(ctx).(*policy.Rejection)
	return no
}
