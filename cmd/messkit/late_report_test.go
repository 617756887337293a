package main

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// A late report shows the time of the observation, unless its clock was unsynchronized.
func TestLateReportShowsObservationTime(t *testing.T) {
	at := time.Date(2026, 11, 22, 14, 37, 24, 0, time.Local)
	for want, m := range map[string]mess.Message{
		"as it was at 14:37:24, reported late:\nThe pump is on.\n": lateReport(at, 8*time.Second, nil),
		"The pump is on.\n": lateReport(at, time.Second, nil),
		"The pump is off.\n": func() mess.Message {
			m := lateReport(at, time.Hour, mess.Object{{Key: "clock", Value: "unsynchronised"}})
			m.Items[0].(*mess.Response).Content[0] = mess.TextEntry("The pump is off.")
			return m
		}(),
	} {
		var out strings.Builder
		p := output.Printer{Out: &out}
		p.Message(m)
		if out.String() != want || p.Err != nil {
			t.Errorf("%q, %v; want %q", out.String(), p.Err, want)
		}
	}
}

func lateReport(at time.Time, by time.Duration, extra mess.Object) mess.Message {
	return mess.Message{Received: mess.TimeOf(at.Add(by)), Items: []mess.Item{&mess.Response{
		CompletedAt: mess.TimeOf(at), Content: []mess.Entry{mess.TextEntry("The pump is on.")}, Extra: extra,
	}}}
}
