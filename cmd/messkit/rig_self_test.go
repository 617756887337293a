package main

import (
	"testing"
	"time"
)

// The judge of the rig detects every kind of error, and reports none for correct threads.
func TestRigJudgeFindsErrors(t *testing.T) {
	at := time.Now()
	for name, c := range map[string]struct {
		one                      dimRequest
		acts                     []time.Duration // after the request; the terminal status is known after a second
		lost, doubled, dishonest int
	}{
		"done once":                  {one: dimRequest{status: "completed"}, acts: []time.Duration{0}},
		"completed and not done":     {one: dimRequest{status: "completed"}, dishonest: 1},
		"done twice":                 {one: dimRequest{status: "completed"}, acts: []time.Duration{0, 1}, doubled: 1},
		"done twice, and reported":   {one: dimRequest{status: "completed", text: "the command may have been sent twice"}, acts: []time.Duration{0, 1}},
		"nothing done":               {one: dimRequest{status: "failed", effect: "none"}},
		"nothing done, and it was":   {one: dimRequest{status: "failed", effect: "none"}, acts: []time.Duration{0}, dishonest: 1},
		"declined, and it was done":  {one: dimRequest{status: "declined"}, acts: []time.Duration{0}, dishonest: 1},
		"cancelled before, and done": {one: dimRequest{status: "cancelled"}, acts: []time.Duration{0}, dishonest: 1},
		"cancelled midway, and done": {one: dimRequest{status: "cancelled", effect: "unknown", began: true}, acts: []time.Duration{0}},
		"late":                       {one: dimRequest{status: "failed", effect: "unknown"}, acts: []time.Duration{2 * time.Second}, dishonest: 1},
		"late, and reported":         {one: dimRequest{status: "failed", effect: "unknown", text: "it may still act"}, acts: []time.Duration{2 * time.Second}},
		"an end without an effect":   {one: dimRequest{status: "failed"}, dishonest: 1},
		"not ended":                  {one: dimRequest{}, lost: 1},
	} {
		t.Run(name, func(t *testing.T) {
			c.one.ref, c.one.asked, c.one.ended = "1", at, at.Add(time.Second)
			var acts []time.Time
			for _, a := range c.acts {
				acts = append(acts, at.Add(a))
			}
			v := &verdict{}
			(&dimRequests{}).judgeRequest(v, &c.one, acts)
			if v.lost != c.lost || v.doubled != c.doubled || v.dishonest != c.dishonest {
				t.Errorf("lost %d, doubled %d, dishonest %d: %q", v.lost, v.doubled, v.dishonest, v.problems)
			}
		})
	}
}
