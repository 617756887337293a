package mqtt

import "sync/atomic"

// counters are what has gone wrong since the start.
type counters struct {
	taken, retained, unreadable, stale, refused, dropped atomic.Int64
}

// Counts tell what the door has taken, and what it has not.
type Counts struct {
	Taken      int64 `json:"taken"`      // messages for the exchange
	Retained   int64 `json:"retained"`   // retained messages on topics of commands, discarded
	Unreadable int64 `json:"unreadable"` // payloads that are no message
	Stale      int64 `json:"stale"`      // wills of sessions that were over
	Refused    int64 `json:"refused"`    // messages that the exchange or the access rules refused
	Dropped    int64 `json:"dropped"`    // messages that were too many at once
	Executors  int   `json:"executors"`  // that are followed now
	Requesters int   `json:"requesters"` // that have spoken here
}

// Counts returns them.
func (d *Adapter) Counts() Counts {
	return Counts{
		Taken: d.counters.taken.Load(), Retained: d.counters.retained.Load(), Unreadable: d.counters.unreadable.Load(), Stale: d.counters.stale.Load(),
		Refused: d.counters.refused.Load(), Dropped: d.counters.dropped.Load(), Executors: d.executors.followed(), Requesters: d.inbox.Requesters(),
	}
}

// isLogged reports whether the nth mishap of a kind is one for the log: the first
// ones, and then fewer and fewer.
func isLogged(n int64) bool { return n <= 10 || n&(n-1) == 0 }
