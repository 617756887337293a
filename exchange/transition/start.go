package transition

import (
	"slices"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// checkAllowed checks a report of the holder against the state machine, the confirmations and the
// start permission.
func (t *transition) checkAllowed(s *mess.Status) error {
	if err := mess.Step(t.Env.Status, s.Code, mess.ByExecutor); err != nil {
		return t.illegal(err)
	}
	switch s.Code {
	case mess.InProgress:
		return t.startPermission(s)
	case mess.Claimed:
		if t.Env.Status != mess.Claimed && t.Env.Phase != thread.NotStarted {
			return mess.Errorf(mess.IllegalTransition, "it has begun; report in_progress")
		}
	case mess.Completed, mess.Partial:
		return t.checkConfirmed()
	case mess.Cancelled:
		if !t.mayEndCancelled() {
			r := mess.Errorf(mess.IllegalTransition, "no requester has cancelled it; an executor that will not go on reports failed or delegated")
			r.Allowed = t.legal(mess.ByExecutor)
			return r
		}
	}
	return nil
}

// AsksToStart reports whether a message has an in_progress for which CheckStops decides.
func AsksToStart(in *Input, e *thread.Envelope) bool {
	holds := e.Holder() == in.Actor.ID
	return slices.ContainsFunc(in.Message.Items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return ok && s.Code == mess.InProgress && (!holds || stopsApply(s, e))
	})
}

// stopsApply reports whether a stop refuses an in_progress of the holder. A report of progress passes, but
// of a claim without an instance it may be a start that is sent again.
func stopsApply(s *mess.Status, e *thread.Envelope) bool {
	return e.Phase != thread.Started || s.Instance != "" || e.Instance == ""
}

// CheckStops returns a *mess.Error if a stop prevents that an executor starts a thread now.
func CheckStops(s Snapshot, e *thread.Envelope, executor string) error {
	if s.PersonName(executor) != "" {
		if e.Phase == thread.NotStarted && s.IsStopping(executor) {
			return mess.Errorf(mess.NotYet, "there is an unconfirmed stop; confirm it first")
		}
		return nil
	}
	if reason := s.StoppedBy(*e, executor); reason != "" {
		return mess.Errorf(mess.NotYet, "%s; do not start", reason)
	}
	return nil
}

// startPermission decides about the start (transition T4): the last check before a physical effect.
// The same holder may ask again.
func (t *transition) startPermission(s *mess.Status) error {
	if stopsApply(s, &t.Env) {
		if err := CheckStops(t, &t.Env, t.Actor.ID); err != nil {
			return err
		}
	}
	// A report of progress passes after needed_by, and an in_progress without an instance counts as one.
	asks := t.Env.Phase == thread.NotStarted || s.Instance != ""
	if asks && !t.Env.Expires.IsZero() && t.Now.After(t.Env.Expires) {
		return mess.Errorf(mess.NotYet, "needed by %s, which has passed; do not start", t.Env.Expires.Format(time.RFC3339))
	}
	if t.Env.Phase == thread.Started {
		return t.checkContinuation(s.ActionHash)
	}
	if err := t.checkConfirmed(); err != nil {
		return err
	}
	return t.checkSamePlan(s.ActionHash)
}

// checkContinuation checks a report of a started plan. If the executor asked for a confirmation
// after the start, the plan may continue only after that confirmation.
func (t *transition) checkContinuation(hash string) error {
	c := t.Env.Confirm
	switch {
	case c == nil || c.Epoch != t.Env.Epoch:
		return nil
	case c.Given == nil, !*c.Given && hash != "" && hash == c.ActionHash:
		return t.checkConfirmed()
	case *c.Given && hash != "":
		return t.checkSamePlan(hash)
	}
	return nil
}

// checkConfirmed returns an error if a confirmation is missing, or was a rejection.
func (t *transition) checkConfirmed() error {
	c := t.Env.Confirm
	must := t.Env.Needs.ConfirmBefore
	switch {
	case c == nil && !must:
		return nil
	case c == nil:
		return mess.Errorf(mess.Unconfirmed, "the request says confirm_before; ask with needs_confirmation first")
	case c.Epoch != t.Env.Epoch || c.Given == nil:
		return mess.Errorf(mess.Unconfirmed, "the confirmation is missing")
	case !*c.Given:
		return mess.Errorf(mess.Unconfirmed, "%s rejected it", c.GivenBy)
	}
	return nil
}

// checkSamePlan returns an error unless the digest is that of the confirmed plan. A confirmation
// without a digest is for any plan.
func (t *transition) checkSamePlan(hash string) error {
	c := t.Env.Confirm
	switch {
	case c == nil || c.ActionHash == "" || c.ActionHash == hash:
		return nil
	case hash == "":
		return mess.Errorf(mess.Unconfirmed, "the confirmation is for one plan; send its action_hash with the start")
	}
	return mess.Errorf(mess.Unconfirmed, "the confirmation is for another plan; ask again")
}
