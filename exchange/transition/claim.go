package transition

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// claim gives the thread to an executor (transition T2).
func (t *transition) claim(s *mess.Status) error {
	if err := t.CheckClaim(t.Actor, t.Env); err != nil {
		return err
	}
	t.Env.Executor, t.Env.Instance, t.Env.DelegatedTo = t.Actor.ID, s.Instance, ""
	t.Env.Epoch++
	t.Env.Phase, t.Env.Effect, t.Env.Confirm, t.Env.Questions, t.Env.Proposals = thread.NotStarted, "", nil, nil, nil
	t.Env.Estimate, _ = s.Estimate.Duration()
	t.Env.Uses = nil
	t.Env.SetUses(s.Extra)
	t.move(mess.Claimed)
	return nil
}

// IsLateClaim reports whether a message claims a thread that another executor holds, or that has ended. If
// it is refused for a thread that was meanwhile returned, its sender gets an offer of the thread.
func IsLateClaim(in *Input, e *thread.Envelope) bool {
	if e.Status == mess.Pending || e.Holder() == in.Actor.ID {
		return false
	}
	return !slices.ContainsFunc(in.Message.Items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return !ok || s.Code != mess.Claimed
	})
}

// decline applies the decline of an offer by an executor.
func (t *transition) decline(s *mess.Status) error {
	if t.Env.HasDeclined(t.Actor.ID) {
		t.Repeat = true
		return nil
	}
	if !t.mayTake() {
		return mess.Errorf(mess.Forbidden, "%q is not an executor that could take this, so it has nothing to decline", t.Actor.ID)
	}
	t.recordDecline(s)
	if t.Env.DelegatedTo == t.Actor.ID {
		t.Env.DelegatedTo = ""
	}
	if t.AllDeclined(t.Env) {
		t.move(mess.Declined)
		t.addDeclineReasons()
		return nil
	}
	t.leaveToPeople()
	return nil
}

// recordDecline adds the sender to those who have declined, with the reason.
func (t *transition) recordDecline(s *mess.Status) {
	t.Env.Declined = append(t.Env.Declined, thread.Decline{Executor: t.Actor.ID, Reason: s.ReasonText(), Barred: isBarred(s)})
}

// addDeclineReasons adds a message with the reasons of all who have declined, if there are several.
func (t *transition) addDeclineReasons() {
	if len(t.Env.Declined) < 2 {
		return
	}
	t.Also = &mess.Message{From: thread.Self, Received: t.Message.Received, Re: mess.Refs{t.Env.Ref}, Items: []mess.Item{
		&mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: t.Env.DeclineReasons()}},
	}}
}

// correctEffect corrects the effect of a terminal status. If the exchange lost an executor under an
// earlier claim after its start, the effect must not be none.
func (t *transition) correctEffect(was mess.Code) {
	if t.Env.BegunBy == "" || t.Evidence || was.Terminal() || !t.Env.Status.Terminal() || !t.hasNoEffect() {
		return
	}
	if t.Also == nil {
		t.Also = &mess.Message{From: thread.Self, Received: t.Message.Received, Re: mess.Refs{t.Env.Ref}, Items: []mess.Item{
			&mess.Status{Code: t.Env.Status, Reason: &mess.Reason{Type: "interrupted"}},
		}}
	}
	s := t.Also.Items[0].(*mess.Status)
	s.Reason.Effect, s.Suggestion = mess.EffectUnknown, "look before retrying"
	s.Reason.Detail = strings.TrimPrefix(s.Reason.Detail+"; "+t.Env.BegunBy+" had begun it and did not come back; its effect is unknown", "; ")
}

// hasNoEffect reports whether the message states or implies the effect none.
func (t *transition) hasNoEffect() bool {
	effect := mess.EffectNone
	for _, item := range t.Message.Items {
		if s, ok := item.(*mess.Status); ok && s.Reason != nil && s.Reason.Effect != "" {
			effect = s.Reason.Effect
		}
	}
	return effect == mess.EffectNone && t.Env.Status != mess.Completed && t.Env.Status != mess.Partial
}

// holds reports whether the sender holds the claim, with a current fencing token (epoch). From a
// former holder, a terminal report is evidence (transition T14): the thread stores it and does not
// change.
func (t *transition) holds(s *mess.Status) (bool, error) {
	epoch := max(s.Epoch, t.Message.Epoch)
	current := t.Env.Holder() == t.Actor.ID && (epoch == 0 || epoch == t.Env.Epoch)
	switch {
	case current:
		return true, nil
	case t.Env.HasHeld(t.Actor.ID) && s.Code.Terminal():
		t.Evidence = true
		return false, nil
	case t.Env.Status.Terminal(), t.Env.Status == mess.Pending && !t.Env.HasHeld(t.Actor.ID):
		return false, t.illegal(mess.Step(t.Env.Status, s.Code, mess.ByExecutor))
	case t.Env.HasHeld(t.Actor.ID):
		return false, mess.Errorf(mess.StaleToken, "the claim with epoch %d is over; do not act on it", epoch)
	case s.Code == mess.Claimed:
		return false, mess.Errorf(mess.AlreadyClaimed, "%s has claimed it", t.Env.Executor)
	}
	return false, mess.Errorf(mess.Forbidden, "%s holds the claim, and only the holder may report", t.Env.Executor)
}

