package format_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/mess"
)

// A status update reports the completed and the remaining steps of a plan, and Reports reads the
// same from a peer.
func TestStatusUpdateHasSteps(t *testing.T) {
	for _, one := range []struct {
		s                   mess.Status
		done, left          []string
		current, next, back string
	}{
		{
			mess.Status{Code: mess.InProgress, Completed: []any{"look"}, Remaining: []any{"clean", "dock", "report"}},
			[]string{"look"},
			[]string{"dock", "report"},
			"clean", "dock", "[look] [clean dock report]",
		},
		{mess.Status{Code: mess.InProgress, Completed: []any{"look"}, Remaining: []any{"dock"}}, []string{"look"}, []string{}, "dock", "dock", "[look] []"},
		{mess.Status{Code: mess.InProgress, Message: "busy"}, nil, nil, "busy", "", "[] []"},
	} {
		all := format.ReportContext{Task: "t", To: "a"}.Bodies(mess.Message{Items: []mess.Item{&one.s}})
		u, ok := all[0].(*format.StatusUpdate)
		if !ok || fmt.Sprint(u.Progress.CompletedSteps, u.Progress.RemainingSteps, u.Progress.CurrentStep, u.NextMilestone) != fmt.Sprint(one.done, one.left, one.current, one.next) {
			t.Errorf("update of %+v is %+v, %q", one.s, u.Progress, u.NextMilestone)
		}
		u.Metadata = nil // as from a peer without MESS
		items, err := format.Reports(format.Message{Type: format.TypeStatusUpdate, Body: u}, time.Unix(0, 0))
		if s, _ := items[0].(*mess.Status); err != nil || fmt.Sprint(s.Completed, " ", s.Remaining) != one.back {
			t.Errorf("%v %v, want %s", err, fmt.Sprint(s.Completed, " ", s.Remaining), one.back)
		}
	}
}
