package transition

import (
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// maxProposals limits the open suggestions of one thread.
const maxProposals = 16

// suggest applies a suggestion (MESS 1.0 section 7.5). The exchange rejects what it could not carry
// out after an acceptance.
func (t *transition) suggest(s *mess.Suggestion) error {
	if err := t.checkParty(); err != nil {
		return err
	}
	p := thread.Proposal{ID: s.ID, Message: t.Message.Ref, Type: s.Type}
	switch s.Type {
	case "merge", "split":
		return mess.Errorf(mess.Invalid, "suggestion.type: this exchange does not execute a %s; cancel the request, and send a new one", s.Type)
	case "delegate":
		p.To = proposedText(s.Proposed, "executor", "to")
		if p.To == "" {
			return mess.Errorf(mess.Invalid, "suggestion.proposed: names no executor; write {executor: id}")
		}
	case "defer":
		until, err := mess.TimeOrDuration(proposedText(s.Proposed, "not_before", "until", "after")).Time(t.Now)
		if err != nil || !until.After(t.Now) {
			return mess.Errorf(mess.Invalid, "suggestion.proposed: names no future time; write {not_before: a time, or a duration such as 2h}")
		}
		p.Until = until
	}
	if !t.Env.Status.Terminal() {
		t.Env.Proposals = append(t.Env.Proposals, p)
		t.Env.Proposals = t.Env.Proposals[max(0, len(t.Env.Proposals)-maxProposals):]
	}
	return nil
}

// proposedText returns the text of a proposal, or the first of the fields keys in it.
func proposedText(v any, keys ...string) string {
	if o, ok := v.(mess.Object); ok {
		for _, k := range keys {
			if s := o.Text(k); s != "" {
				return s
			}
		}
	}
	s, _ := v.(string)
	return s
}

// accept applies the answer to a suggestion, and carries out an accepted one.
func (t *transition) accept(yes bool, of mess.Refs) error {
	i, err := t.proposal(of)
	if err != nil {
		return err
	}
	p := t.Env.Proposals[i]
	if yes {
		if err := t.carryOut(p); err != nil {
			return err
		}
	}
	t.Env.Proposals = slices.Delete(slices.Clone(t.Env.Proposals), i, i+1)
	return nil
}

// proposal returns the index of the suggestion that an answer names, or of the only open one.
func (t *transition) proposal(of mess.Refs) (int, error) {
	open := t.Env.Proposals
	named := slices.IndexFunc(open, func(p thread.Proposal) bool {
		return slices.Contains(of, p.Message) || p.ID != "" && slices.Contains(of, p.ID)
	})
	switch {
	case named >= 0:
		return named, nil
	case len(open) == 0 || len(t.messagesIn(of)) > 0:
		r := mess.Errorf(mess.IllegalTransition, "no such suggestion is open")
		r.Allowed = t.legal(mess.ByRequester)
		return 0, r
	case len(open) > 1:
		return 0, mess.Errorf(mess.Conflict, "there is more than one suggestion; name the one that you mean: re: %s", open[len(open)-1].Message)
	}
	return 0, nil
}

// carryOut carries out an accepted suggestion. After the start that is impossible, because only the
// executor knows how far the task is.
func (t *transition) carryOut(p thread.Proposal) error {
	if p.Type == "alternative" {
		return nil // the executor gets the answer, and asks its own questions
	}
	if t.Env.Phase != thread.NotStarted {
		return mess.Errorf(mess.IllegalTransition, "it has begun, so a %s comes too late; cancel it, or let it end", p.Type)
	}
	reason := ""
	switch p.Type {
	case "delegate":
		if !t.IsAble(p.To, t.Env) {
			return mess.Errorf(mess.NotYet, "%q is no executor that can take this now", p.To)
		}
		t.Env.Declined = slices.DeleteFunc(slices.Clone(t.Env.Declined), func(d thread.Decline) bool { return d.Executor == p.To })
		t.Env.DelegatedTo, reason = p.To, "delegated to "+p.To
		t.note(mess.Delegated, p.To)
	case "defer":
		if !t.Env.Expires.IsZero() && p.Until.After(t.Env.Expires) {
			return mess.Errorf(mess.NotYet, "needed by %s, which is before that", t.Env.Expires.Format(time.RFC3339))
		}
		reason = "not before " + p.Until.Format(time.RFC3339)
		t.Env.NotBefore = p.Until
		t.note("replied", reason)
	}
	t.release(reason)
	return nil
}

// release takes the claim of a thread that has not started from its holder, and sends the holder
// the reason.
func (t *transition) release(reason string) {
	if t.Env.Status == mess.Pending {
		return
	}
	t.Env.Executor, t.Env.Instance, t.Env.Confirm, t.Env.Questions = "", "", nil, nil
	t.Env.HeldFrom = ""
	t.move(mess.Pending)
	t.Also = &mess.Message{From: thread.Self, Received: t.Message.Received, Re: mess.Refs{t.Env.Ref}, Items: []mess.Item{
		&mess.Status{Code: mess.Pending, Message: reason},
	}}
}

// supersede applies the statement of the requester that another request replaces this one. After
// the start it counts as a cancel: the executor reports the terminal status.
func (t *transition) supersede(s *mess.Status) error {
	if err := t.checkAnswerer(); err != nil {
		return err
	}
	if t.Env.Status == mess.Superseded {
		t.Repeat = true
		return nil
	}
	if err := mess.Step(t.Env.Status, mess.Superseded, mess.ByRequester); err != nil {
		return t.illegal(err)
	}
	if t.Env.Phase == thread.NotStarted {
		t.move(mess.Superseded)
		t.addUnknownEffect()
		return nil
	}
	t.Message.Items = slices.Clone(t.Message.Items)
	i := slices.Index(t.Message.Items, mess.Item(s))
	t.Message.Items[i] = &mess.Cancel{Reason: "superseded by " + strings.Join(s.SupersededBy, ", ")}
	t.Message.Ref = messeaf.MessageRef(t.Env.Ref, t.Env.Serial+1, t.Message)
	return t.cancel()
}
