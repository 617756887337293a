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
	withHarnessSetup(t, func(h *harness) { h.cfg.MaxThreads = 4 }, func(h *harness) {
		var refs []string
		for i := range 8 {
			refs = append(refs, h.send(requester, fmt.Sprintf("request: {id: q%d, intent: vacuum the kitchen}", i)))
		}
		h.advance(time.Second)
		for i, ref := range refs {
			want := mess.NeedsInput
			if i >= 4 {
				want = mess.Declined
			}
			s := h.wantStatus(ref, want)
			if i >= 4 && (s.Reason.Type != "busy" || !strings.Contains(s.Reason.Detail, "keeps 4 questions open at most, and 4 of them are yours; answer or cancel one of yours, then ask again")) {
				t.Errorf("%+v", s.Reason)
			}
		}
		h.wantStatus(h.send(person, "request: {intent: turn on the porch light}"), mess.Completed)
		theirs := h.send(person, "request: {intent: vacuum the kitchen}")
		h.wantStatus(theirs, mess.NeedsInput)
		s := h.wantStatus(refs[0], mess.Failed)
		if s.Reason.Type != "busy" || s.Reason.Effect != mess.EffectNone || !strings.Contains(s.Reason.Detail, "it ended your oldest one for another requester without acting") {
			t.Errorf("%+v", s.Reason)
		}
		h.wantStatus(refs[1], mess.NeedsInput)
		for _, ref := range append(refs[1:4], theirs) {
			h.send(person, "reply: {re: "+ref+", answers: {area: both}}")
			h.send(person, "reply: {re: "+ref+", confirm: true}")
		}
		h.advance(5 * time.Minute)
		h.wantStatus(theirs, mess.Completed)
		h.wantStatus(refs[3], mess.Completed)
	})
}

// If a confirmation request has a timeout, "busy" contains its time.
func TestBusyStatesTime(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.cfg.MaxThreads = 1 }, func(h *harness) {
		h.wantStatus(h.send(requester, "request: {id: a, intent: vacuum both}"), mess.NeedsConfirmation)
		h.advance(time.Minute)
		s := h.wantStatus(h.send(requester, "request: {id: b, intent: vacuum both}"), mess.Declined)
		if after, _ := s.Reason.Extra.Get("retry_after"); !strings.Contains(s.Reason.Detail, "one ends in 4m0s") || after != "PT4M" {
			t.Errorf("%+v", s.Reason)
		}
		h.advance(4 * time.Minute)
		h.wantStatus(h.send(requester, "request: {id: c, intent: vacuum both}"), mess.NeedsConfirmation)
	})
}

// A requester with more work than places leaves one to another.
func TestPlacesAreSharedFairly(t *testing.T) {
	withHarnessSetup(t, func(h *harness) { h.cfg.MaxThreads = 4 }, func(h *harness) {
		h.lamp.set(func(l *lamp) { l.takes = 3 * time.Second })
		var refs []string
		for i := range 10 {
			refs = append(refs, h.send(requester, fmt.Sprintf("request: {id: r%d, intent: ring the bell}", i)))
		}
		h.wantStatus(h.send(person, "request: {intent: \"what's in the fridge?\"}"), mess.Completed)
		h.advance(time.Minute)
		for _, ref := range refs {
			h.wantStatus(ref, mess.Completed)
		}
	})
}
