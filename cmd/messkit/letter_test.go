package main

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/mess"
)

// The planner reads a text in the form of a letter as the request that it contains.
func TestLetterIsReadAsItsRequest(t *testing.T) {
	checkSentences(t, []sentence{
		{"Dear house, please turn on the hall light.", "plan", "switch-on", "turn on the hall light"},
		{"Hi, I hope you're doing well. Please turn on the hall light. Thanks a lot.", "plan", "switch-on", "turn on the hall light"},
		{"Hi, I hope you're doing well. Could you please turn on the hall light? Thanks a lot.", "question", "switch-on", "shall I turn on the hall light?"}, // a question never acts
		{"Hello there! Please turn on the hall light. Have a nice day!", "plan", "switch-on", "turn on the hall light"},
		{"Turn on the hall light. Best, Anna", "plan", "switch-on", "turn on the hall light"},
		{"Hi Anna,\nplease turn on the\nhall light.\n\nBest regards,\nAnna", "plan", "switch-on", "turn on the hall light"},
		{"turn on the hall light\n-- \nAnna, who turns on stoves", "plan", "switch-on", "turn on the hall light"},
		{"On Monday Anna wrote:\n> turn on the stove\n\nTurn off the hall light", "plan", "switch-off", "turn off the hall light"},
		{"Subject: turn on the stove\n\nturn off the hall light", "plan", "switch-off", "turn off the hall light"},
		{"> turn on the stove", "refusal", "", "a sign may change the meaning"},
		{"Thanks a lot, Anna", "refusal", "", ""},
		{"First, turn on the hall light. Second, turn off the fan.", "plan", "several", "turn on the hall light, turn off the bedroom fan"},
		{"First turn on the hall light, second turn off the fan", "plan", "several", "turn on the hall light, turn off the bedroom fan"},
		{"wait one second, turn off the hall light", "plan", "switch-off", "turn off the hall light"},

		{"turn off the stove, it's urgent", "plan", "switch-off", "turn off the stove"},
		{"emergency: turn off the stove", "plan", "switch-off", "turn off the stove"},
		{"turn on the emergency light", "question", "switch-on", `not understood: "emergency"`},

		{"The garage door is open. Close it.", "plan", "close", "close the garage door"},
		{"The front door is unlocked. Lock it.", "plan", "lock", "lock the front door lock"},
		{"I left the garage door open, please close it", "plan", "close", "close the garage door"},
		{"The kitchen is a mess, please vacuum it", "question", "vacuum-floor", `the text also says "the kitchen is a mess": shall I vacuum the kitchen?`},
		{"My hands are full, open the garage", "question", "open", `the text also says "my hands are full": shall I open the garage door?`},
		{"I just came home and it is raining, so please turn on the heater in the bathroom for 20 minutes", "question", "switch-on", "shall I turn on the bathroom heater for 20 minutes?"},
		{"It's cold in the bathroom. Turn on the heater for 20 minutes.", "question", "switch-on", `"it is cold in the bathroom": shall I turn on the bathroom heater for 20 minutes?`},
		{"turn on the hall light because it is dark", "plan", "switch-on", "turn on the hall light"},
		{"Turn on the hall light, I can't see anything", "question", "switch-on", `"i can not see anything": shall I`},
		{"there is a fire, turn off the stove", "question", "switch-off", `"there is a fire": shall I turn off the stove?`},

		{"I told Anna: turn on the hall light", "refusal", "", ""},
		{"She says: turn on the hall light", "refusal", "", ""},
		{"Turn on the hall light. She said no.", "refusal", "", ""},
		{"Turn on the hall light. I was joking.", "question", "switch-on", "i was joking"},
		{"Turn on the hall light. I changed my mind.", "question", "switch-on", "i changed my mind"},
		{"Turn on the hall light. Never mind.", "refusal", "", "excludes something"},
		{"Turn on the hall light. I come home at 8 pm.", "question", "switch-on", "i come home at 8 pm"},
		{"Hello, do not turn on the hall light. Thanks", "refusal", "", "excludes something"},
		{"If it rains. Turn on the hall light.", "question", "switch-on", "nothing here waits for"},
	})
}

// The planner reports the unused text of a letter. Greetings and closing words do not count.
func TestUnusedTextOfLetterIsReported(t *testing.T) {
	r := simulatedInterpreter(t)
	for text, want := range map[string]string{
		"Anna wrote:\n> turn on the stove\n> now\nturn off the hall light": "Anna wrote:; > turn on the stove; > now",
		"Subject: the lights\n\nturn off the hall light":                   "Subject: the lights",
		"I'm leaving now. Turn off the hall light.":                        "i am leaving now",
		"Hi,\n\nturn off the hall light\n\nThanks\nAnna":                   "",
	} {
		o := r.Resolve(mess.Request{Intent: text})
		if o.Plan == nil || o.Plan.Summary != "turn off the hall light" || strings.Join(o.Plan.Unused, "; ") != want {
			t.Errorf("%q: %+v, want the hall light off, and %q as unused text", text, o, want)
		}
	}
}
