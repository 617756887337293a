package main

import (
	"bytes"
	"encoding/json"
)

// threadNow is the part of a thread that the test reads.
type threadNow struct {
	Thread struct {
		Status   string
		Messages []struct {
			MESS []struct{ Status *statusNow } `json:"mess"`
		}
	}
}

type statusNow struct {
	Code       string
	ActionHash string `json:"action_hash"`
	Reason     reasonNow
}

// reasonNow is the reason of a status; the short form is a plain string.
type reasonNow struct{ Effect string }

// UnmarshalJSON reads the object and the plain string.
func (r *reasonNow) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		return nil
	}
	var long struct{ Effect string }
	err := json.Unmarshal(data, &long)
	r.Effect = long.Effect
	return err
}

// end returns the last status item with the status of the thread. A late report about an expired
// claim stays in the thread, but does not change its status.
func (t threadNow) end() (end statusNow) {
	for s := range t.statuses {
		if s.Code == t.Thread.Status {
			end = s
		}
	}
	return end
}

// began reports whether an executor has begun the task and not returned it since.
func (t threadNow) began() (yes bool) {
	for s := range t.statuses {
		if s.Code == "in_progress" || s.Code == "delegated" {
			yes = s.Code == "in_progress"
		}
	}
	return yes
}

func (t threadNow) statuses(yield func(statusNow) bool) {
	for _, m := range t.Thread.Messages {
		for _, item := range m.MESS {
			if item.Status != nil && !yield(*item.Status) {
				return
			}
		}
	}
}
