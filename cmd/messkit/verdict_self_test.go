package main

import (
	"encoding/json"
	"testing"
	"time"
)

// Without faults that it must find, the judge would prove nothing.
func TestJudgeFindsFaults(t *testing.T) {
	at := time.Unix(1000, 0)
	on := act{at, "on"}
	for name, c := range map[string]struct {
		one                      valveRequest
		acts                     []act
		lost, doubled, dishonest int
	}{
		"done":                           {one: valveRequest{status: "completed"}, acts: []act{on}},
		"unknown, and it was done":       {one: valveRequest{status: "failed", effect: "unknown"}, acts: []act{on}},
		"unknown, and it was not done":   {one: valveRequest{status: "failed", effect: "unknown"}},
		"nothing done":                   {one: valveRequest{status: "failed", effect: "none"}},
		"cancelled before the start":     {one: valveRequest{status: "cancelled", cancelled: "cancelled"}},
		"a yes before it":                {one: valveRequest{valve: 1, status: "completed", confirmed: at.Add(-1)}, acts: []act{on}},
		"not ended":                      {one: valveRequest{}, lost: 1},
		"done twice":                     {one: valveRequest{status: "completed"}, acts: []act{on, on}, doubled: 1},
		"completed and not done":         {one: valveRequest{status: "completed"}, dishonest: 1},
		"nothing done, and it was":       {one: valveRequest{status: "failed", effect: "none"}, acts: []act{on}, dishonest: 1},
		"declined, and it was done":      {one: valveRequest{status: "declined"}, acts: []act{on}, dishonest: 1},
		"cancelled, and it was done":     {one: valveRequest{status: "cancelled"}, acts: []act{on}, dishonest: 1},
		"does not report what was done":  {one: valveRequest{status: "failed"}, dishonest: 1},
		"cancel acknowledged, then done": {one: valveRequest{status: "completed", cancelled: "cancelled"}, acts: []act{on}, dishonest: 1},
		"the other way":                  {one: valveRequest{status: "completed"}, acts: []act{{at, "off"}}, dishonest: 1},
		"without a yes":                  {one: valveRequest{valve: 1, status: "completed"}, acts: []act{on}, dishonest: 1},
		"before the yes":                 {one: valveRequest{valve: 1, status: "completed", confirmed: at.Add(1)}, acts: []act{on}, dishonest: 1},
	} {
		c.one.want, c.one.ref = "on", "r"
		v := &verdict{}
		v.judgeRequest(&c.one, c.acts)
		if v.lost != c.lost || v.doubled != c.doubled || v.dishonest != c.dishonest {
			t.Errorf("%s: %s; want lost %d, doubled %d, dishonest %d", name, v, c.lost, c.doubled, c.dishonest)
		}
	}
}

// An executor reports late that its expired claim had no effect. Another executor has done the
// task by then, and its result stays the terminal status.
func TestLateReportDoesNotEndThread(t *testing.T) {
	var now threadNow
	err := json.Unmarshal([]byte(`{"thread": {"status": "completed", "messages": [
		{"mess": [{"status": {"code": "completed"}}, {"response": {}}]},
		{"mess": [{"status": {"code": "failed", "reason": {"effect": "none"}}}]}]}}`), &now)
	if err != nil || now.end().Code != "completed" || now.end().Reason.Effect != "" {
		t.Errorf("the end is %+v, %v", now.end(), err)
	}
}
