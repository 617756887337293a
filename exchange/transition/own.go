package transition

import (
	"fmt"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// Change is a step that the exchange makes on its own. It changes the envelope, and returns the new
// status of the thread.
type Change func(*thread.Envelope) *mess.Status

// Expire ends a thread that no executor has started in time.
func Expire(now time.Time) Change {
	return func(e *thread.Envelope) *mess.Status {
		return &mess.Status{Code: mess.Expired, ExpiredAt: mess.TimeOf(now), Stage: string(e.Status)}
	}
}

// FailDependent fails a thread because a thread that it depends on has ended otherwise than
// completed.
func FailDependent(dep string, code mess.Code) Change {
	return func(*thread.Envelope) *mess.Status {
		return &mess.Status{Code: mess.Failed, Reason: &mess.Reason{
			Type: "dependency", Detail: fmt.Sprintf("%s ended as %s", dep, code), Effect: mess.EffectNone,
		}, Recoverable: new(true), Suggestion: "ask again without it, or after it"}
	}
}

// OfferAgain releases the claim of a thread that has not started (transition T9). It ends the
// thread at the last of the attempts. The reason goes into the status.
func OfferAgain(reason string, attempts int) Change {
	return func(e *thread.Envelope) *mess.Status {
		e.Attempts++
		if e.Attempts >= attempts {
			return &mess.Status{Code: mess.Failed, Reason: &mess.Reason{
				Type: "executor_unreachable", Effect: mess.EffectNone,
				Detail: fmt.Sprintf("claimed %d times, and no executor began; last by %s", e.Attempts, e.Executor),
			}, Recoverable: new(true)}
		}
		e.Executor, e.Instance, e.Confirm, e.Questions = "", "", nil, nil
		e.LimitFrom(e.Created)
		return &mess.Status{Code: mess.Pending, Message: reason + "; on offer again"}
	}
}

// Hold gives the status held to a started thread whose executor is silent (transition T10).
func Hold(e *thread.Envelope) *mess.Status {
	e.HeldFrom = e.Status
	return &mess.Status{Code: mess.Held, Reason: &mess.Reason{
		Type: "executor_unreachable", Detail: "no heartbeat from " + e.Executor + " since it began",
	}}
}

// EndHold ends the status held after the executor has sent something again.
func EndHold(e *thread.Envelope) *mess.Status {
	s := &mess.Status{Code: e.HeldFrom, Message: e.Executor + " is back"}
	e.HeldFrom = ""
	return s
}

// LoseExecutor ends the wait for the executor of a held thread (transition T11). The exchange
// offers a thread without side effects, or with an idempotent plan, again. The outcome of any other
// is unknown.
func LoseExecutor(e *thread.Envelope) *mess.Status {
	executor := e.Executor
	e.HeldFrom = ""
	switch {
	case e.CancelBy != "" && e.Effect == "query":
		return &mess.Status{Code: mess.Cancelled, Reason: &mess.Reason{
			Type: "cancelled", Effect: mess.EffectNone, Detail: executor + " did not come back; it was only reading",
		}}
	case e.CancelBy == "" && (e.Effect == "query" || e.Effect == "idempotent"):
		if e.Effect == "idempotent" {
			e.BegunBy = executor
		}
		e.Executor, e.Phase = "", thread.NotStarted
		return &mess.Status{Code: mess.Pending, Message: executor + " did not come back; on offer again, since doing it twice does no harm"}
	}
	return &mess.Status{Code: mess.Failed, Reason: &mess.Reason{
		Type: "interrupted", Effect: mess.EffectUnknown, Detail: executor + " began and did not come back",
	}, Recoverable: new(false), Suggestion: "look before retrying"}
}

// LoseLastExecutor replaces LoseExecutor for a thread that no other executor would take. The change
// declined ends the thread. The effect of the lost executor stays unknown.
func LoseLastExecutor(declined Change) Change {
	return func(e *thread.Envelope) *mess.Status {
		e.HeldFrom = ""
		s := declined(e)
		switch {
		case e.Effect == "query":
		case s.Code == mess.Failed:
			s.Reason.Effect, s.Suggestion = mess.EffectUnknown, "look before retrying"
		default:
			e.BegunBy = e.Executor
		}
		return s
	}
}

// Decline ends a thread that all possible executors have declined.
func Decline(e *thread.Envelope) *mess.Status {
	return &mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: e.DeclineReasons()}}
}

// FailUnreachable fails a thread whose former holders are silent, and that all other executors have
// declined. Each element of silent describes a former holder.
func FailUnreachable(silent []string) Change {
	return func(e *thread.Envelope) *mess.Status {
		return &mess.Status{Code: mess.Failed, Reason: &mess.Reason{
			Type: "executor_unreachable", Effect: mess.EffectNone, Detail: strings.Join(silent, "; ") + "; " + e.DeclineReasons(),
		}, Recoverable: new(true)}
	}
}

// LeaveToPeople keeps a pending thread for human executors after a stop of everything.
func LeaveToPeople(s mess.Stop) Change {
	return func(e *thread.Envelope) *mess.Status {
		e.Stopped = true
		return &mess.Status{Code: mess.Pending, Message: DescribeStop(s) + " while it waited; only people may still take it"}
	}
}

// FailStopped ends a pending thread after a stop of everything.
func FailStopped(s mess.Stop) Change {
	return func(e *thread.Envelope) *mess.Status {
		effect := mess.EffectNone
		if e.BegunBy != "" { // by a lost executor
			effect = mess.EffectUnknown
		}
		return &mess.Status{
			Code: mess.Failed, Reason: &mess.Reason{Type: "stop", Detail: DescribeStop(s) + " before an executor began", Effect: effect},
			Recoverable: new(true), Suggestion: "ask again after the reset of the stop",
		}
	}
}

// DescribeStop names the actor and the reason of a stop of everything.
func DescribeStop(s mess.Stop) string {
	return withReason(s.By+" has stopped everything", s)
}

// DescribeNamedStop names the actor and the reason of a stop of one executor that it has not confirmed.
func DescribeNamedStop(s mess.Stop, executor string) string {
	return withReason(fmt.Sprintf("%s has stopped %s, which has not confirmed it", s.By, executor), s)
}

// withReason adds the reason of a stop to a text.
func withReason(text string, s mess.Stop) string {
	if s.Reason == "" {
		return text
	}
	return fmt.Sprintf("%s (%s)", text, s.Reason)
}
