package interpret_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// sunday is noon on Sunday, 22 November 2026.
var sunday = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// dimming is a home with a light that dims, a fan and a heater, on a Sunday at noon.
func dimming() *interpret.Interpreter {
	on := []capabilities.Command{capabilities.SetSwitch, capabilities.ReadState}
	return interpret.New(catalog.Default(), capabilities.Home{Now: sunday, Devices: []capabilities.Device{
		{Name: "lamp", Label: "kitchen light", Class: "light", Area: "kitchen", Commands: append([]capabilities.Command{capabilities.Dim, capabilities.SetColor}, on...)},
		{Name: "fan", Label: "bedroom fan", Class: "fan", Area: "bedroom", Commands: on},
		{Name: "heater", Label: "bathroom heater", Class: "heater", Area: "bathroom", Commands: on},
	}})
}

// cut returns a plan with its numbers and times, or the question or refusal, in short.
func cut(o capabilities.Outcome) string {
	switch {
	case o.Question != nil:
		return "asks: " + o.Question.Text
	case o.Refusal != nil:
		return "no: " + o.Refusal.Reason
	}
	said := o.Plan.Capability
	for _, key := range []string{"level", "change"} {
		if v, ok := o.Plan.Args.Get(key); ok {
			said += fmt.Sprintf(" %v", v)
		}
	}
	if o.Plan.For > 0 {
		said += " for " + o.Plan.For.String()
	}
	if !o.Plan.NotBefore.IsZero() {
		said += " at " + o.Plan.NotBefore.Format("Mon 15:04:05")
	}
	return said
}

// say compares the outcome of each sentence with the plan, or with words of the question or
// refusal.
func say(t *testing.T, r *interpret.Interpreter, cases [][2]string) {
	t.Helper()
	for _, c := range cases {
		got := cut(r.Resolve(ask(c[0])))
		if strings.Contains(c[1], ":") && strings.HasPrefix(got, c[1][:strings.Index(c[1], ":")]) && strings.Contains(got, strings.TrimPrefix(c[1][strings.Index(c[1], ":"):], ": ")) {
			continue
		}
		if got != c[1] {
			t.Errorf("%q: %q, want %q", c[0], got, c[1])
		}
	}
}

