package interpret_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/capabilities/interpret"
	"github.com/messkit/messkit/mess"
)

// The position of the sun, by NOAA's solar calculator.
func TestElevation(t *testing.T) {
	for _, c := range []struct {
		lat, lng float64
		at       string
		want     float64
	}{
		{52.52, 13.405, "2026-06-21T11:08:00Z", 60.9},  // Berlin, noon at midsummer
		{52.52, 13.405, "2026-12-21T11:04:00Z", 14.0},  // and at midwinter
		{0, 0, "2026-03-20T12:07:00Z", 90},             // the equator at the equinox
		{-33.87, 151.21, "2026-12-21T01:53:00Z", 79.6}, // Sydney
		{69.65, 18.96, "2026-12-21T10:42:00Z", -3.1},   // Tromso: it does not rise
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := (capabilities.LatLng{Lat: c.lat, Lng: c.lng}).Elevation(at); math.Abs(got-c.want) > 0.4 {
			t.Errorf("at %v,%v on %s the elevation of the sun is %.2f, want %.1f", c.lat, c.lng, c.at, got, c.want)
		}
	}
}

// berlin is the fixture home in Berlin, at a time.
func berlin(t *testing.T, at string) *interpret.Interpreter {
	t.Helper()
	h := exampleHome()
	h.Location = &capabilities.LatLng{Lat: 52.52, Lng: 13.405}
	var err error
	if h.Now, err = time.Parse(time.RFC3339, at); err != nil {
		t.Fatal(err)
	}
	return interpret.New(catalog.Default(), h)
}

// Sunset in Berlin on 21 November 2026 is at 16:04 (15:04 UTC), within two minutes.
func TestUntilSunset(t *testing.T) {
	set := time.Date(2026, 11, 21, 15, 4, 0, 0, time.UTC)
	p := berlin(t, "2026-11-21T12:00:00Z").Resolve(ask("turn on the porch light until sunset")).Plan
	if p == nil || (p.For-set.Sub(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))).Abs() > 2*time.Minute {
		t.Errorf("until sunset: %+v, want it to last until %v", p, set)
	}
	p = berlin(t, "2026-11-21T12:00:00Z").Resolve(ask("turn on the porch light at sunset")).Plan
	if p == nil || p.NotBefore.Sub(set).Abs() > 2*time.Minute {
		t.Errorf("at sunset: %+v, want it to begin at %v", p, set)
	}
	p = berlin(t, "2026-11-21T16:00:00Z").Resolve(ask("turn on the porch light at sunset")).Plan
	if p == nil || p.NotBefore.Before(set.Add(23*time.Hour)) {
		t.Errorf("at sunset, after sunset: %+v, want that of tomorrow", p)
	}
	if o := atNoon().Resolve(ask("turn on the porch light until sunset")); o.Refusal == nil || !strings.Contains(o.Refusal.Reason, "does not know its position") {
		t.Errorf("without a position: %q, want a rejection", got(o))
	}
}

// A request for daylight or darkness needs the matching elevation of the sun.
func TestEnvironmentFollowsTheSun(t *testing.T) {
	for _, c := range []struct{ at, want, wantText string }{
		{"2026-06-21T11:00:00Z", "daylight", ""},
		{"2026-06-21T11:00:00Z", "darkness", `no: constraints.environment: "darkness": the sun is at 61 degrees`},
		{"2026-06-21T23:00:00Z", "darkness", ""},
		{"2026-06-21T23:00:00Z", "daylight", `no: constraints.environment: "daylight": the sun is at -14 degrees`},
		{"2026-06-21T23:00:00Z", "rain", `no: constraints.environment: nothing here can tell "rain"`},
	} {
		o := berlin(t, c.at).Resolve(mess.Request{Intent: "turn on the porch light", Constraints: &mess.Constraints{Environment: []string{c.want}}})
		if acts := o.Plan != nil; acts != (c.wantText == "") || !acts && !strings.HasPrefix(got(o), c.wantText) {
			t.Errorf("%s at %s: %q, want %q", c.want, c.at, got(o), c.wantText)
		}
	}
}

// The interpreter refuses a recurring order with the reason, and asks about an order with a
// condition.
func TestRecurringIsRefusedAndConditionAsked(t *testing.T) {
	for _, intent := range []string{"turn on the porch light every morning", "turn on the porch light every day at 7 pm", "turn the heater on daily"} {
		if o := atNoon().Resolve(ask(intent)); o.Refusal == nil || !strings.Contains(o.Refusal.Reason, "messkit has no schedules") {
			t.Errorf("Resolve(%q) = %q, want a rejection that names schedules", intent, got(o))
		}
	}
	o := atNoon().Resolve(ask("turn off the heater when the back door closes"))
	if o.Question == nil || !strings.HasPrefix(o.Question.Text, `nothing here waits for "when the back door closes"`) {
		t.Errorf("when the door closes: %q", got(o))
	}
}
