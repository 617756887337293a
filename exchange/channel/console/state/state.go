// Package state has what the console shows beside threads, and finds what has changed in it since a
// page got it last. It sends nothing itself.
package state

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/notices"
	"github.com/messkit/messkit/mess"
)

// Executor is an executor as the page shows it.
type Executor struct {
	ID           string            `json:"id"`
	Name         string            `json:"name"`
	Person       bool              `json:"person"`
	Live         bool              `json:"live"`
	LastSeen     time.Time         `json:"last_seen"`    // in whole minutes
	Capabilities []mess.Capability `json:"capabilities"` // with their areas
	Availability mess.Availability `json:"availability,omitempty"`
	Schedule     string            `json:"schedule,omitempty"`
	Stopped      *mess.StopState   `json:"stopped,omitempty"`
	Stopping     int               `json:"stopping,omitempty"`   // stops that it has not confirmed
	StopOrder    *mess.Stop        `json:"stop_order,omitempty"` // the last of them
	DrainReason  string            `json:"on_hold,omitempty"`
	DrainOrder   *mess.DrainOrder  `json:"hold,omitempty"` // the order behind on_hold, if there is one: who, when and why
	Disarmed     any               `json:"disarmed,omitempty"`
	Failing      []mess.Failing    `json:"failing,omitempty"` // for operators
	Claims       int               `json:"claims,omitempty"`  // threads that it has claimed
	Software     string            `json:"software,omitempty"`
	Battery      *mess.Battery     `json:"battery,omitempty"` // nil if it reports none
}

// State is everything but threads and the home. A nil part is unknown, or has not changed.
type State struct {
	Executors []Executor     `json:"executors"` // sorted by id
	Bell      *notices.Count `json:"bell,omitempty"`
	Status    any            `json:"status,omitempty"` // statistics, for operators
	Here      any            `json:"here,omitempty"`   // the local executor, for operators
}

// Change is the difference between two states. A part that has not changed is empty.
type Change struct {
	Changed []Executor     `json:"changed,omitempty"` // new ones, too
	Gone    []ID           `json:"gone,omitempty"`
	Seen    []Seen         `json:"seen,omitempty"` // executors of which only the time of the last contact has changed
	Bell    *notices.Count `json:"bell,omitempty"`
	Status  any            `json:"status,omitempty"`
	Here    any            `json:"here,omitempty"`
}

// ID names an executor.
type ID struct {
	ID string `json:"id"`
}

// Seen has the executors with the same time of their last contact.
type Seen struct {
	At        time.Time `json:"last_seen"`
	Executors []ID      `json:"executors"`
}

// IsEmpty reports whether nothing has changed.
func (c Change) IsEmpty() bool {
	return c.Changed == nil && c.Gone == nil && c.Seen == nil && c.Bell == nil && c.Status == nil && c.Here == nil
}

// OfExecutor returns an executor as the page shows it. Only operators see which devices fail.
func OfExecutor(e exchange.ExecutorInfo, isOperator bool) Executor {
	one := Executor{
		ID: e.ID, Name: e.Name, Person: exchange.IsPerson(e.Executor), Live: e.Live, LastSeen: e.LastSeen.Truncate(time.Minute),
		Capabilities: withAreas(e.Capabilities), Claims: e.Claims, Software: e.Software(), Battery: e.Battery(), Availability: e.Availability, Schedule: e.Schedule, Stopping: len(e.UnconfirmedStops), DrainReason: e.DrainReason, DrainOrder: e.Drain,
	}
	if e.Stopped != nil && e.Stopped.Reason != "" {
		one.Stopped = e.Stopped
	}
	if n := len(e.UnconfirmedStops); n > 0 {
		one.StopOrder = &e.UnconfirmedStops[n-1]
	}
	if reason, _ := e.Extra.Get("disarmed"); reason != nil && reason != "" {
		one.Disarmed = reason
	}
	if isOperator {
		one.Failing = e.FailingDevices()
	}
	return one
}

// withAreas returns capabilities with their areas and without other metadata, which the page does not
// use: a fleet has many.
func withAreas(all []mess.Capability) []mess.Capability {
	list := make([]mess.Capability, len(all))
	for i, c := range all {
		list[i] = mess.Capability{ID: c.ID}
		meta, _ := c.Meta.(mess.Object)
		if areas, ok := meta.Get("areas"); ok {
			list[i].Meta = mess.Object{{Key: "areas", Value: areas}}
		}
	}
	return list
}

// Tracker knows the last state of one page. It is not safe for concurrent use. The zero value knows
// nothing.
type Tracker struct {
	executors map[string]known // by id
	bell      *notices.Count   // nil before the first
	here      *Reading         // of the local executor; nil before the first
}

// known is an executor that a page has.
type known struct {
	plain []byte // JSON without the time of the last contact
	seen  time.Time
}

// Executors takes the executors, and adds to a change what differs. withTimes says whether a new time
// of contact alone is a difference. The error is that of json.Marshal.
func (t *Tracker) Executors(c *Change, list []Executor, withTimes bool) error {
	next := make(map[string]known, len(list))
	for _, e := range list {
		plain := e
		plain.LastSeen = time.Time{}
		data, err := json.Marshal(plain)
		if err != nil {
			return err
		}
		was, has := t.executors[e.ID]
		now := known{data, e.LastSeen}
		switch {
		case !has || !bytes.Equal(was.plain, data):
			c.Changed = append(c.Changed, e)
		case was.seen.Equal(e.LastSeen):
		case withTimes:
			c.addSeen(e)
		default:
			now.seen = was.seen
		}
		next[e.ID] = now
	}
	for id := range t.executors {
		if _, has := next[id]; !has {
			c.Gone = append(c.Gone, ID{id})
		}
	}
	t.executors = next
	return nil
}

// addSeen adds the time of the last contact of an executor.
func (c *Change) addSeen(e Executor) {
	for i := range c.Seen {
		if c.Seen[i].At.Equal(e.LastSeen) {
			c.Seen[i].Executors = append(c.Seen[i].Executors, ID{e.ID})
			return
		}
	}
	c.Seen = append(c.Seen, Seen{e.LastSeen, []ID{{e.ID}}})
}

// Bell takes the count of the bell, and adds it to a change if it differs. nil: there is no bell.
func (t *Tracker) Bell(c *Change, count *notices.Count) {
	if count != nil && (t.bell == nil || *count != *t.bell) {
		t.bell, c.Bell = count, count
	}
}

// Here takes a reading of the local executor, and adds it to a change if it differs. withTimes says
// whether new times in it alone are a difference.
func (t *Tracker) Here(c *Change, r *Reading, withTimes bool) {
	if r == t.here || t.here != nil && !withTimes && bytes.Equal(r.plain, t.here.plain) {
		return
	}
	t.here, c.Here = r, json.RawMessage(r.data)
}
