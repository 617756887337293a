package exchange

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

// suggestedAs finds a thread by the id of a suggestion, for those who may answer it.
func (x *Exchange) suggestedAs(who Actor, id string) (string, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	found := ""
	for ref, l := range x.by.suggested[id] {
		if (l.env.Requestor == who.ID || who.Has(Operator)) && l.env.Suggestion(id) != "" {
			if found != "" {
				return "", false // two have the same
			}
			found = ref
		}
	}
	return found, found != ""
}

// maxProposals bounds the suggestions of one thread that wait for an answer.
const maxProposals = 16

// suggest takes a suggestion (MESS 1.0 section 7.5). The exchange takes none that it
// would not carry out: an accepted one must not be left undone.
func (t *turn) suggest(s *mess.Suggestion) error {
	if err := t.partyOnly(); err != nil {
		return err
	}
	p := Proposal{ID: s.ID, Message: t.message.Ref, Type: s.Type}
	switch s.Type {
	case "merge", "split":
		return mess.Refuse(mess.Invalid, "suggestion.type: this exchange does not carry out a %s; the requester cancels, and asks anew", s.Type)
	case "delegate":
		p.To = proposed(s.Proposed, "executor", "to")
		if p.To == "" {
			return mess.Refuse(mess.Invalid, "suggestion.proposed: names no executor; write {executor: id}")
		}
	case "defer":
		until, err := mess.When(proposed(s.Proposed, "not_before", "until", "after")).Time(t.now)
		if err != nil || !until.After(t.now) {
			return mess.Refuse(mess.Invalid, "suggestion.proposed: names no time to come; write {not_before: a time, or a duration such as 2h}")
		}
		p.Until = until
	}
	if !t.env.Status.Terminal() {
		t.env.Proposals = append(t.env.Proposals, p)
		t.env.Proposals = t.env.Proposals[max(0, len(t.env.Proposals)-maxProposals):]
	}
	return nil
}

// proposed is what a suggestion proposes: a text, or the first of these fields.
func proposed(v any, keys ...string) string {
	if o, ok := v.(mess.Object); ok {
		for _, k := range keys {
			if s := textIn(o, k); s != "" {
				return s
			}
		}
	}
	s, _ := v.(string)
	return s
}

// accept takes the answer to a suggestion, and does what was accepted.
func (t *turn) accept(yes bool, of mess.Refs) error {
	i, err := t.proposal(of)
	if !yes && errors.Is(err, mess.Illegal) {
		return nil // there is nothing to be left undone
	}
	if err != nil {
		return err
	}
	p := t.env.Proposals[i]
	if yes {
		if err := t.carryOut(p); err != nil {
			return err
		}
	}
	t.env.Proposals = slices.Delete(slices.Clone(t.env.Proposals), i, i+1)
	return nil
}

// proposal finds the suggestion that an answer is for: the one that it names, or the
// only one that is open.
func (t *turn) proposal(of mess.Refs) (int, error) {
	open := t.env.Proposals
	named := slices.IndexFunc(open, func(p Proposal) bool {
		return slices.Contains(of, p.Message) || p.ID != "" && slices.Contains(of, p.ID)
	})
	switch {
	case named >= 0:
		return named, nil
	case len(open) == 0 || len(t.messagesIn(of)) > 0:
		r := mess.Refuse(mess.Illegal, "no such suggestion is open")
		r.Legal = t.legal(mess.ByRequester)
		return 0, r
	case len(open) > 1:
		return 0, mess.Refuse(mess.Conflict, "there is more than one suggestion; name the one that you mean: re: %s", open[len(open)-1].Message)
	}
	return 0, nil
}

// carryOut does what was suggested. What has begun goes on where it is: the world has
// been touched, and only its executor knows how far.
func (t *turn) carryOut(p Proposal) error {
	if p.Type == "alternative" {
		return nil // the executor hears of the answer, and asks for what it needs
	}
	if t.env.Phase != Before {
		return mess.Refuse(mess.Illegal, "it has begun, so a %s comes too late; cancel it, or let it end", p.Type)
	}
	why := ""
	switch p.Type {
	case "delegate":
		if !t.able(p.To, t.env) {
			return mess.Refuse(mess.NotReady, "%q is no executor that can take this now", p.To)
		}
		t.env.Declined = slices.DeleteFunc(slices.Clone(t.env.Declined), func(d Declined) bool { return d.Executor == p.To })
		t.env.HandedTo, why = p.To, "handed to "+p.To
		t.note(mess.Delegated, p.To)
	case "defer":
		if !t.env.Expires.IsZero() && p.Until.After(t.env.Expires) {
			return mess.Refuse(mess.NotReady, "needed by %s, which is before that", t.env.Expires.Format(time.RFC3339))
		}
		why = "not before " + p.Until.Format(time.RFC3339)
		t.env.NotBefore = p.Until
		t.note("replied", why)
	}
	t.release(why)
	return nil
}

// release takes a thread that has not begun from its holder, who is told.
func (t *turn) release(why string) {
	if t.env.Status == mess.Pending {
		return
	}
	t.env.Executor, t.env.Instance, t.env.Confirm, t.env.Questions = "", "", nil, nil
	t.env.HeldFrom = ""
	t.move(mess.Pending)
	t.also = &mess.Message{From: Self, Received: t.message.Received, Re: mess.Refs{t.env.Ref}, Items: []mess.Item{
		&mess.Status{Code: mess.Pending, Message: why},
	}}
}

// supersede takes the requester's word that another request has taken the place of this
// one. Of what has begun it is a cancel: its executor ends it, and has the last word.
func (t *turn) supersede(s *mess.Status) error {
	if err := t.mayAnswer(); err != nil {
		return err
	}
	if t.env.Status == mess.Superseded {
		t.repeat = true
		return nil
	}
	if err := mess.Step(t.env.Status, mess.Superseded, mess.ByRequester); err != nil {
		return t.refusedStep(err)
	}
	if t.env.Phase == Before {
		t.move(mess.Superseded)
		t.mayHaveBegun()
		return nil
	}
	t.message.Items = slices.Clone(t.message.Items)
	i := slices.Index(t.message.Items, mess.Item(s))
	t.message.Items[i] = &mess.Cancel{Reason: "superseded by " + strings.Join(s.SupersededBy, ", ")}
	t.message.Ref = messeaf.MessageRef(t.env.Ref, t.env.Serial+1, t.message)
	return t.cancel()
}
