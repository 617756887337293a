package timeexpr

import (
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/entity"
)

// twilight is the elevation of the sun at dawn and dusk, in degrees: civil twilight, the
// limit at which people see things outside without a lamp.
const twilight = -6

// SunTime returns the next sunrise, sunset, dawn or dusk after a time. reason is the reason for a
// missing time, otherwise "".
func SunTime(r *entity.Home, which string, from time.Time, tomorrow bool) (at time.Time, reason string) {
	if reason := r.Site.ClockDoubt; reason != "" {
		return at, "the time of day is unknown: " + reason + "; say a length of time, or set the clock"
	}
	if r.Site.Location == nil {
		return at, "this home does not know its position; write it into the configuration (agent: position), or say a time"
	}
	if tomorrow {
		from = r.Site.Now
		from = time.Date(from.Year(), from.Month(), from.Day()+1, 0, 0, 0, 0, from.Location())
	}
	elevation := capabilities.SunriseElevation
	if which == "dawn" || which == "dusk" {
		elevation = twilight
	}
	at, ok := r.Site.Location.NextCrossing(from, which == "up" || which == "dawn", elevation)
	if !ok {
		return at, "the sun does not do that here within a day; say a time"
	}
	return at, ""
}
