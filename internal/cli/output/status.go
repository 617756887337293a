package output

import (
	"strings"
	"time"

	"github.com/messkit/messkit/mess"
)

// TimeLeft is how long a task still takes, as its executor has said; "" where it has
// not, or that is over. Without now it is as long as it was then.
func TimeLeft(s *mess.Status, said mess.Time, now time.Time) string {
	if s == nil || s.Code != mess.InProgress || s.ETA == "" {
		return ""
	}
	from, err := said.Time()
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

// LastStatus is the most recent report of an executor, and the ref of the
// message that it stands in.
func LastStatus(messages []mess.Message) (last *mess.Status, in mess.Message) {
	for _, m := range messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				last, in = s, m
			}
		}
	}
	return last, in
}
