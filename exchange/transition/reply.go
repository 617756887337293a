package transition

import (
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// checkAnswerer returns an error unless the sender is the requester, a resident or an operator.
func (t *transition) checkAnswerer() error {
	if t.Actor.ID == t.Env.Requester && t.Actor.Has(thread.Requester) || t.Actor.Roles&(thread.Operator|thread.Resident) != 0 {
		return nil
	}
	return mess.Errorf(mess.Forbidden, "only %s, the requester, and operators may answer or cancel it", t.Env.Requester)
}

// reply applies a reply (MESS 1.0 section 6).
func (t *transition) reply(r *mess.Reply) error {
	if err := t.checkAnswerer(); err != nil {
		return err
	}
	if r.Confirm != nil {
		if err := t.confirm(*r.Confirm, t.Message.Re, r.ActionHash); err != nil {
			return err
		}
	}
	if r.Accept != nil {
		if err := t.accept(*r.Accept, t.Message.Re); err != nil {
			return err
		}
	}
	if len(r.Answers) == 0 {
		return nil
	}
	meant, err := t.questions(t.Message.Re)
	if err != nil {
		return err
	}
	t.removeQuestions(slices.DeleteFunc(meant, func(q thread.OpenQuestion) bool {
		return !slices.ContainsFunc(r.Answers, func(a mess.Field) bool { return a.Key == q.Key })
	}))
	return nil
}

// answer applies an answer (MESSE-AF 2.1).
func (t *transition) answer(a *mess.Answer) error {
	if err := t.checkAnswerer(); err != nil {
		return err
	}
	of := slices.Concat(t.Message.Re, a.Re)
	if v, ok := a.Value.(bool); ok && t.Env.Status == mess.NeedsConfirmation {
		return t.confirm(v, of, "")
	}
	meant, err := t.questions(of)
	if err != nil {
		return err
	}
	if named := slices.DeleteFunc(slices.Clone(meant), func(q thread.OpenQuestion) bool { return !slices.Contains(of, q.Key) }); len(named) > 0 {
		meant = named
	}
	t.removeQuestions(meant)
	return nil
}

// questions returns the open questions that an answer may be for: those of the messages that it
// names, or all if it names only the thread. An answer to an earlier question with the same key is
// not for the open one.
func (t *transition) questions(of mess.Refs) ([]thread.OpenQuestion, error) {
	if err := t.checkNeedsInput(); err != nil {
		return nil, err
	}
	all := t.Env.Questions
	names := t.messagesIn(of)
	if len(names) == 0 || len(all) == 0 {
		return slices.Clone(all), nil
	}
	meant := slices.DeleteFunc(slices.Clone(all), func(q thread.OpenQuestion) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return messeaf.Serial(name) == messeaf.Serial(q.Message) })
	})
	if len(meant) == 0 {
		return nil, mess.Errorf(mess.StaleToken, "that question is closed or does not exist; the open one is %s", all[len(all)-1].Message)
	}
	return meant, nil
}

// messagesIn returns the names that are refs of messages of the thread.
func (t *transition) messagesIn(names mess.Refs) []string {
	return slices.DeleteFunc(slices.Clone(names), func(r string) bool { return !strings.HasPrefix(r, t.Env.Ref+"/") })
}

// checkNeedsInput returns nil if the thread waits for an answer.
func (t *transition) checkNeedsInput() error {
	if t.Env.Status == mess.NeedsInput {
		return nil
	}
	return t.illegal(&mess.TransitionError{From: t.Env.Status, To: mess.InProgress, By: mess.ByRequester})
}

// removeQuestions removes questions, and returns the thread to work after the last one. The phase
// does not change: an answer is no start permission.
func (t *transition) removeQuestions(these []thread.OpenQuestion) {
	t.Env.Questions = slices.DeleteFunc(t.Env.Questions, func(q thread.OpenQuestion) bool { return slices.Contains(these, q) })
	if len(t.Env.Questions) == 0 {
		t.note("replied", "")
		t.move(mess.InProgress)
	}
}

