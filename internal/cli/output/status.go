package output

import (
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// TimeLeft returns the remaining time that the executor estimates; "" without an estimate or
// after it. With a zero now it returns the estimate of the report.
func TimeLeft(s *mess.Status, reported mess.Time, now time.Time) string {
	if s == nil || s.Code != mess.InProgress || s.ETA == "" {
		return ""
	}
	from, err := reported.Time()
	if err != nil {
		return ""
	}
	until, err := s.ETA.Time(from)
	if now.IsZero() {
		now = from
	}
	left := until.Sub(now)
	if err != nil || left < time.Second {
		return ""
	}
	text := left.Round(time.Second).String()
	if left > 2*time.Minute {
		text = strings.TrimSuffix(left.Round(time.Minute).String(), "0s")
	}
	return text + " left"
}
