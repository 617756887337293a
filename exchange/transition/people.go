package transition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// byWord says of what a person has done how it is known, where she does not say it
// herself: by her word. The page for phones does so too; other clients need not know
// of it.
func (t *transition) byWord() {
	name := t.PersonName(t.Who.ID)
	if name == "" || t.Evidence || t.Repeat || !slices.Contains([]mess.Code{mess.Completed, mess.Partial}, t.Env.Status) {
		return
	}
	word := "by " + name + "’s word"
	for i, item := range t.Message.Items {
		s, ok := item.(*mess.Status)
		if !ok || s.Code != t.Env.Status {
			continue
		}
		if s.Evidence == "" && !strings.Contains(s.Message, word) {
			said := *s
			said.Message = strings.TrimSpace(s.Message + " (" + word + ")")
			if s.Message == "" {
				said.Message = word
			}
			t.Message.Items = slices.Clone(t.Message.Items)
			t.Message.Items[i] = &said
		}
		return
	}
	if t.implies {
		t.Message.Items = append(slices.Clone(t.Message.Items), &mess.Status{Code: t.Env.Status, Message: word})
	}
}

// bars are the types of the reasons by which somebody, or something that is seen
// there, keeps a robot from acting. What it cannot do because of them nobody is to
// do by hand.
var bars = []string{"stop", "locked", "disarmed", "interlock", "quiet_hours"}

// isBarred reports whether a status says that something is kept from acting.
func isBarred(s *mess.Status) bool { return s.Reason != nil && slices.Contains(bars, s.Reason.Type) }

// again are the types of the reasons that tell the requester to ask anew: what he
// meant, or whether he means it, nobody else knows either.
var again = []string{"not_understood", "not_confirmed"}

// passesOn reports whether what a robot says ends its part and not the thread: it
// has done nothing, and a person might.
func (t *transition) passesOn(s *mess.Status) bool {
	switch {
	case t.Env.CancelBy != "" || t.Env.Needs.ConfirmBefore && t.Env.Confirm != nil && t.Env.Confirm.Given != nil && !*t.Env.Confirm.Given:
		return false // nobody is to do it
	case isBarred(s):
		return false
	case s.Code == mess.Declined:
		return t.Env.Phase == thread.NotStarted && t.HasHumanCandidate(t.Env, t.Who.ID)
	case s.Code != mess.Failed || s.Reason == nil || s.Reason.Effect != mess.EffectNone, slices.Contains(again, s.Reason.Type):
		return false
	}
	return (t.Env.Phase == thread.NotStarted || t.Env.Attempts+1 < t.Attempts) && t.HasHumanCandidate(t.Env, t.Who.ID)
}

// toPeople says in the thread that it is left to people, and why, once the last robot
// has said that it does not do it.
func (t *transition) toPeople() {
	if t.Env.Status != mess.Pending || t.Env.HandedTo != "" || t.byPerson() {
		return
	}
	robots := t.Env
	robots.Declined = slices.DeleteFunc(slices.Clone(robots.Declined), func(d thread.Decline) bool { return t.PersonName(d.Executor) != "" })
	if names := t.HumanCandidates(t.Env); len(names) > 0 {
		t.Also = &mess.Message{From: thread.Self, Received: t.Message.Received, Re: mess.Refs{t.Env.Ref}, Items: []mess.Item{
			&mess.Status{Code: mess.Pending, Message: fmt.Sprintf("no robot here does it (%s); offered to %s", robots.DeclineReasons(), strings.Join(names, ", "))},
		}}
	}
}