// The interpreter reads numbers in words. The refusal of an impossible number says the
// range.
func TestNumbersInWords(t *testing.T) {
	say(t, dimming(), [][2]string{
		{"set the kitchen light to 20 percent", "set-brightness 20"},
		{"set the kitchen light at 20 percent", "set-brightness 20"},
		{"set the kitchen light at 8 percent", "set-brightness 8"},
		{"set the kitchen light to twenty-one point five percent", "set-brightness 21.5"},
		{"set the kitchen light to 21.5 percent", "set-brightness 21.5"},
		{"set the kitchen light to twelve point two five percent", "set-brightness 12.25"},
		{"set the kitchen light to one hundred percent", "set-brightness 100"},
		{"set the kitchen light to zero percent", "set-brightness 0"},
		{"set the kitchen light to half", "set-brightness 50"},
		{"set the kitchen light to a quarter", "set-brightness 25"},
		{"set the kitchen light to three quarters", "set-brightness 75"},
		{"set the kitchen light to two thirds", "set-brightness 67"},
		{"set the kitchen light to a dozen percent", "set-brightness 12"},
		{"kitchen light all the way up", "set-brightness 100"},
		{"turn the kitchen light all the way down", "asks: the requester may mean off"},
		{"turn the kitchen light up 10 percent", "asks: 10 percent may be how bright, or by how much"},
		{"turn the kitchen light up to 10 percent", "set-brightness 10"},
		{"dim the kitchen light by 20 percent", "dim -20"},
		{"set the kitchen light to 120 percent", "no: level is 120, and may be 0 to 100 percent"},
		{"set the kitchen light to a hundred and twenty percent", "no: level is 120, and may be 0 to 100 percent"},
		{"set the kitchen light to one hundred twenty percent", "no: level is 120, and may be 0 to 100 percent"},
		{"set the kitchen light to 1e9 percent", "no: level is 1e+09, and may be 0 to 100 percent"},
		{"brighten the kitchen light by 150 percent", "no: change is 150, and may be -100 to 100 percent"},
		{"set the kitchen light to minus ten percent", "no: excludes something"},
		{"set the kitchen light to -10%", "no: a sign may change the meaning"},
		{"set the kitchen light to inf percent", "no: "},
		{"set the kitchen light to nan percent", "no: "},
		{"set the kitchen light to 20 to 30 percent", `no: "20 to 30 percent" is a range`},
		{"set the kitchen light between twenty and thirty percent", "no: is a range"},
		{"set the kitchen light to 20 or 30 percent", "no: is a range"},
		{"dim the kitchen light from 50 to 20 percent", "no: is a range"},
		{"dim the kitchen light from 20 percent", "no: "},
		{"dim the kitchen light by a quarter", "dim -25"},
		{"dim the kitchen light by half", "dim -50"},
		{"dim the kitchen light by half an hour", "no: "},
		{"dim the kitchen light by half past seven", "asks: half past seven"},
		{"dim the kitchen light by half past seven pm", "no: "},
		{"set the kitchen light to 50 lumens", `no: "50 lumens": nothing here takes that unit; these take a number here: set-brightness: level 0 to 100 percent`},
		{"set the kitchen light to 50 degrees", "no: "},
		{"set the heater to twenty one point five degrees", "no: "},
		{"set the bathroom heater to 70 F", "no: bathroom heater cannot do that (set the temperature that a room is kept at) here"},
		{"set the bathroom heater between 18 and 20 degrees", "no: is a range"},
	})
}

// The interpreter reads durations in words.
func TestDurationsInWords(t *testing.T) {
	for text, want := range map[string]string{
		"half an hour": "30m0s", "a quarter of an hour": "15m0s", "a quarter hour": "15m0s", "three quarters of an hour": "45m0s", "an hour and a quarter": "1h15m0s",
		"one and a quarter hours": "1h15m0s", "two and a half hours": "2h30m0s", "2 hours and a half": "2h30m0s", "an hour and a half": "1h30m0s",
		"1.5 hours": "1h30m0s", "one point five hours": "1h30m0s", "twenty one point five minutes": "21m30s", "a dozen minutes": "12m0s", "half a dozen minutes": "6m0s",
		"1h30": "1h30m0s", "1h30m": "1h30m0s", "1h 30m": "1h30m0s", "2m15s": "2m15s", "90min": "1h30m0s", "2 hours 30": "2h30m0s", "two hours thirty": "2h30m0s",
		"two hundred minutes": "3h20m0s", "one hundred and twenty seconds": "2m0s", "forty five minutes": "45m0s", "a couple of hours": "2h0m0s",
	} {
		say(t, dimming(), [][2]string{{"turn on the fan for " + text, "switch-on for " + want}})
	}
	for _, text := range []string{"10 to 20 minutes", "ten or fifteen minutes", "between ten and twenty minutes", "1h90", "1m1h", "h30", "1h30m20x", "minus ten minutes", "zero minutes", "99999999999999999999 hours"} {
		if o := dimming().Resolve(ask("turn on the fan for " + text)); o.Plan != nil {
			t.Errorf("%q is read as %s", text, cut(o))
		}
	}
}

