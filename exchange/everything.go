package exchange

import (
	"context"
	"encoding/json"
	"time"

	"github.com/messkit/messkit/mess"
)

// everything is the last stop of everything, and how many there were. Start permission
// obeys it from the moment it is given: what was asked before it begins no more. The
// threads that waited end afterwards, one by one, over a restart if need be.
type everything struct {
	Count uint64    `json:"count"`
	Stop  mess.Stop `json:"stop"`
}

const (
	everythingKind = "stopped"
	everythingID   = "all"
)

// covers reports whether a thread was asked before everything was stopped. One that
// another program has made does not count the stops, and goes by its time.
func (a everything) covers(e Envelope) bool {
	if a.Count == 0 {
		return false
	}
	if e.Stops > 0 {
		return e.Stops <= a.Count
	}
	at, err := a.Stop.At.Time()
	return err != nil || !e.Created.After(at)
}

// readEverything reads the record. One that cannot be read counts as a stop of all that
// waits: that there is one is all it has to say.
func (x *Exchange) readEverything(ctx context.Context) error {
	docs, err := x.docs.Docs(ctx, everythingKind)
	if err != nil || docs[everythingID] == nil {
		return err
	}
	if err := json.Unmarshal(docs[everythingID], &x.all); err != nil {
		x.log.Error("the record of the last stop of everything cannot be read; what waits counts as stopped", "err", err)
		x.all = everything{Count: 1 << 62, Stop: mess.Stop{By: Self, Why: "a stop that cannot be read", At: mess.TimeOf(x.now())}}
	}
	return nil
}

// keepEverything writes the record down.
func (x *Exchange) keepEverything(ctx context.Context) error {
	return x.keep(ctx, everythingKind, everythingID, func() any { return x.all })
}

// everythingStopped is how often everything was stopped.
func (x *Exchange) everythingStopped() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.all.Count
}

// stopEnds reports whether a stop of everything ends a thread that waits, or leaves it
// to people. x.mu is held.
func (x *Exchange) stopEnds(e Envelope) bool {
	return e.Status == mess.Pending && !e.Stopped && x.all.covers(e)
}

// stopEnd is how it does so: what people may do stays offered to them alone, and the
// rest ends. x.mu is held.
func (x *Exchange) stopEnd(e Envelope, now time.Time) func(*Envelope) *mess.Status {
	for range x.request(&e, now).People() {
		return leftToPeople(x.all.Stop)
	}
	return stoppedBefore(x.all.Stop)
}

// How long who stops everything waits for what waited to end, and how often he looks.
// Run ends it, and goes on with the rest; nothing of it can begin meanwhile.
const (
	endWaitingTime = 100 * time.Millisecond
	endWaitingLook = 5 * time.Millisecond
)

// endWaiting waits until what was waiting when everything was stopped has ended, but not
// for long, and counts what has not.
func (x *Exchange) endWaiting(ctx context.Context) uint64 {
	ctx, cancel := context.WithTimeout(ctx, endWaitingTime)
	defer cancel()
	look := time.NewTicker(endWaitingLook)
	defer look.Stop()
	for {
		left := x.stopLeft()
		if left == 0 {
			return 0
		}
		select {
		case <-ctx.Done():
			return left
		case <-look.C:
		}
	}
}

// stopLeft counts the threads that a stop of everything has yet to end.
func (x *Exchange) stopLeft() (n uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, l := range x.open {
		if x.stopEnds(l.env) {
			n++
		}
	}
	return n
}
