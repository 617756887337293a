package transition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange/thread"
	"github.com/messkit/messkit/mess"
)

// addPersonEvidence adds a text to the report of a person that the task is done, or partly done:
// "by NAME’s word". It tells readers that the report is the only evidence. The page for phones adds
// it as well, but other clients may not.
func (t *transition) addPersonEvidence() {
	name := t.PersonName(t.Actor.ID)
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
			withWord := *s
			withWord.Message = strings.TrimSpace(s.Message + " (" + word + ")")
			if s.Message == "" {
				withWord.Message = word
			}
			t.Message.Items = slices.Clone(t.Message.Items)
			t.Message.Items[i] = &withWord
		}
		return
	}
	if t.implies {
		t.Message.Items = append(slices.Clone(t.Message.Items), &mess.Status{Code: t.Env.Status, Message: word})
	}
}

// barringReasons has the reason types of a robot that a stop, a lockout or a policy rule prevents
// from acting. People must not do the same task by hand.
var barringReasons = []string{"stop", "locked", "disarmed", "interlock", "quiet_hours"}

// isBarred reports whether the reason of a status is one of barringReasons.
func isBarred(s *mess.Status) bool {
	return s.Reason != nil && slices.Contains(barringReasons, s.Reason.Type)
}

// requesterReasons are the reason types after which only a new request of the requester helps, and
// no other executor.
var requesterReasons = []string{"not_understood", "not_confirmed"}

// endsOwnPartOnly reports whether a report of a robot ends only its own part of the thread: it has
// done nothing, and a person might take the thread.
func (t *transition) endsOwnPartOnly(s *mess.Status) bool {
	switch {
	case t.Env.CancelBy != "" || t.Env.Needs.ConfirmBefore && t.Env.Confirm != nil && t.Env.Confirm.Given != nil && !*t.Env.Confirm.Given:
		return false // the requester has cancelled or rejected the task
	case isBarred(s):
		return false
	case s.Code == mess.Declined:
		return t.Env.Phase == thread.NotStarted && t.HasHumanCandidate(t.Env, t.Actor.ID)
	case s.Code != mess.Failed || s.Reason == nil || s.Reason.Effect != mess.EffectNone, slices.Contains(requesterReasons, s.Reason.Type):
		return false
	}
	return (t.Env.Phase == thread.NotStarted || t.Env.Attempts+1 < t.Attempts) && t.HasHumanCandidate(t.Env, t.Actor.ID)
}

// leaveToPeople adds a message after the last robot has declined: only people can do the task, with
// the reasons of the robots.
func (t *transition) leaveToPeople() {
	if t.Env.Status != mess.Pending || t.Env.DelegatedTo != "" || t.byPerson() {
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
