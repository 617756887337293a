package fleet_test

import (
	"slices"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/cli/fleet"
)

// The report finds each lost or doubled request.
func TestReportFindsErrors(t *testing.T) {
	for name, c := range map[string]struct {
		stored         string // its status in the exchange; "": it is not there
		asked          bool
		claims, starts []string
		done           int
		lost, doubled  bool
		unfinished     int
	}{
		"it went well":                               {stored: "completed", asked: true, claims: []string{"a"}, starts: []string{"a"}, done: 1},
		"it is not in the exchange":                  {asked: true, lost: true},
		"its end is not in the exchange":             {stored: "in_progress", asked: true, claims: []string{"a"}, starts: []string{"a"}, done: 1, lost: true},
		"no executor was offered it":                 {stored: "pending", asked: true, unfinished: 1},
		"it is under way":                            {stored: "claimed", asked: true, claims: []string{"a"}, unfinished: 1},
		"it failed by itself":                        {stored: "failed", asked: true, lost: true},
		"two executors claimed it":                   {stored: "completed", asked: true, claims: []string{"a", "b"}, starts: []string{"a"}, done: 1, doubled: true},
		"two executors started it":                   {stored: "completed", asked: true, claims: []string{"a"}, starts: []string{"a", "b"}, done: 1, doubled: true},
		"it ended twice":                             {stored: "completed", asked: true, claims: []string{"a"}, starts: []string{"a"}, done: 2, doubled: true},
		"the ack did not arrive, and it is there":    {stored: "completed", claims: []string{"a"}, starts: []string{"a"}, done: 1},
		"the ack did not arrive, and it is not kept": {claims: []string{"a"}},
	} {
		l := fleet.NewLedger()
		if c.asked {
			l.Asked("x", time.Now())
		}
		for _, id := range c.claims {
			l.Granted("x", id, "claimed")
		}
		for _, id := range c.starts {
			l.Granted("x", id, "in_progress")
		}
		for range c.done {
			l.Granted("x", "a", "completed")
		}
		stored := map[string]string{}
		if c.stored != "" {
			stored["x"] = c.stored
		}
		r := l.Judge(stored)
		if slices.Contains(r.Lost, "x") != c.lost || slices.Contains(r.Doubled, "x") != c.doubled || r.Unfinished != c.unfinished || r.OK() != (!c.lost && !c.doubled && c.unfinished == 0) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestReportTimes(t *testing.T) {
	l, began := fleet.NewLedger(), time.Now()
	stored := map[string]string{}
	for i := range 100 {
		ref := string(rune('a'+i/10)) + string(rune('0'+i%10))
		l.Asked(ref, began)
		l.Heard(ref, "claimed", began.Add(time.Duration(i+1)*time.Millisecond))
		l.Heard(ref, "claimed", began.Add(time.Hour)) // the first counts
		l.Heard(ref, "completed", began.Add(time.Duration(2*i+2)*time.Millisecond))
		stored[ref] = "completed"
	}
	r := l.Judge(stored)
	if q := r.ToClaimed; q.Count != 100 || q.P50 != 50 || q.P99 != 99 || q.Max != 100 {
		t.Errorf("%+v", q)
	}
	if q := r.ToCompleted; q.P50 != 100 || q.Max != 200 {
		t.Errorf("%+v", q)
	}
}
