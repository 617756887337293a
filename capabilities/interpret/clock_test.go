package interpret_test

import (
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // for the changes of the clocks

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
)

// clocked is the fixture home in Berlin with a dimmable light, at a clock time.
func clocked(t *testing.T, at string) *interpret.Interpreter {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	h := exampleHome()
	h.Location = &capabilities.LatLng{Lat: 52.52, Lng: 13.405}
	if h.Now, err = time.ParseInLocation("2006-01-02 15:04", at, zone); err != nil {
		t.Fatal(err)
	}
	return interpret.New(catalog.Default(), h)
}

// when returns the begin and duration of a plan, otherwise the question or refusal.
func when(o capabilities.Outcome) string {
	switch p := o.Plan; {
	case o.Question != nil:
		return "? " + o.Question.Text
	case p == nil:
		return "no: " + o.Refusal.Reason
	case p.NotBefore.IsZero():
		return "now for " + p.For.String()
	case p.For > 0:
		return p.NotBefore.Format("Mon 15:04 MST") + " for " + p.For.Round(time.Minute).String()
	default:
		return p.NotBefore.Format("Mon 15:04 MST")
	}
}

// Clock times, with and without "at", and times before or after them.
func TestClockTimes(t *testing.T) {
	for text, want := range map[string]string{
		"half past 7":                        `? "half past 7": at 07:30 or 19:30?`,
		"half past 7 pm":                     "Sat 19:30 CET",
		"quarter to six":                     `? "quarter to six": at 05:45 or 17:45?`,
		"a quarter to six pm":                "Sat 17:45 CET",
		"7pm":                                "Sat 19:00 CET",
		"at 8.15pm":                          "Sat 20:15 CET",
		"at twenty five past eight":          `? "twenty five past eight": at 08:25 or 20:25?`,
		"around 7 pm":                        "Sat 19:00 CET",
		"from 7 pm":                          "Sat 19:00 CET",
		"after 7 pm":                         "Sat 19:00 CET",
		"at half 7":                          `no: "half 7" is half past one hour to some and half an hour before to others`,
		"at half seven tonight":              `no: "half seven" is half past`,
		"at noon":                            "Sun 12:00 CET",
		"at midnight":                        "Sun 00:00 CET",
		"tonight at midnight":                "Sun 00:00 CET",
		"tomorrow at midnight":               `? "tomorrow at midnight" may be when that day begins or when it ends: Sunday 22 November at 00:00:00 or Monday 23`,
		"tonight":                            `no: "tonight": say the hour too`,
		"in half an hour":                    "Sat 13:00 CET",
		"until midnight":                     "now for 11h30m0s",
		"10 minutes before 7 pm":             "Sat 18:50 CET",
		"at ten minutes after noon":          "Sun 12:10 CET",
		"an hour after noon":                 "Sat 13:00 CET", // that noon was half an hour ago
		"10 minutes before dinner":           "no: ",
		"until half an hour before midnight": "now for 11h0m0s",
		"from 7 to 9 pm":                     "Sat 19:00 CET for 2h0m0s",
		"from 7 to 9":                        `? "from 7 to 9": 07:00 to 09:00 or 19:00 to 21:00?`,
		"from 9 to 5 pm":                     "now for 4h30m0s", // and that
		"from 11 to 1 am":                    "Sat 23:00 CET for 2h0m0s",
		"from 22:00 to 06:00":                "Sat 22:00 CET for 8h0m0s",
		"from noon until 1 pm":               "now for 30m0s", // the present time is in the range
		"tomorrow from 7 am to 9":            "Sun 07:00 CET for 2h0m0s",
		"from 7 to 9 am tomorrow":            "Sun 07:00 CET for 2h0m0s",
		"today from 7 to 9 am":               `no: "today from 7 to 9 am" is over`,
		"from 7 pm to 7 pm":                  `no: "from 7 pm to 7 pm" ends when it begins`,
		"from 7 to 9 pm for an hour":         "no: ",
		"from 19 to 21":                      `no: "from 19 to 21" is a span of time`,
		"between 7 and 9 pm":                 `no: "between 7 and 9 pm" is a span of time`,
		"from sunset to midnight":            "Sat 16:05 CET for 7h55m0s",
		"at 830pm":                           "Sat 20:30 CET",
		"at 1145 pm":                         "Sat 23:45 CET",
		"at 8.30 pm":                         "Sat 20:30 CET",
		"at 08:30":                           "Sun 08:30 CET",
		"at 8:30":                            `? "8:30": at 08:30 or 20:30?`,
		"at 12 noon":                         "Sun 12:00 CET",
		"at exactly 8 pm":                    "Sat 20:00 CET",
		"at 8 pm sharp":                      "Sat 20:00 CET",
		"at 6:75 pm":                         `no: "6:75" is no time of the clock`,
		"for 5 minutes or so":                "now for 5m0s",
		"for about five minutes":             "now for 5m0s",
		"in roughly ten minutes":             "Sat 12:40 CET",
		"at 7 pm and turn it off at 11 pm":   "Sat 19:00 CET for 4h0m0s",
		"at 7 pm and off at 11 pm":           "Sat 19:00 CET for 4h0m0s",
		"at 8 pm until 7 pm":                 `? "at 8 pm until 7 pm" is 23 hours, until Sunday 22 November at 19:00:00: shall I `,
		"until noon":                         `? "until noon" is 23 hours 30 minutes, until Sunday 22 November at 12:00:00: shall I `, // half an hour ago
		"at 7 pm and turn off the heater at 8 pm": "no: of several things, each begins at another time",
	} {
		if got := when(clocked(t, "2026-11-21 12:30").Resolve(ask("turn on the porch light " + text))); !strings.HasPrefix(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// Dusk and dawn are civil twilight: in Berlin on that day 16:42 and on the next 7:01, by
// NOAA's solar calculator.
func TestDuskAndDawn(t *testing.T) {
	at := func(day, hour, minute int) time.Time { return time.Date(2026, 11, day, hour-1, minute, 0, 0, time.UTC) }
	for text, want := range map[string]time.Time{
		"at dusk": at(21, 16, 42), "at nightfall": at(21, 16, 42), "at dawn": at(22, 7, 1), "at first light": at(22, 7, 1), "after sunset": at(21, 16, 4),
		"when the sun sets": at(21, 16, 4), "10 minutes before sunset": at(21, 15, 54), "half an hour after sunset": at(21, 16, 34),
		"an hour before sunrise tomorrow": at(22, 6, 38), "at dusk and turn it off at dawn": at(21, 16, 42),
	} {
		p := clocked(t, "2026-11-21 12:30").Resolve(ask("turn on the porch light " + text)).Plan
		if p == nil || p.NotBefore.Sub(want).Abs() > 3*time.Minute {
			t.Errorf("%s: %+v, want it to begin at %v", text, p, want)
		}
	}
	p := clocked(t, "2026-11-21 16:10").Resolve(ask("turn on the porch light half an hour after sunset")).Plan
	if p == nil || p.NotBefore.Sub(at(21, 16, 34)).Abs() > 3*time.Minute {
		t.Errorf("half an hour after a sunset that was: %+v, want it to begin at 16:34", p)
	}
	if o := atNoon().Resolve(ask("turn on the porch light at dusk")); o.Refusal == nil || !strings.Contains(o.Refusal.Reason, "does not know its position") {
		t.Errorf("without a position: %q, want a rejection", got(o))
	}
}

// When the clocks change, one hour does not exist, or exists twice.
func TestClockChanges(t *testing.T) {
	for _, c := range []struct{ now, text, want string }{
		{"2026-03-28 20:00", "at 2:30 am", "no: 02:30 is no time of that day, as the clocks go forward then"},
		{"2026-03-28 20:00", "at 3:30 am", "Sun 03:30 CEST"},
		{"2026-03-28 20:00", "until 7 am", "now for 10h0m0s"},
		{"2026-03-28 20:00", "in 7 hours", "Sun 04:00 CEST"},
		{"2026-10-24 20:00", "at 2:30 am", "? the clocks go back on that day, and 02:30 is there twice: 02:30 CEST or 02:30 CET?"},
		{"2026-10-24 20:00", "at 1:30 am", "Sun 01:30 CEST"},
		{"2026-10-24 20:00", "at 3:30 am", "Sun 03:30 CET"},
		{"2026-10-24 20:00", "until 7 am", "now for 12h0m0s"},
		{"2026-10-24 20:00", "at 7 am for two hours", "Sun 07:00 CET for 2h0m0s"},
	} {
		r := clocked(t, c.now)
		o := r.Resolve(ask("turn on the porch light " + c.text))
		if got := when(o); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s on %s: %s, want %s", c.text, c.now, got, c.want)
		}
		if o.Question == nil {
			continue
		}
		for answer, want := range map[string]string{"02:30 CEST": "Sun 02:30 CEST", "02:30 CET": "Sun 02:30 CET"} {
			if got := when(r.Answer(*o.Question, nil, answer, ask("turn on the porch light "+c.text))); got != want {
				t.Errorf("%s, answered %q: %s, want %s", c.text, answer, got, want)
			}
		}
	}
}
