package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers/sim"
	"github.com/messkit/messkit/mess"
)

// The agent interprets answers in words like requests. It repeats the question once after an
// unsuitable answer; then nothing happens.
func TestAnswersAreInterpreted(t *testing.T) {
	const which, cosy = "turn on the light", "I need some light in the hall"
	for _, c := range []struct {
		intent  string
		answers []string
		code    mess.Code
		did     string
	}{
		{which, []string{"porch"}, mess.Completed, litDescription},
		{which, []string{"the porch one please"}, mess.Completed, litDescription},
		{which, []string{"the one on the porch"}, mess.Completed, litDescription},
		{which, []string{"Porch light."}, mess.Completed, litDescription},
		{which, []string{"the second one"}, mess.Completed, "hall-light: hall-light on"},
		{which, []string{"2"}, mess.Completed, "hall-light: hall-light on"},
		{which, []string{"hall, please"}, mess.Completed, "hall-light: hall-light on"},
		{which, []string{"i mean the hall"}, mess.Completed, "hall-light: hall-light on"},
		{which, []string{"not that one, the hall one"}, mess.Completed, "hall-light: hall-light on"},
		{which, []string{"no, the hall"}, mess.Completed, "hall-light: hall-light on"},
		{which, []string{"neither"}, mess.Failed, ""},
		{which, []string{"cancel that"}, mess.Failed, ""},
		{which, []string{"never mind"}, mess.Failed, ""},
		{which, []string{"the left one"}, mess.NeedsInput, ""},
		{which, []string{"the left one", "the blue one"}, mess.Failed, ""},
		{which, []string{"the left one", "hall"}, mess.Completed, "hall-light: hall-light on"},
		{which, []string{"no, the other one"}, mess.NeedsInput, ""},
		{which, []string{"which ones are there?"}, mess.NeedsInput, ""},
		{which, []string{"not the porch"}, mess.NeedsInput, ""},
		{which, []string{"porch, but only if it is dark"}, mess.NeedsInput, ""},
		{which, []string{"open the garage door"}, mess.NeedsInput, ""},
		{which, []string{"kitchen", "cellar"}, mess.Failed, ""},
		{cosy, []string{"yes please"}, mess.Completed, "hall-light: hall-light on"},
		{cosy, []string{"yes"}, mess.Completed, "hall-light: hall-light on"},
		{cosy, []string{"sure, go ahead"}, mess.Completed, "hall-light: hall-light on"},
		{cosy, []string{"no"}, mess.Failed, ""},
		{cosy, []string{"no thanks"}, mess.Failed, ""},
		{cosy, []string{"yes and no"}, mess.NeedsInput, ""},
		{cosy, []string{"yes, but not now"}, mess.NeedsInput, ""},
		{cosy, []string{"maybe"}, mess.NeedsInput, ""},
		{cosy, []string{"maybe", "i do not know"}, mess.Failed, ""},
		{cosy, []string{"stop"}, mess.Failed, ""},
	} {
		t.Run(c.intent+": "+strings.Join(c.answers, "; "), func(t *testing.T) {
			var w *sim.World
			withHarnessSetup(t, func(h *harness) { w = h.useSimulatedHome(positionAt(true)) }, func(h *harness) {
				before := len(w.Log())
				ref := h.send(requester, "request: {intent: "+c.intent+"}")
				for i, text := range c.answers {
					s := h.wantStatus(ref, mess.NeedsInput)
					h.send(requester, "reply: {re: "+ref+", answers: {"+s.Questions[0].Field+": '"+text+"'}}")
					h.advance(time.Minute)
					if i+1 < len(c.answers) {
						h.wantStatus(ref, mess.NeedsInput)
					}
				}
				h.wantStatus(ref, c.code)
				if got := actsSince(w, before); got != c.did {
					t.Errorf("done: %q, want %q", got, c.did)
				}
			})
		})
	}
}
