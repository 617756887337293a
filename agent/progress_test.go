package agent_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// pausingVacuum is a cleaner in a manual pause of ten minutes, which it reports every two seconds.
type pausingVacuum struct{ fakeDevice }

func (*pausingVacuum) Clean(_ context.Context, areas []string, progress func(drivers.Progress)) (drivers.Outcome, error) {
	repeat := func(d time.Duration, p drivers.Progress) {
		for range d / (2 * time.Second) {
			progress(p)
			time.Sleep(2 * time.Second)
		}
	}
	repeat(10*time.Second, drivers.Progress{Percent: 10, Activity: "cleaning the hall"})
	repeat(10*time.Minute, drivers.Progress{Percent: 10, Activity: "cleaning the hall, paused by hand", TimeLeft: time.Hour})
	repeat(time.Minute, drivers.Progress{Percent: 10.2, Activity: "cleaning the hall"})
	repeat(time.Minute, drivers.Progress{Percent: 11, Activity: "cleaning the hall"})
	return drivers.Outcome{Done: areas}, nil
}

func (*pausingVacuum) Dock(context.Context) error { return nil }

// The agent reports a pause once, and its end once.
func TestPauseIsReportedOnce(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		p := cleanPlan("hall")
		h.addDevice("it", &pausingVacuum{}, map[string]capabilities.Plan{"clean the hall": p})
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: clean the hall}")
		h.send(person, "reply: {re: "+ref+", confirm: true}")
		h.advance(20 * time.Minute)
		h.wantStatus(ref, mess.Completed)
		var reported []string
		for _, m := range h.thread(ref).Messages {
			for _, item := range m.Items {
				if s, ok := item.(*mess.Status); ok && s.Code == mess.InProgress && s.Message != "" {
					reported = append(reported, s.Message)
				}
			}
		}
		const want = "cleaning the hall|cleaning the hall, paused by hand|cleaning the hall|cleaning the hall"
		if got := strings.Join(reported, "|"); got != want {
			t.Errorf("reported %q, want %q", got, want)
		}
	})
}
