package transition

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// claim gives the thread to an executor (T2).
func (t *transition) claim(s *mess.Status) error {
	if err := t.MayClaim(t.Who, t.Env); err != nil {
		return err
	}
	t.Env.Executor, t.Env.Instance, t.Env.HandedTo = t.Who.ID, s.Instance, ""
	t.Env.Epoch++
	t.Env.Phase, t.Env.Effect, t.Env.Confirm, t.Env.Questions, t.Env.Proposals = thread.NotStarted, "", nil, nil, nil
	t.Env.Estimate, _ = s.Estimate.Duration()
	t.move(mess.Claimed)
	return nil
}

// decline takes an executor's "not me" to an offer.
func (t *transition) decline(s *mess.Status) error {
	if t.Env.HasDeclined(t.Who.ID) {
		t.Repeat = true
		return nil
	}
	if !t.mayTake() {
		return mess.Errorf(mess.Forbidden, "%q is not an executor that could take this, so it has nothing to decline", t.Who.ID)
	}
	t.notMe(s)
	if t.Env.HandedTo == t.Who.ID {
		t.Env.HandedTo = ""
	}
	if t.AllDeclined(t.Env) {
		t.move(mess.Declined)
		t.sumUp()
		return nil
	}
	t.toPeople()
	return nil
}

// notMe remembers who does not do it, and why.
func (t *transition) notMe(s *mess.Status) {
	t.Env.Declined = append(t.Env.Declined, thread.Decline{Executor: t.Who.ID, Reason: reasonText(s), Barred: isBarred(s)})
}

// sumUp tells the requester why nobody takes a thread, where it is not one
// executor's word alone.
func (t *transition) sumUp() {
	if len(t.Env.Declined) < 2 {
		return
	}
	t.Also = &mess.Message{From: thread.Self, Received: t.Message.Received, Re: mess.Refs{t.Env.Ref}, Items: []mess.Item{
		&mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: t.Env.DeclineReasons()}},
	}}
}

// remember corrects an end that says nothing was done, where one who had begun
// under an earlier claim was lost: what he did, nobody knows.
func (t *transition) remember(was mess.Code) {
	if t.Env.BegunBy == "" || t.Evidence || was.Terminal() || !t.Env.Status.Terminal() || !t.untouched() {
		return
	}
	if t.Also == nil {
		t.Also = &mess.Message{From: thread.Self, Received: t.Message.Received, Re: mess.Refs{t.Env.Ref}, Items: []mess.Item{
			&mess.Status{Code: t.Env.Status, Reason: &mess.Reason{Type: "interrupted"}},
		}}
	}
	s := t.Also.Items[0].(*mess.Status)
	s.Reason.Effect, s.Suggestion = mess.EffectUnknown, "look before retrying"
	s.Reason.Detail = strings.TrimPrefix(s.Reason.Detail+"; "+t.Env.BegunBy+" had begun it and did not come back; what it did is not known", "; ")
}

// untouched reports whether a message says, or leaves to be believed, that
// nothing was done.
func (t *transition) untouched() bool {
	effect := mess.EffectNone
	for _, item := range t.Message.Items {
		if s, ok := item.(*mess.Status); ok && s.Reason != nil && s.Reason.Effect != "" {
			effect = s.Reason.Effect
		}
	}
	return effect == mess.EffectNone && t.Env.Status != mess.Completed && t.Env.Status != mess.Partial
}

func reasonText(s *mess.Status) string {
	if s.Reason != nil && s.Reason.Detail != "" {
		return s.Reason.Detail
	}
	return s.Message
}

// holds reports whether the sender holds the claim with a current fence. A
// report on a claim that is over, or on a thread that has ended, is kept as
// evidence if it comes from one who did hold it (T14).
func (t *transition) holds(s *mess.Status) (bool, error) {
	epoch := max(s.Epoch, t.Message.Epoch)
	current := t.Env.Holder() == t.Who.ID && (epoch == 0 || epoch == t.Env.Epoch)
	switch {
	case current:
		return true, nil
	case t.Env.HasHeld(t.Who.ID) && s.Code.Terminal():
		t.Evidence = true
		return false, nil
	case t.Env.Status.Terminal(), t.Env.Status == mess.Pending && !t.Env.HasHeld(t.Who.ID):
		return false, t.refusedStep(mess.Step(t.Env.Status, s.Code, mess.ByExecutor))
	case t.Env.HasHeld(t.Who.ID):
		return false, mess.Errorf(mess.StaleToken, "the claim with epoch %d is over; do not act on it", epoch)
	case s.Code == mess.Claimed:
		return false, mess.Errorf(mess.AlreadyClaimed, "%s has claimed it", t.Env.Executor)
	}
	return false, mess.Errorf(mess.Forbidden, "%s holds the claim, and only the holder may report", t.Env.Executor)
}

