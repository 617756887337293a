package mqtt

import "sync/atomic"

// counters count messages since the start.
type counters struct {
	taken, retained, unreadable, stale, refused, dropped atomic.Int64
}

// Counts are the messages that the adapter has taken or not taken since the start, and its
// current users.
type Counts struct {
	Taken      int64 `json:"taken"`      // messages for the exchange
	Retained   int64 `json:"retained"`   // discarded: retained messages on command topics
	Unreadable int64 `json:"unreadable"` // payloads that are no message
	Stale      int64 `json:"stale"`      // wills of earlier sessions
	Refused    int64 `json:"refused"`    // messages that the exchange or the access rules have rejected
	Dropped    int64 `json:"dropped"`    // messages beyond the limits
	Executors  int   `json:"executors"`  // followed now
	Requesters int   `json:"requesters"` // with an inbox
}

// Counts returns the counts.
func (d *Adapter) Counts() Counts {
	return Counts{
		Taken: d.counters.taken.Load(), Retained: d.counters.retained.Load(), Unreadable: d.counters.unreadable.Load(), Stale: d.counters.stale.Load(),
		Refused: d.counters.refused.Load(), Dropped: d.counters.dropped.Load(), Executors: d.executors.followed(), Requesters: d.inbox.Requesters(),
	}
}
