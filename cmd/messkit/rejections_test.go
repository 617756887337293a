package main

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// A rejection names the unrecognized words, or the abilities of the named device, in words for
// people.
func TestRejectionsArePlain(t *testing.T) {
	checkSentences(t, []sentence{
		{"hello", "refusal", "", `ask like "turn on the balcony light", "look at the fridge", "vacuum the kitchen"`},
		{"what can you do?", "refusal", "", `ask like "turn on`},
		{"order a pizza", "refusal", "", `not understood: "order", "pizza"; ask like`},
		{"is the living room tv open", "refusal", "read-sensor", "the living room tv does not tell whether it is open"},
		{"tint the stove blue", "refusal", "set-colour", "\"tint the stove blue\" is no request for an oven; stove can"},
		{"dim the stove to 30 percent", "refusal", "set-brightness", "\"dim the stove to 30 percent\" is no request for an oven; stove can switch it over"},
		{"turn it off", "refusal", "", `"it": no earlier request says what that is; say its name`},
		{"who is at the garage door?", "refusal", "", "no known order or question is like"},
		{"did I leave the garage open?", "plan", "read-sensor", "read the contact from the garage door"},
		{"garage door position?", "plan", "read-sensor", "read the opening from the garage door"},
		{"clean the hall light", "refusal", "vacuum-floor", "and 8 more can"},
		{"set hall light to night mode", "refusal", "", `not understood: "night mode"`},
		{"remind me at 8 to lock the door", "refusal", "", `not understood: "remind"`},
		{"who opened the garage door?", "refusal", "", "this home knows only the present state, and no history"},
		{"was the door locked at 5 pm?", "refusal", "", "only the present state"},
		{"how long has the hall light been on?", "refusal", "", "only the present state"},
		{"is the vacuum locked", "refusal", "read-sensor", "the vacuum does not tell whether it is locked"},
		{"turn off everything", "refusal", "switch-off", "name a kind of device"},
		{"don't turn on the stove", "refusal", "", "excludes something"},
	})
	r := simulatedInterpreter(t)
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

// A sentence about a desired state is an order. The planner asks about a sentence that may
// address another person, or that asks for permission.
func TestDesiredStateIsOrder(t *testing.T) {
	checkSentences(t, []sentence{
		{"make sure the stove is off", "plan", "switch-off", "turn off the stove"},
		{"make sure that the garage door is closed", "plan", "close", "close the garage door"},
		{"see to it that the door is locked", "plan", "lock", "lock the front door lock"},
		{"make sure to turn off the stove", "plan", "switch-off", "turn off the stove"},
		{"make sure the stove is not on", "refusal", "", "excludes something"},
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

// The planner asks about everyday orders without a verb or with additional words if it is unsure.
// It never plans another action.
func TestIncompleteOrdersLeadToQuestions(t *testing.T) {
	checkSentences(t, []sentence{
		{"watch tv", "question", "switch-on", "the text does not say to turn it on: shall I turn on the living room tv?"},
		{"I want to watch tv", "question", "switch-on", "shall I turn on the living room tv?"},
		{"don't watch tv", "refusal", "", "excludes something"},
		{"watch the garage door", "plan", "watch-sensor", "watch the garage door"},
		{"do turn on the fan", "plan", "switch-on", "turn on the bedroom fan"},
		{"do not turn on the fan", "refusal", "", "excludes something"},
		{"do turn on the fan?", "question", "switch-on", "shall I turn on the bedroom fan?"},
		{"do lights turn on at 8 pm", "refusal", "", "is a time"},
		{"get ready to turn on the hall light", "question", "switch-on", `"get ready to" may address another person: shall I turn on the hall light?`},
		{"open the blind a little", "question", "set-opening", "which one: bedroom blind or kids room blind?"},
		{"open the bedroom blind a little", "question", "set-opening", "the text does not say how far, and the device may be open further or less far now: shall I take the bedroom blind to 20 percent open?"},
		{"close the bedroom blind a bit", "question", "set-opening", "shall I take the bedroom blind to 80 percent open?"},
		{"turn off everything in the bathroom", "question", "switch-off", "the text names no kind of device: shall I turn off the bathroom heater, turn off the bathroom light, turn off the washing machine?"},
		{"turn everything off in the kitchen except the stove", "question", "switch-off", "turn off the kitchen light, turn off the kitchen rice cooker?"},
		{"turn on everything in the kitchen", "refusal", "switch-on", "name a kind of device"},
		{"start everything in the kitchen", "refusal", "switch-on", "name a kind of device"},
		{"vacuum everything", "plan", "vacuum-floor", "vacuum all floors"},
		{"bedroom blind at 20", "question", "set-opening", "the text does not say percent: shall I take the bedroom blind to 20 percent open?"},
		{"open the bedroom blind to 20", "question", "set-opening", "the text does not say percent"},
		{"bedroom blind at 200", "refusal", "set-opening", "may be 0 to 100 percent"},
		{"hall heating at 20", "plan", "set-temperature", "set the hall heating to 20"},
		{"Subject: the hall. Turn on the hall light", "plan", "switch-on", "turn on the hall light"},
		{"Subject: do not. Turn on the hall light", "refusal", "", "not understood"},
	})
}

// In the context of an order, a text with a colon is a time, and a level may be a word.
func TestContextOfOrder(t *testing.T) {
	for want, entry := range map[string]mess.Entry{
		"turn on the hall light, on Saturday 21 November at 20:00:00": mess.TextEntry("at 20:00"),
		"set the hall light to 50 percent":                            {Type: "structured", Value: mess.Object{{Key: "level", Value: "half"}}},
	} {
		o := simulatedInterpreter(t).Resolve(mess.Request{Intent: "turn on the hall light", Context: []mess.Entry{entry}})
		if o.Plan == nil || o.Plan.Summary != want {
			t.Errorf("beside %+v: %+v, want %s", entry, o, want)
		}
	}
}

// A question whether a number is absolute or relative accepts either answer. It repeats if the
// answer is both or neither.
func TestAbsoluteOrRelativeNumber(t *testing.T) {
	r, req := simulatedInterpreter(t), mess.Request{Intent: "brighten the hall light 20%"}
	q := r.Resolve(req).Question
	if q == nil {
		t.Fatal("not asked")
	}
	for answer, want := range map[string]string{
		"by 20": "make the hall light 20 percent brighter", "by 20 percent": "make the hall light 20 percent brighter", "to 20": "set the hall light to 20 percent",
		"20": "", "both": "", "by and to": "",
	} {
		o := r.Answer(*q, nil, answer, req)
		switch {
		case want != "" && (o.Plan == nil || o.Plan.Summary != want):
			t.Errorf("%q: %+v, want %s", answer, o, want)
		case want == "" && (o.Question == nil || strings.Join(o.Question.Options, ", ") != "to 20 percent, by 20 percent"):
			t.Errorf("%q: %+v, want the question again", answer, o)
		}
	}
}
