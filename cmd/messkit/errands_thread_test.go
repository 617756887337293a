package main

import (
	"bytes"
	"encoding/json"
)

// threadNow is what is read of a thread.
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

// reasonNow is why; in short it is a text alone.
type reasonNow struct{ Effect string }

// UnmarshalJSON reads either form.
func (r *reasonNow) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte(`"`)) {
		return nil
	}
	var long struct{ Effect string }
	err := json.Unmarshal(data, &long)
	r.Effect = long.Effect
	return err
}

// end is the last status that says how it stands. What another executor tells
// later of a claim that was over is kept in the thread, and is about that claim.
func (t threadNow) end() (end statusNow) {
	for s := range t.statuses {
		if s.Code == t.Thread.Status {
			end = s
		}
	}
	return end
}

// began reports whether it was begun, and not given back since.
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
