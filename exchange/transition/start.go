package transition

import (
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// allowed checks what a report by the holder must keep to, beyond who he is.
func (t *transition) allowed(s *mess.Status) error {
	if err := mess.Step(t.Env.Status, s.Code, mess.ByExecutor); err != nil {
		return t.refusedStep(err)
	}
	switch s.Code {
	case mess.InProgress:
		return t.gate(s)
	case mess.Claimed:
		if t.Env.Status != mess.Claimed && t.Env.Phase != thread.NotStarted {
			return mess.Errorf(mess.IllegalTransition, "it has begun; report in_progress")
		}
	case mess.Completed, mess.Partial:
		return t.confirmed()
	case mess.Cancelled:
		if !t.mayEndCancelled() {
			r := mess.Errorf(mess.IllegalTransition, "nobody has cancelled it; an executor that will not go on says failed or delegated")
			r.Allowed = t.legal(mess.ByExecutor)
			return r
		}
	}
	return nil
}

// gate is the start gate (T4): the last word before the world is touched. The
// same holder may pass it again.
func (t *transition) gate(s *mess.Status) error {
	if t.Env.Phase == thread.NotStarted && t.byPerson() && t.IsStopping(t.Who.ID) {
		return mess.Errorf(mess.NotYet, "a stop was ordered; say first that you have stopped")
	}
	// One who names his process asks whether he may start; one who tells of
	// progress does not.
	asks := t.Env.Phase == thread.NotStarted || s.Instance != ""
	if why := t.StoppedBy(t.Env); asks && why != "" && !t.byPerson() {
		return mess.Errorf(mess.NotYet, "%s; do not start", why)
	}
	if asks && !t.Env.Expires.IsZero() && t.Now.After(t.Env.Expires) {
		return mess.Errorf(mess.NotYet, "needed by %s, which has passed; do not start", t.Env.Expires.Format(time.RFC3339))
	}
	if t.Env.Phase == thread.Started {
		return t.goesOn(s.ActionHash)
	}
	if err := t.confirmed(); err != nil {
		return err
	}
	return t.samePlan(s.ActionHash)
}

// goesOn guards what has begun: a plan that was asked about in its midst waits
// for its own yes.
func (t *transition) goesOn(hash string) error {
	c := t.Env.Confirm
	switch {
	case c == nil || c.Epoch != t.Env.Epoch:
		return nil
	case c.Given == nil, !*c.Given && hash != "" && hash == c.ActionHash:
		return t.confirmed()
	case *c.Given && hash != "":
		return t.samePlan(hash)
	}
	return nil
}

// confirmed returns nil if no confirmation is missing.
func (t *transition) confirmed() error {
	c := t.Env.Confirm
	must := t.Env.Needs.ConfirmBefore
	switch {
	case c == nil && !must:
		return nil
	case c == nil:
		return mess.Errorf(mess.Unconfirmed, "the request says confirm_before; ask with needs_confirmation first")
	case c.Epoch != t.Env.Epoch || c.Given == nil:
		return mess.Errorf(mess.Unconfirmed, "the confirmation has not been given")
	case !*c.Given:
		return mess.Errorf(mess.Unconfirmed, "%s said no", c.GivenBy)
	}
	return nil
}

// samePlan returns nil if the plan with that digest is the one that was
// confirmed. An executor that has asked without a digest has none to keep to.
func (t *transition) samePlan(hash string) error {
	c := t.Env.Confirm
	switch {
	case c == nil || c.ActionHash == "" || c.ActionHash == hash:
		return nil
	case hash == "":
		return mess.Errorf(mess.Unconfirmed, "the confirmation was given to one plan; say with action_hash that this is the one which starts")
	}
	return mess.Errorf(mess.Unconfirmed, "the confirmation was given to another plan; ask again")
}