// confirm applies the answer to a needs_confirmation (transition T3). It counts for one question
// only, and must not name the thread by "last".
func (t *transition) confirm(yes bool, of mess.Refs, hash string) error {
	c := t.Env.Confirm
	switch {
	case t.ByLast:
		return mess.Errorf(mess.Invalid, "re: a confirmation must name its thread (%s); %q is not allowed", t.Env.Ref, mess.Last)
	case c != nil && c.By == "operator" && !yes && !t.Actor.Has(thread.Operator):
		return mess.Errorf(mess.Forbidden, "this needs the confirmation of a person with the role operator, not of %s", t.Actor.ID)
	}
	again, err := t.checkConfirmation(yes, of, hash)
	if err != nil {
		return err
	}
	if again {
		t.Repeat = len(t.Message.Items) == 1
		return nil
	}
	if yes && c.By == "operator" {
		if err := t.Proven(*c); err != nil {
			return err
		}
	}
	if yes && t.IsGone(t.Env) {
		return mess.Errorf(mess.NotYet, "%s, which asks for it, is unreachable now; confirm again when it is back, or when another executor asks", t.Env.Executor)
	}
	c.Given, c.GivenBy = &yes, t.Actor.ID
	t.Env.LimitFrom(t.Now)
	t.note("replied", "")
	switch {
	case !yes: // the executor reports cancelled or held (MESS 1.1 section 1.2)
	case t.Env.Phase == thread.NotStarted:
		t.move(mess.Claimed)
	default:
		t.move(mess.InProgress)
	}
	return nil
}

// checkConfirmation checks which question a confirmation is for. again is true for the repetition
// of an earlier answer. If again is false and the error is nil, it is for the open question. A
// confirmation that names only the thread counts if the claim has asked once. After a second
// question, a repeated answer to the first would confirm a plan that the requester has not read.
func (t *transition) checkConfirmation(yes bool, of mess.Refs, hash string) (again bool, _ error) {
	asked := t.Env.Confirm.All(t.Env.Epoch)
	last := len(asked) - 1
	if last < 0 {
		return false, t.noOpenConfirmation()
	}
	names := t.messagesIn(of)
	open := t.Env.Status == mess.NeedsConfirmation && asked[last].Given == nil
	bare := len(names) == 0 && hash == ""
	i := last
	if !bare {
		for i >= 0 && !asked[i].IsNamed(names, hash) {
			i--
		}
	}
	switch {
	case bare && yes && open && last > 0:
		return false, mess.Errorf(mess.Conflict, "the executor has asked more than one question; a confirmation must name its question: re: %s", asked[last].Message)
	case i >= 0 && asked[i].Given != nil && *asked[i].Given == yes:
		return true, nil
	case !open:
		return false, t.noOpenConfirmation()
	case i != last:
		return false, mess.Errorf(mess.StaleToken, "that question is closed; the open one is %s", asked[last].Message)
	}
	return false, nil
}

// noOpenConfirmation returns the error for a confirmation without an open question.
func (t *transition) noOpenConfirmation() error {
	r := mess.Errorf(mess.IllegalTransition, "no confirmation is open")
	r.Allowed = t.legal(mess.ByRequester)
	return r
}

// cancel applies a cancel. Before the start it ends the thread (transition T12). After the start
// the executor gets it, and reports the terminal status (transition T13).
func (t *transition) cancel() error {
	if err := t.checkAnswerer(); err != nil {
		return err
	}
	if t.Env.Status == mess.Cancelled || t.Env.CancelBy != "" {
		t.Repeat = true
		return nil
	}
	if err := mess.Step(t.Env.Status, mess.Cancelled, mess.ByRequester); err != nil {
		return t.illegal(err)
	}
	if t.Env.Phase == thread.Started {
		t.Env.CancelBy = t.Actor.ID
		return nil
	}
	t.move(mess.Cancelled)
	t.addUnknownEffect()
	return nil
}

// addUnknownEffect adds a message that the effect is unknown, if a person has claimed the thread: a
// person may have begun without a report.
func (t *transition) addUnknownEffect() {
	if name := t.PersonName(t.Env.Executor); name != "" {
		t.Also = &mess.Message{From: thread.Self, Received: t.Message.Received, Re: mess.Refs{t.Env.Ref}, Items: []mess.Item{
			&mess.Status{Code: t.Env.Status, Reason: &mess.Reason{Type: "interrupted", Effect: mess.EffectUnknown, Detail: name + " had taken it, and may have begun"}},
		}}
	}
}
