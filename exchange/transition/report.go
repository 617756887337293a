package transition

import (
	"cmp"
	"slices"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// report writes an allowed report into the envelope.
func (t *transition) report(s *mess.Status) error {
	t.Env.SetUses(s.Extra)
	switch s.Code {
	case mess.InProgress:
		if t.Env.Phase == thread.NotStarted {
			t.Env.Phase = thread.Started
			effect, _ := s.Extra.Get("effect")
			t.Env.Effect, _ = effect.(string)
		}
		t.Env.Questions = nil
	case mess.NeedsInput:
		for _, q := range s.Questions {
			t.Env.Questions = append(t.Env.Questions, thread.OpenQuestion{Key: q.Key(), Message: t.Message.Ref})
		}
	case mess.NeedsConfirmation:
		t.Env.Confirm = t.Env.Confirm.Next(thread.Confirm{Message: t.Message.Ref, Epoch: t.Env.Epoch, ActionHash: s.ActionHash, By: s.ConfirmBy})
		t.Env.ExtendForConfirmation(t.Now)
	case mess.Declined:
		t.recordDecline(s)
	}
	if d, err := s.Estimate.Duration(); err == nil && d > 0 {
		t.Env.Estimate = d
	}
	t.move(s.Code)
	t.noteQuestion(s)
	return nil
}

// noteQuestion writes the question into the history (MESSE-AF 2.1, "Example: Needs Input Flow").
func (t *transition) noteQuestion(s *mess.Status) {
	last := &t.Env.History[len(t.Env.History)-1]
	if last.Ref != t.Message.Ref || last.Action != string(s.Code) {
		return
	}
	switch {
	case s.Code == mess.NeedsInput && len(s.Questions) > 0:
		last.Note = cmp.Or(s.Message, s.Questions[0].Question)
	case s.Code == mess.NeedsConfirmation:
		last.Note = cmp.Or(s.Message, s.Action)
	}
}

// response applies a result. A response without a status completes the thread (MESS 1.0, "Appendix:
// Example Conversation"); completeImplied does that.
func (t *transition) response() error {
	if t.Env.Holder() == t.Actor.ID && (t.Message.Epoch == 0 || t.Message.Epoch == t.Env.Epoch) {
		return nil
	}
	if t.Env.HasHeld(t.Actor.ID) {
		t.Evidence = t.Evidence || !t.hasEndedThread()
		return nil
	}
	return mess.Errorf(mess.Forbidden, "only the executor that holds the claim may respond")
}

// hasEndedThread reports whether this message has ended the thread.
func (t *transition) hasEndedThread() bool {
	return slices.ContainsFunc(t.Message.Items, func(i mess.Item) bool {
		s, ok := i.(*mess.Status)
		return ok && s.Code == t.Env.Status
	})
}

// completeImplied completes a thread after a response without a status.
func (t *transition) completeImplied() error {
	responded := false
	for _, item := range t.Message.Items {
		switch item.(type) {
		case *mess.Status:
			return nil
		case *mess.Response:
			responded = true
		}
	}
	if !responded || t.Env.Holder() != t.Actor.ID || t.Evidence {
		return nil
	}
	s := &mess.Status{Code: mess.Completed}
	if err := t.checkAllowed(s); err != nil {
		return err
	}
	t.implies = true
	return t.report(s)
}

// checkParty returns an error unless the sender is a party of the thread or an operator.
func (t *transition) checkParty() error {
	if t.Actor.ID == t.Env.Requester || t.Env.HasHeld(t.Actor.ID) || t.Actor.Has(thread.Operator) {
		return nil
	}
	return mess.Errorf(mess.Forbidden, "only the requester and the executor of a thread may post to it")
}

// move sets the status, and writes it into the history.
func (t *transition) move(to mess.Code) {
	if to != t.Env.Status {
		t.note(to, "")
	}
	t.Env.Status = to
	if to.Terminal() {
		t.Env.Phase, t.Env.Questions, t.Env.Proposals, t.Env.HeldFrom = thread.Finished, nil, nil, ""
	}
}

// note adds an entry to the history.
func (t *transition) note(action mess.Code, note string) {
	t.Env.History = append(t.Env.History, thread.HistoryEntry{
		Action: string(action), At: t.Now, By: t.Actor.ID, Ref: t.Message.Ref, Note: note,
	})
}
