package sites

import (
	"fmt"
	"sync"
	"time"
)

// silentAfter is the time without a sign of life of the other side after which an uplink counts as cut. The
// servers send one each second. After a cut they look for the other side every 10 s.
const silentAfter = 5 * time.Second

// lookEvery is the interval at which an exchange asks its servers for the state of the uplink.
const lookEvery = 2 * time.Second

// Uplink is the state of the connection between a site and its centre, as one side sees it.
type Uplink struct {
	Site      string     `json:"site"`
	Side      string     `json:"side"` // centre or site: who says this
	Connected bool       `json:"connected"`
	Since     *time.Time `json:"since,omitempty"` // of the present state; absent before the first contact
	Heard     *time.Time `json:"heard,omitempty"` // last contact
	AsOf      *time.Time `json:"as_of,omitempty"` // when this side last had everything of the other one
	Behind    uint64     `json:"behind"`          // steps that this side lacked at the last contact
	AgeS      float64    `json:"age_s"`           // seconds since AsOf; -1 if it never was
	Waiting   int        `json:"waiting"`         // of the centre: requests without a receipt; of the site: requests that it has yet to take
	Taken     int64      `json:"taken,omitempty"` // of the site, since its start
	Refused   int64      `json:"refused,omitempty"`
	Expired   int64      `json:"expired,omitempty"`
	Cancelled int64      `json:"cancelled,omitempty"`
	Failing   string     `json:"failing,omitempty"` // why this side cannot work
}

func (u Uplink) String() string {
	text := "no contact since the start"
	switch {
	case u.Connected && u.Behind > 0:
		text = fmt.Sprintf("connected, %d steps behind", u.Behind)
	case u.Connected:
		text = "connected, nothing behind"
	case u.Since != nil:
		text = "cut since " + clock(*u.Since)
	}
	if u.Side == sideCentre && !u.Connected && u.AsOf != nil {
		text += "; the copy is as of " + clock(*u.AsOf)
	}
	switch {
	case u.Waiting == 1:
		text += "; 1 request waits"
	case u.Waiting > 1:
		text += fmt.Sprintf("; %d requests wait", u.Waiting)
	}
	if u.Failing != "" {
		text += "; does not work: " + u.Failing
	}
	return text
}

// clock returns a time for people: only the hour for one of today.
func clock(t time.Time) string {
	t = t.Local()
	if now := time.Now(); t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format(time.DateTime)
}

// The sides.
const (
	sideCentre = "centre"
	sideSite   = "site"
)

// watch keeps the state of an uplink. It is safe for concurrent use.
type watch struct {
	now func() time.Time

	mu sync.Mutex
	u  Uplink
}

func newWatch(site, side string) *watch {
	return &watch{now: time.Now, u: Uplink{Site: site, Side: side, AgeS: -1}}
}

// note records what the servers say: how many steps this side lacks, and the time since the last contact,
// which is negative if there was none. It reports whether the uplink was cut or is connected again.
func (w *watch) note(behind uint64, heard time.Duration) (changed bool, state Uplink) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now().Round(0)
	was := w.u.Connected
	w.u.Connected = heard >= 0 && heard < silentAfter
	if heard >= 0 {
		if at := now.Add(-heard); w.u.Heard == nil || at.After(*w.u.Heard) {
			w.u.Heard = &at
		}
	}
	w.u.Behind = behind
	if w.u.Connected && behind == 0 {
		w.u.AsOf = w.u.Heard
	}
	switch {
	case w.u.Connected && !was:
		w.u.Since = &now
	case !w.u.Connected && (was || w.u.Since == nil):
		w.u.Since = w.u.Heard // nil before the first contact
	}
	return w.u.Connected != was, w.u
}

// set changes the state.
func (w *watch) set(change func(*Uplink)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.u)
}

// state returns the state.
func (w *watch) state() Uplink {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.u
	if u.AsOf != nil {
		u.AgeS = w.now().Sub(*u.AsOf).Seconds()
	}
	return u
}
