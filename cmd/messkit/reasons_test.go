package main

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// What is refused says what was not understood, or what the thing that was named can
// do, in words for people.
func TestReasonsAreForPeople(t *testing.T) {
	saidInTheHome(t, []sentence{
		{"hello", "refusal", "", `ask like "turn on the balcony light", "look at the fridge", "vacuum the kitchen"`},
		{"what can you do?", "refusal", "", `ask like "turn on`},
		{"order a pizza", "refusal", "", `not understood: "order", "pizza"; ask like`},
		{"is the living room tv open", "refusal", "read-sensor", "the living room tv does not tell whether it is open"},
		{"tint the stove blue", "refusal", "set-colour", "nobody asks an oven to give a light a colour; stove can"},
		{"dim the stove to 30 percent", "refusal", "set-brightness", "nobody asks an oven to set how bright a light is; stove can switch it over"},
		{"clean the hall light", "refusal", "vacuum-floor", "and 8 more can"},
		{"set hall light to night mode", "refusal", "", `not understood: "night mode"`},
		{"remind me at 8 to lock the door", "refusal", "", `not understood: "remind"`},
		{"who opened the garage door?", "refusal", "", "what was before, who did it and for how long is not known here"},
		{"was the door locked at 5 pm?", "refusal", "", "only how it is now"},
		{"how long has the hall light been on?", "refusal", "", "only how it is now"},
		{"is the vacuum locked", "refusal", "read-sensor", "the vacuum does not tell whether it is locked"},
		{"turn off everything", "refusal", "switch-off", "name a kind of device"},
		{"don't turn on the stove", "refusal", "", "rules something out"},
	})
	r := simulated(t)
	for _, text := range []string{
		"hello", "what can you do", "let me in", "order a pizza", "schalte das Licht ein", "sing a song", "the quick brown fox", "open the printer", "tint the stove blue", "vacuum the hall light",
		"unlock the stove", "dock the lamp", "print the hall light", "set the vacuum to 20 degrees", "close the tv", "is the vacuum locked",
	} {
		o := r.Resolve(mess.Request{Intent: text})
		if o.Refusal == nil || strings.Contains(o.Refusal.Reason, "no verb") || strings.Contains(o.Refusal.Reason, "driver") || len(o.Refusal.Reason) > 520 {
			t.Errorf("%q: %+v; want a short reason without words of the inside", text, o.Refusal)
		}
	}
}

// How a thing is to be is the order for it; what may be meant for somebody else, or asks
// for leave, is asked about.
func TestWhatIsToBeSo(t *testing.T) {
	saidInTheHome(t, []sentence{
		{"make sure the stove is off", "plan", "switch-off", "turn off the stove"},
		{"make sure that the garage door is closed", "plan", "close", "close the garage door"},
		{"see to it that the door is locked", "plan", "lock", "lock the front door lock"},
		{"make sure to turn off the stove", "plan", "switch-off", "turn off the stove"},
		{"make sure the stove is not on", "refusal", "", "rules something out"},
		{"please don't forget to lock the door", "question", "lock", "shall I lock the front door lock?"},
		{"may I turn on the stove", "question", "switch-on", "shall I turn on the stove?"},
		{"shall we open the blinds?", "question", "open", "shall I open the bedroom blind"},
		{"lock everything", "plan", "lock", "lock the front door lock"},
		{"lock up", "question", "lock", "shall I lock the front door lock?"},
		{"lock up the house", "question", "lock", "shall I lock the front door lock?"},
		{"where is the vacuum", "plan", "vacuum-status", "ask the vacuum how it is"},
		{"has the stove been turned off", "plan", "read-switch", "look whether the stove is on"},
	})
}
