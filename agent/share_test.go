package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// One requester has more open questions than allowed. Its further requests end with "busy";
// those of another requester proceed at once.
func TestOpenQuestionsOfOneRequester(t *testing.T) {
	inHouseWith(t, func(h *house) { h.cfg.MaxThreads = 4 }, func(h *house) {
		var refs []string
		for i := range 8 {
			refs = append(refs, h.says(claude, fmt.Sprintf("request: {id: q%d, intent: vacuum the kitchen}", i)))
		}
		h.after(time.Second)
		for i, ref := range refs {
			want := mess.NeedsInput
			if i >= 4 {
				want = mess.Declined
			}
			s := h.is(ref, want)
			if i >= 4 && (s.Reason.Type != "busy" || !strings.Contains(s.Reason.Detail, "keeps 4 questions open at most, and 4 of them are yours; answer or cancel one of yours, then ask again")) {
				t.Errorf("%+v", s.Reason)
			}
		}
		h.is(h.says(person, "request: {intent: turn on the porch light}"), mess.Completed)
		theirs := h.says(person, "request: {intent: vacuum the kitchen}")
		h.is(theirs, mess.NeedsInput)
		s := h.is(refs[0], mess.Failed)
		if s.Reason.Type != "busy" || s.Reason.Effect != mess.EffectNone || !strings.Contains(s.Reason.Detail, "it ended your oldest one for another requester without acting") {
			t.Errorf("%+v", s.Reason)
		}
		h.is(refs[1], mess.NeedsInput)
		for _, ref := range append(refs[1:4], theirs) {
			h.says(person, "reply: {re: "+ref+", answers: {area: both}}")
			h.says(person, "reply: {re: "+ref+", confirm: true}")
		}
		h.after(5 * time.Minute)
		h.is(theirs, mess.Completed)
		h.is(refs[3], mess.Completed)
	})
}

// If a confirmation request has a timeout, "busy" contains its time.
func TestBusyStatesTime(t *testing.T) {
	inHouseWith(t, func(h *house) { h.cfg.MaxThreads = 1 }, func(h *house) {
		h.is(h.says(claude, "request: {id: a, intent: vacuum both}"), mess.NeedsConfirmation)
		h.after(time.Minute)
		s := h.is(h.says(claude, "request: {id: b, intent: vacuum both}"), mess.Declined)
		if after, _ := s.Reason.Extra.Get("retry_after"); !strings.Contains(s.Reason.Detail, "one ends by itself in 4m0s") || after != "PT4M" {
			t.Errorf("%+v", s.Reason)
		}
		h.after(4 * time.Minute)
		h.is(h.says(claude, "request: {id: c, intent: vacuum both}"), mess.NeedsConfirmation)
	})
}

// A requester with more work than places leaves one to another.
func TestPlacesAreSharedFairly(t *testing.T) {
	inHouseWith(t, func(h *house) { h.cfg.MaxThreads = 4 }, func(h *house) {
		h.lamp.set(func(l *lamp) { l.takes = 3 * time.Second })
		var refs []string
		for i := range 10 {
			refs = append(refs, h.says(claude, fmt.Sprintf("request: {id: r%d, intent: ring the bell}", i)))
		}
		h.is(h.says(person, "request: {intent: \"what's in the fridge?\"}"), mess.Completed)
		h.after(time.Minute)
		for _, ref := range refs {
			h.is(ref, mess.Completed)
		}
	})
}
