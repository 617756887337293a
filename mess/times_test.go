package mess_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

func TestDuration(t *testing.T) {
	const day = 24 * time.Hour
	for s, want := range map[mess.Duration]time.Duration{
		"2h15m": 2*time.Hour + 15*time.Minute, "45m": 45 * time.Minute, "7h": 7 * time.Hour, "90s": 90 * time.Second, "1d": day, "1d2h": 26 * time.Hour, "2w": 14 * day,
		"1w1d1h1m1s": 8*day + time.Hour + time.Minute + time.Second, "500ms": 500 * time.Millisecond, "1.5h": 90 * time.Minute, "0s": 0,
		"PT45M": 45 * time.Minute, "PT2H": 2 * time.Hour, "P1D": day, "P1DT2H": 26 * time.Hour, "PT30M": 30 * time.Minute, "P2W": 14 * day, "PT0S": 0,
		"PT1.5S": 1500 * time.Millisecond, "P1DT2H3M4S": 26*time.Hour + 3*time.Minute + 4*time.Second, "PT100M": 100 * time.Minute, " PT5M ": 5 * time.Minute,
		"PT0.1S": 100 * time.Millisecond, "PT36H": 36 * time.Hour, "P3650D": 3650 * day,
	} {
		if got, err := s.Duration(); got != want || err != nil {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
}

func TestBadDurations(t *testing.T) {
	for _, s := range []mess.Duration{
		"", " ", "P", "PT", "P1", "T45M", "PT45", "1", "45", "-5m", "-PT5M", "PT-5M", "+5m", "5 m", "5min", "1h 5m", "m5", "h", "1y", "1M", "P1Y", "P1M", "P1DT", "PT1H2D", "P1H",
		"pt45m", "PT45m", "P1.5D", "1,5h", "PT1,5S", "1h1d", "NaN", "inf", "0x5m", "1e3s", "٥m", "2026-01-31", "17:30:00", "soon",
		"99999999999999999999h", "PT999999H", "99999999h", mess.Duration(strings.Repeat("1000h", 1<<16)), mess.Duration("PT" + strings.Repeat("9", 1<<16) + "S"),
	} {
		got, err := s.Duration()
		if err == nil || got != 0 {
			t.Errorf("%.40q: %v, %v, want an error", s, got, err)
		} else if len(err.Error()) > 400 {
			t.Errorf("%.40q: an error of %d bytes", s, len(err.Error()))
		}
	}
}

func TestDurationOf(t *testing.T) {
	for d, want := range map[time.Duration]mess.Duration{
		45 * time.Minute: "PT45M", 2*time.Hour + 15*time.Minute: "PT2H15M", 30 * time.Second: "PT30S", 1500 * time.Millisecond: "PT1.5S", 0: "PT0S", -time.Second: "PT0S",
		90 * time.Minute: "PT1H30M", 26 * time.Hour: "PT26H", time.Microsecond: "PT0S",
		1382 * time.Millisecond: "PT1.382S", 59999 * time.Millisecond: "PT59.999S",
	} {
		if got := mess.DurationOf(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	for _, d := range []time.Duration{time.Millisecond, 59999 * time.Millisecond, time.Hour - time.Second, 1000 * time.Hour} {
		if got, err := mess.DurationOf(d).Duration(); got != d || err != nil {
			t.Errorf("%v comes back as %v, %v", d, got, err)
		}
	}
}

func TestTime(t *testing.T) {
	for s, want := range map[mess.Time]time.Time{
		"2026-02-08T23:00:00-08:00":     time.Date(2026, 2, 9, 7, 0, 0, 0, time.UTC),
		"2026-01-31T17:00:00Z":          time.Date(2026, 1, 31, 17, 0, 0, 0, time.UTC),
		"2026-01-31T17:00:00+00:00":     time.Date(2026, 1, 31, 17, 0, 0, 0, time.UTC),
		"2026-01-31T17:00:00.123+05:30": time.Date(2026, 1, 31, 11, 30, 0, 123e6, time.UTC),
		"2028-02-29T00:00:00+14:00":     time.Date(2028, 2, 28, 10, 0, 0, 0, time.UTC),
	} {
		if got, err := s.Time(); !got.Equal(want) || err != nil {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	if at, err := mess.Time("2026-02-08T23:00:00-08:00").Time(); err != nil || mess.TimeOf(at) != "2026-02-08T23:00:00-08:00" {
		t.Errorf("the offset is lost: %v, %v", at, err)
	}
}

func TestBadTimes(t *testing.T) {
	for _, s := range []mess.Time{
		"", "now", "2026-01-31", "17:30:00", "2026-01-31T17:00:00", "2026-01-31 17:00:00Z", "2026-01-31T17:00Z", "2026-02-30T17:00:00Z", "2026-13-01T00:00:00Z",
		"2026-01-31T24:30:00Z", "2026-01-31T17:60:00Z", "2027-02-29T00:00:00Z", "26-01-31T17:00:00Z", "2026-01-31T17:00:00-0800", "2026-01-31T17:00:00 PST",
		"2026-01-31T17:00:00Zjunk", " 2026-01-31T17:00:00Z", "1795227801", "PT45M", "2026-01-31t17:00:00z", mess.Time(strings.Repeat("2", 1<<20)),
	} {
		got, err := s.Time()
		if err == nil || !got.IsZero() {
			t.Errorf("%.40q: %v, %v, want an error", s, got, err)
		} else if !strings.Contains(err.Error(), "2026-02-08T23:00:00-08:00") || len(err.Error()) > 400 {
			t.Errorf("%.40q: %.400v", s, err)
		}
	}
}

func TestTimeOf(t *testing.T) {
	at := time.Date(2026, 1, 31, 17, 0, 0, 123456789, time.FixedZone("", -8*3600))
	if got := mess.TimeOf(at); got != "2026-01-31T17:00:00.123-08:00" {
		t.Errorf("got %q", got)
	}
	if got := mess.TimeOf(time.Time{}); got != "" {
		t.Errorf("the zero time is %q", got)
	}
}

func TestWhen(t *testing.T) {
	from := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	for s, want := range map[mess.TimeOrDuration]time.Time{
		"2h": from.Add(2 * time.Hour), "PT45M": from.Add(45 * time.Minute), "1d": from.AddDate(0, 0, 1),
		"2026-02-01T10:00:00+01:00": from.Add(23 * time.Hour), "2020-01-01T00:00:00Z": time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got, err := s.Time(from); !got.Equal(want) || err != nil {
			t.Errorf("%q: %v, %v, want %v", s, got, err, want)
		}
	}
	for _, s := range []mess.TimeOrDuration{"", "soon", "-2h", "2026-01-31", "5"} {
		if got, err := s.Time(from); err == nil || !got.IsZero() {
			t.Errorf("%q: %v, %v, want an error", s, got, err)
		}
	}
}

func TestDurationsDoNotOverflow(t *testing.T) {
	for _, s := range []mess.Duration{"P3651D", "PT87601H", "P999999D", "999999d", "P999999W", "999999w", "106752d", "P213504D", "999999w999999d"} {
		if d, err := s.Duration(); err == nil || d != 0 {
			t.Errorf("%q: %v, %v, want an error", s, d, err)
		}
	}
}
