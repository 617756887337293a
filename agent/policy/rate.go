package policy

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
