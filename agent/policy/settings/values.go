package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is a maximum frequency, such as "20/h". The zero value means no limit.
type Rate struct {
	N   int
	Per time.Duration
}

var units = map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}

// ParseRate reads "5/m", "20/h" or "100/d".
func ParseRate(s string) (Rate, error) {
	count, unit, _ := strings.Cut(s, "/")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	per := units[strings.TrimSpace(unit)]
	if err != nil || per == 0 {
		return Rate{}, fmt.Errorf("%q is no rate; write it like 5/m, 20/h or 100/d", s)
	}
	if n < 1 || n > maxRate {
		return Rate{}, fmt.Errorf("%q: %d cannot be; use 1 to %d, or locked: true for never", s, n, maxRate)
	}
	return Rate{n, per}, nil
}

// maxRate limits the memory of a budget: some hundred bytes per act.
const maxRate = 10000

// UnmarshalText reads what MarshalText writes.
func (r *Rate) UnmarshalText(text []byte) error {
	var err error
	*r, err = ParseRate(string(text))
	return err
}

// MarshalText writes "20/h".
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

func (r Rate) String() string {
	for unit, per := range units {
		if per == r.Per {
			return fmt.Sprintf("%d/%s", r.N, unit)
		}
	}
	return ""
}

// Hours is a daily period in local time, such as "22:00-07:00". The zero value is an empty
// period.
type Hours struct {
	from, to time.Duration // since midnight; from > to includes midnight
}

// ParseHours reads "22:00-07:00".
func ParseHours(s string) (Hours, error) {
	var h Hours
	from, to, ok := strings.Cut(s, "-")
	if !ok {
		return Hours{}, fmt.Errorf("%q is no part of a day; write it like 22:00-07:00", s)
	}
	for _, part := range []struct {
		text string
		into *time.Duration
	}{{from, &h.from}, {to, &h.to}} {
		t, err := time.Parse("15:04", strings.TrimSpace(part.text))
		if err != nil {
			return Hours{}, fmt.Errorf("%q is no time of day; write it like 22:00-07:00", part.text)
		}
		*part.into = sinceMidnight(t)
	}
	if h.from == h.to {
		return Hours{}, fmt.Errorf("%q begins when it ends; leave it out, or use locked: true", s)
	}
	return h, nil
}

func sinceMidnight(t time.Time) time.Duration {
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second
}

// UnmarshalText reads what MarshalText writes.
func (h *Hours) UnmarshalText(text []byte) error {
	var err error
	*h, err = ParseHours(string(text))
	return err
}

// MarshalText writes "22:00-07:00".
func (h Hours) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

func (h Hours) String() string {
	if h == (Hours{}) {
		return ""
	}
	clock := func(d time.Duration) string { return fmt.Sprintf("%02d:%02d", d/time.Hour, d%time.Hour/time.Minute) }
	return clock(h.from) + "-" + clock(h.to)
}

// Left returns how long the period still lasts at t; 0 if t is outside.
func (h Hours) Left(t time.Time) time.Duration {
	at := sinceMidnight(t)
	const day = 24 * time.Hour
	switch {
	case h.from < h.to && h.from <= at && at < h.to:
		return h.to - at
	case h.from > h.to && at >= h.from:
		return h.to + day - at
	case h.from > h.to && at < h.to:
		return h.to - at
	}
	return 0
}
