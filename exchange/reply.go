package exchange

import (
	"slices"

	"github.com/messkit/messkit/mess"
)

// mayAnswer lets the requester and operators answer and cancel.
func (t *turn) mayAnswer() error {
	if t.who.ID == t.env.Requestor && t.who.Has(Requester) || t.who.Has(Operator) {
		return nil
	}
	return mess.Refuse(mess.Forbidden, "only %s, who made the request, and operators may answer or cancel it", t.env.Requestor)
}

// reply takes a reply of MESS 1.0 section 6.
func (t *turn) reply(r *mess.Reply) error {
	if err := t.mayAnswer(); err != nil {
		return err
	}
	if r.Confirm != nil {
		if err := t.confirm(*r.Confirm); err != nil {
			return err
		}
	}
	if len(r.Answers) == 0 {
		return nil
	}
	if err := t.asked(); err != nil {
		return err
	}
	for _, a := range r.Answers {
		t.answered(a.Key)
	}
	t.resumed()
	return nil
}

// answer takes an answer as MESSE-AF 2.1 writes it.
func (t *turn) answer(a *mess.Answer) error {
	if err := t.mayAnswer(); err != nil {
		return err
	}
	if v, ok := a.Value.(bool); ok && t.env.Status == mess.NeedsConfirmation {
		return t.confirm(v)
	}
	if err := t.asked(); err != nil {
		return err
	}
	of := slices.Concat(t.message.Re, a.Re)
	open := slices.DeleteFunc(slices.Clone(t.env.Questions), func(q OpenItem) bool {
		return slices.Contains(of, q.Message) || slices.Contains(of, q.Key)
	})
	if len(open) == len(t.env.Questions) { // it names the thread alone: all that is open
		open = nil
	}
	t.env.Questions = open
	t.resumed()
	return nil
}

// asked returns nil if an answer is waited for.
func (t *turn) asked() error {
	if t.env.Status == mess.NeedsInput {
		return nil
	}
	return refusedStep(&mess.TransitionError{From: t.env.Status, To: mess.InProgress, By: mess.ByRequester, Legal: t.env.Status.Next(mess.ByRequester)})
}

func (t *turn) answered(key string) {
	t.env.Questions = slices.DeleteFunc(t.env.Questions, func(q OpenItem) bool { return q.Key == key })
}

// resumed sets the thread back to work when nothing is left to answer. The
// start gate is not passed by that: the phase stays what it was.
func (t *turn) resumed() {
	if len(t.env.Questions) == 0 {
		t.note("replied", "")
		t.move(mess.InProgress)
	}
}

// confirm takes the yes or no to a needs_confirmation (T3). It is bound to the
// question that is open now, and never given to "last".
func (t *turn) confirm(yes bool) error {
	c := t.env.Confirm
	switch {
	case t.byLast:
		return mess.Refuse(mess.Invalid, "re: a confirmation must name its thread (%s); %q will not do", t.env.Ref, mess.Last)
	case t.env.Status != mess.NeedsConfirmation || c == nil || c.Given != nil || c.Epoch != t.env.Epoch:
		r := mess.Refuse(mess.Illegal, "no confirmation is asked for")
		r.Legal = t.env.Status.Next(mess.ByRequester)
		return r
	case c.By == "operator" && !t.who.Has(Operator):
		return mess.Refuse(mess.Forbidden, "this needs the word of a person who runs the place (role operator), not of %s", t.who.ID)
	case !t.names(c.Message):
		return mess.Refuse(mess.Stale, "that question is over; the open one is %s", c.Message)
	}
	c.Given, c.GivenBy = &yes, t.who.ID
	t.note("replied", "")
	switch {
	case !yes: // the executor says cancelled or held (MESS 1.1 section 1.2)
	case t.env.Phase == Before:
		t.move(mess.Claimed)
	default:
		t.move(mess.InProgress)
	}
	return nil
}

// names reports whether the message refers to the whole thread, or to the
// message of it that is called ref.
func (t *turn) names(ref string) bool {
	return !slices.ContainsFunc(t.message.Re, func(r string) bool { return r != t.env.Ref && r != ref })
}

// cancel takes a request back. Before the start that ends the thread (T12);
// after it, the executor is told and has the last word (T13).
func (t *turn) cancel() error {
	if err := t.mayAnswer(); err != nil {
		return err
	}
	if t.env.Status == mess.Cancelled || t.env.CancelBy != "" {
		t.repeat = true
		return nil
	}
	if err := mess.Step(t.env.Status, mess.Cancelled, mess.ByRequester); err != nil {
		return refusedStep(err)
	}
	if t.env.Phase == Acting {
		t.env.CancelBy = t.who.ID
		return nil
	}
	t.move(mess.Cancelled)
	return nil
}
