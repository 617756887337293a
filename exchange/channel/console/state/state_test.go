package state_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/console/state"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/mess"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fleet returns executors e000, e001 and so on, seen at noon.
func fleet(n int) []state.Executor {
	list := make([]state.Executor, n)
	for i := range list {
		list[i] = state.Executor{ID: fmt.Sprintf("e%03d", i), Live: true, LastSeen: noon, Capabilities: []mess.Capability{{ID: "look"}}}
	}
	return list
}

func executors(t *testing.T, tracker *state.Tracker, list []state.Executor, withTimes bool) (c state.Change) {
	t.Helper()
	if err := tracker.Executors(&c, list, withTimes); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestChangeHasOnlyWhatDiffers(t *testing.T) {
	var tracker state.Tracker
	list := fleet(500)
	if c := executors(t, &tracker, list, true); !reflect.DeepEqual(c.Changed, list) || c.Gone != nil || c.Seen != nil {
		t.Errorf("the first change lacks executors: %+v", c)
	}
	if c := executors(t, &tracker, fleet(500), true); !c.IsEmpty() {
		t.Errorf("nothing has changed, and the change is %+v", c)
	}
	list = append(fleet(499)[1:], state.Executor{ID: "new"})
	list[3].Live = false
	c := executors(t, &tracker, list, false)
	if want := (state.Change{Changed: []state.Executor{list[3], {ID: "new"}}, Gone: []state.ID{{ID: "e000"}, {ID: "e499"}}}); len(c.Gone) != 2 || !reflect.DeepEqual(c.Changed, want.Changed) {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if data, err := json.Marshal(c); err != nil || len(data) > 500 {
		t.Errorf("a change of four executors of 500 is %d bytes: %s, %v", len(data), data, err)
	}
}

// Times of contact alone are a change only when somebody asks for them, and they are not lost before.
func TestTimesWait(t *testing.T) {
	var tracker state.Tracker
	executors(t, &tracker, fleet(3), true)
	list := fleet(3)
	list[0].LastSeen, list[2].LastSeen = noon.Add(time.Minute), noon.Add(time.Minute)
	if c := executors(t, &tracker, list, false); !c.IsEmpty() {
		t.Errorf("without times the change is %+v", c)
	}
	want := state.Change{Seen: []state.Seen{{At: noon.Add(time.Minute), Executors: []state.ID{{ID: "e000"}, {ID: "e002"}}}}}
	if c := executors(t, &tracker, list, true); !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if c := executors(t, &tracker, list, true); !c.IsEmpty() {
		t.Errorf("the same times again are %+v", c)
	}
}

func TestPartsChangeAlone(t *testing.T) {
	var tracker state.Tracker
	var c state.Change
	tracker.Bell(&c, nil)
	if tracker.Bell(&c, &notices.Count{}); c.Bell == nil {
		t.Error("the first count is missing")
	}
	c = state.Change{}
	if tracker.Bell(&c, &notices.Count{}); c.Bell != nil {
		t.Error("the same count is a change")
	}
	if tracker.Bell(&c, &notices.Count{Unread: 1, Version: 2}); c.Bell == nil || c.Bell.Unread != 1 {
		t.Errorf("the count is %v", c.Bell)
	}
	var now any
	local := state.NewLocal(func() any { return now })
	here := func(lamp, asOf string, withTimes bool) string {
		t.Helper()
		var c state.Change
		now = map[string]any{"devices": []any{map[string]string{"state": lamp, "as_of": asOf}}}
		local.Changed()
		r, _, err := local.Read()
		if err != nil {
			t.Fatal(err)
		}
		tracker.Here(&c, r, withTimes)
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, step := range []struct {
		lamp, asOf string
		withTimes  bool
		want       string
	}{
		{"on", "1", false, `{"here":{"devices":[{"as_of":"1","state":"on"}]}}`},
		{"on", "1", true, `{}`},
		{"on", "2", false, `{}`},
		{"on", "2", true, `{"here":{"devices":[{"as_of":"2","state":"on"}]}}`},
		{"off", "3", false, `{"here":{"devices":[{"as_of":"3","state":"off"}]}}`},
	} {
		if got := here(step.lamp, step.asOf, step.withTimes); got != step.want {
			t.Errorf("%+v: got %s", step, got)
		}
	}
}

// An executor without a stop, a drain or an age has no such field, and only operators see what fails.
func TestOfExecutor(t *testing.T) {
	var e exchange.ExecutorInfo
	if err := json.Unmarshal([]byte(`{"capabilities":[{"look":{"areas":["hall"],"devices":["a","b"]}}],"states":[]}`), &e.Executor); err != nil {
		t.Fatal(err)
	}
	e.ID, e.Name, e.LastSeen = "pi", "Pi", noon.Add(59*time.Second)
	data, err := json.Marshal(state.OfExecutor(e, true))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"id":"pi","name":"Pi","person":false,"live":false,"last_seen":"2026-03-01T12:00:00Z","capabilities":[{"look":{"areas":["hall"]}}]}`; string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
}
