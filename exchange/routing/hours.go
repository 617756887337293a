package routing

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/messkit/messkit/mess"
)

// hours says when an executor with availability "schedule" is available. A cron line names points
// in time. It means the minute of each, and the time between two of them that are at most an hour
// apart. So "0 8-22 * * *" is from 8 am to 10 pm, as in MESS 1.0 section 8.3.
type hours struct{ cron cron.Schedule }

// hoursOf returns nil for an executor that is always available.
func hoursOf(e mess.Executor) (*hours, error) {
	if e.Availability != mess.Schedule {
		return nil, nil
	}
	if e.Schedule == "" {
		return nil, fmt.Errorf("missing; availability is schedule, so give a cron line such as %q", "0 8-22 * * *")
	}
	s, err := parseHours(e.Schedule)
	if err != nil {
		return nil, err
	}
	return &hours{s}, nil
}

// CheckHours returns an error if the schedule of an executor is invalid.
func CheckHours(e mess.Executor) error {
	_, err := hoursOf(e)
	return err
}

// CheckSchedule returns an error if a line is no valid schedule.
func CheckSchedule(line string) error {
	_, err := parseHours(line)
	return err
}

func parseHours(line string) (cron.Schedule, error) {
	s, err := cron.ParseStandard(line)
	if err != nil {
		return nil, fmt.Errorf("%q is not a cron line (%v); write minute, hour, day, month and weekday, such as %q", line, err, "0 8-22 * * *")
	}
	return s, nil
}

// open reports whether t is in the hours.
func (h *hours) open(t time.Time) bool {
	if h == nil {
		return true
	}
	minute := t.Truncate(time.Minute)
	if h.cron.Next(minute.Add(-time.Second)).Equal(minute) {
		return true
	}
	next := h.cron.Next(t)
	before := h.cron.Next(next.Add(-time.Hour - time.Second))
	return !before.After(t) && next.Sub(before) <= time.Hour
}