// checkSameProcess returns an error for a claim or start by another process of the executor that
// holds the claim. The exchange answers a repeated message with an ack, and two copies of one
// executor must not both get it.
func (t *transition) checkSameProcess(s *mess.Status) error {
	bound := s.Instance != "" || s.Code == mess.Claimed || s.Code == mess.InProgress && t.Env.Phase == thread.NotStarted
	if t.Env.Instance == "" || !bound || s.Instance == t.Env.Instance {
		return nil
	}
	return mess.Errorf(mess.Conflict, "claimed by another process of the same executor; do not act on it, and give each process an id of its own")
}

// illegal turns a *mess.TransitionError into a *mess.Error with the allowed statuses.
func (t *transition) illegal(err error) error {
	if e, ok := err.(*mess.TransitionError); ok {
		open := *e
		open.Legal = t.legal(e.By)
		r := mess.Errorf(mess.IllegalTransition, "%v", &open)
		r.Allowed = open.Legal
		return r
	}
	return err
}

// legal lists the transitions that a party may make now: those of the state machine that the
// exchange would accept.
func (t *transition) legal(by mess.Party) []mess.Code {
	return slices.DeleteFunc(t.Env.Status.Next(by), func(c mess.Code) bool {
		switch c {
		case mess.Claimed:
			return t.Env.Phase != thread.NotStarted || t.Env.Status == mess.Pending && t.CheckClaim(t.Actor, t.Env) != nil
		case mess.Declined:
			return t.Env.Status == mess.Pending && !t.mayTake()
		case mess.InProgress, mess.Completed, mess.Partial:
			return t.checkConfirmed() != nil
		case mess.Cancelled:
			return by == mess.ByExecutor && !t.mayEndCancelled()
		}
		return false
	})
}

// mayEndCancelled reports whether the executor may report cancelled: after a cancel, or after a
// rejected confirmation.
func (t *transition) mayEndCancelled() bool {
	return t.Env.CancelBy != "" || t.Env.Confirm != nil && t.Env.Confirm.Given != nil && !*t.Env.Confirm.Given
}

// endHold ends the status held of a thread, which the exchange has set: its executor has sent
// something.
func (t *transition) endHold() {
	t.Env.Status, t.Env.HeldFrom = t.Env.HeldFrom, ""
}

// returnClaim takes the claim of a thread from an executor that delegates it. The exchange offers
// the thread again. Without another candidate, the thread becomes delegated. An executor that shuts
// down has not declined, and neither has one that failed at the start and reports the effect none
// (transition T9).
func (t *transition) returnClaim(s *mess.Status) error {
	// returned is true if the executor returns the claim and has not declined the thread.
	returned := s.Reason != nil && s.Reason.Type == mess.Shutdown
	if t.Env.Phase != thread.NotStarted {
		if t.byPerson() || s.Reason == nil || s.Reason.Effect != mess.EffectNone || t.Env.CancelBy != "" || t.Env.Attempts+1 >= t.Attempts {
			return mess.Errorf(mess.IllegalTransition, "it has begun, so no other executor can take it over; end it with partial or failed, and report the effect")
		}
		t.Env.Attempts++
		t.Env.Phase, t.Env.Effect, returned = thread.NotStarted, "", true
	}
	if !returned {
		t.recordDecline(s)
	}
	t.note(mess.Delegated, s.DelegatedTo)
	if t.Env.DelegatedTo = s.DelegatedTo; t.byPerson() {
		t.Env.Stopped, t.Env.Stops = false, 1+t.Stops() // a person knows about the stop
		t.Env.Declined = slices.DeleteFunc(t.Env.Declined, func(d thread.Decline) bool { return d.Executor == s.DelegatedTo && d.Executor != t.Actor.ID })
	}
	t.Env.Executor, t.Env.Instance, t.Env.Confirm, t.Env.Questions = "", "", nil, nil
	t.Env.LimitFrom(t.Env.Created)
	t.Env.Status = mess.Pending
	if !returned && t.AllDeclined(t.Env) {
		t.Env.Executor = t.Actor.ID
		t.Env.Status = mess.Delegated
		t.Env.Phase = thread.Finished
		return nil
	}
	if !returned {
		t.leaveToPeople()
	}
	return nil
}