// sameProcess refuses the claim and the start by another process than the one
// that has claimed, where that names itself: a repeated message is answered with
// yes, and two copies of one executor must not both be told so.
func (t *transition) sameProcess(s *mess.Status) error {
	bound := s.Instance != "" || s.Code == mess.Claimed || s.Code == mess.InProgress && t.Env.Phase == thread.NotStarted
	if t.Env.Instance == "" || !bound || s.Instance == t.Env.Instance {
		return nil
	}
	return mess.Errorf(mess.Conflict, "claimed by another process of the same executor; do not act on it, and give each process an id of its own")
}

// refusedStep turns a step that the state machine does not have into a
// refusal.
func (t *transition) refusedStep(err error) error {
	if e, ok := err.(*mess.TransitionError); ok {
		open := *e
		open.Legal = t.legal(e.By)
		r := mess.Errorf(mess.IllegalTransition, "%v", &open)
		r.Allowed = open.Legal
		return r
	}
	return err
}

// legal lists the steps that a party may take now: those of the state machine that the
// exchange would not refuse.
func (t *transition) legal(by mess.Party) []mess.Code {
	return slices.DeleteFunc(t.Env.Status.Next(by), func(c mess.Code) bool {
		switch c {
		case mess.Claimed:
			return t.Env.Phase != thread.NotStarted || t.Env.Status == mess.Pending && t.MayClaim(t.Who, t.Env) != nil
		case mess.Declined:
			return t.Env.Status == mess.Pending && !t.mayTake()
		case mess.InProgress, mess.Completed, mess.Partial:
			return t.confirmed() != nil
		case mess.Cancelled:
			return by == mess.ByExecutor && !t.mayEndCancelled()
		}
		return false
	})
}

// mayEndCancelled reports whether the executor may say that it was cancelled: somebody has
// cancelled it, or has not confirmed it.
func (t *transition) mayEndCancelled() bool {
	return t.Env.CancelBy != "" || t.Env.Confirm != nil && t.Env.Confirm.Given != nil && !*t.Env.Confirm.Given
}

// back takes a thread out of the hold that the exchange put on it while its
// executor was silent.
func (t *transition) back() {
	t.Env.Status, t.Env.HeldFrom = t.Env.HeldFrom, ""
}

// handBack takes a thread that its executor passes on: it is on offer again,
// or has left this exchange if it goes to somebody who is not here. One that
// ends, and will be back, has not said "not me", nor has one that died at the
// start gate and knows that nothing was done (T9).
func (t *transition) handBack(s *mess.Status) error {
	back := s.Reason != nil && s.Reason.Type == mess.Shutdown
	if t.Env.Phase != thread.NotStarted {
		if t.byPerson() || s.Reason == nil || s.Reason.Effect != mess.EffectNone || t.Env.CancelBy != "" || t.Env.Attempts+1 >= t.Attempts {
			return mess.Errorf(mess.IllegalTransition, "it has begun, so it cannot be passed on; end it with partial or failed, and say what was done")
		}
		t.Env.Attempts++
		t.Env.Phase, t.Env.Effect, back = thread.NotStarted, "", true
	}
	if !back {
		t.notMe(s)
	}
	t.note(mess.Delegated, s.DelegatedTo)
	if t.Env.HandedTo = s.DelegatedTo; t.byPerson() {
		t.Env.Stopped, t.Env.Stops = false, 1+t.Stops() // she knows of the stop
		t.Env.Declined = slices.DeleteFunc(t.Env.Declined, func(d thread.Decline) bool { return d.Executor == s.DelegatedTo && d.Executor != t.Who.ID })
	}
	t.Env.Executor, t.Env.Instance, t.Env.Confirm, t.Env.Questions = "", "", nil, nil
	t.Env.Status = mess.Pending
	if !back && t.AllDeclined(t.Env) {
		t.Env.Executor = t.Who.ID
		t.Env.Status = mess.Delegated
		t.Env.Phase = thread.Finished
		return nil
	}
	if !back {
		t.toPeople()
	}
	return nil
}