// The interpreter reads clock times in words. A named day or half of a day decides which
// one.
func TestClockTimesInWords(t *testing.T) {
	for text, want := range map[string]string{
		"at 7 pm": "Sun 19:00:00", "at 7:30 pm": "Sun 19:30:00", "at 19:30": "Sun 19:30:00", "at 19h": "Sun 19:00:00", "at 19h30": "Sun 19:30:00", "at 19.30": "Sun 19:30:00",
		"at 1930": "Sun 19:30:00", "at 1930 hours": "Sun 19:30:00", "at 0730": "Mon 07:30:00", "at half past seven pm": "Sun 19:30:00", "at half past seven in the evening": "Sun 19:30:00",
		"at noon": "Mon 12:00:00", "at midnight": "Mon 00:00:00", "at ten to midnight": "Sun 23:50:00", "at 5 past midnight": "Mon 00:05:00", "at twenty five past six pm": "Sun 18:25:00",
		"tonight at 8": "Sun 20:00:00", "at 8 tonight": "Sun 20:00:00", "this evening at 7": "Sun 19:00:00", "tomorrow at 6 am": "Mon 06:00:00", "tomorrow morning at 6": "Mon 06:00:00",
		"at 7 tomorrow morning": "Mon 07:00:00", "on sunday at 8 pm": "Sun 20:00:00", "on monday at 8 am": "Mon 08:00:00", "at 8 am on monday": "Mon 08:00:00",
		"in ten minutes": "Sun 12:10:00", "in half an hour": "Sun 12:30:00", "in three quarters of an hour": "Sun 12:45:00", "an hour from now": "Sun 13:00:00",
	} {
		say(t, dimming(), [][2]string{{"turn on the fan " + text, "switch-on at " + want}, {text + " turn on the fan", "switch-on at " + want}})
	}
	say(t, dimming(), [][2]string{
		{"turn on the fan at 7 pm for two hours", "switch-on for 2h0m0s at Sun 19:00:00"},
		{"turn on the fan at 7 pm until 9 pm", "switch-on for 2h0m0s at Sun 19:00:00"},
		{"turn on the fan in 2 hours 30", "switch-on at Sun 14:30:00"},
		{"in 2 hours 30 turn on the kitchen light", `no: "in 2 hours 30" is not clear`},
		{"turn on the fan at half past seven", "asks: at 07:30 or 19:30"},
		{"turn on the fan at 7:75", `no: "7:75" is no time of the clock`},
		{"turn on the fan at 25:00", "no: "},
		{"turn on the fan at 13 pm", "no: "},
		{"turn on the fan today at 7 am", `no: "today at 7 am" is over; it is 12:00 now`},
		{"turn on the fan tonight at 3", `no: "tonight at 3" may be at night or in the afternoon; say "at 3 am" or "at 3 pm"`},
		{"this evening at 12 turn on the fan", "no: may be at night or in the afternoon"},
		{"turn on the fan this morning at 7", "no: is over"},
		{"turn on the fan on tuesday at 8 am", "no: more than a day ahead"},
		{"turn on the fan on sunday at 8 am", "no: more than a day ahead"},
		{"turn on the fan tomorrow morning", "no: say the hour too"},
		{"turn on the fan on monday", "no: say the hour too"},
		{"turn on the fan between 7 and 9 pm", "no: is a span of time"},
		{"turn on the fan at 7 pm and 9 pm", "no: the text has more than one time"},
		{"wait", "no: no order follows it"},
		{"please wait ten minutes", "no: no order follows it"},
		{"repeat", "no: a request does not know the one before it"},
		{"do that again", "no: a request does not know the one before it"},
	})
}

// The refusal of a recurring order says that it recurs.
func TestRecurringOrdersAreRefused(t *testing.T) {
	for _, often := range []string{
		"every morning", "each evening", "daily", "twice a day", "once a day", "three times a week", "two times per day", "every other day", "every second day", "every two hours",
		"every 10 minutes", "each hour", "on weekends", "on weekdays at 7 pm", "on mondays", "mondays at 8 pm", "every monday", "every few minutes", "from now on",
	} {
		for _, text := range []string{"turn on the fan " + often, often + " turn on the fan"} {
			if got := cut(dimming().Resolve(ask(text))); !strings.HasPrefix(got, "no: ") || !strings.Contains(got, "a request runs once") {
				t.Errorf("%q: %s", text, got)
			}
		}
	}
}
