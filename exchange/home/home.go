// Package home shows the devices of all executors of an exchange as one home, and makes the
// requests for their verbs. A verb is a capability that an executor has registered for a device.
package home

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// Home is the home of one exchange. It is safe for concurrent use.
type Home struct {
	x   *exchange.Exchange
	now func() time.Time

	feed *feed

	mu      sync.Mutex
	results map[string]*results // by device id
}

// New returns the home of an exchange.
func New(x *exchange.Exchange, now func() time.Time) *Home {
	h := &Home{x: x, now: now, results: map[string]*results{}}
	h.feed = newFeed(h)
	return h
}

// Document is a home at one moment.
type Document struct {
	Exchange  string     `json:"exchange"`
	Now       string     `json:"now"`
	Areas     []Area     `json:"areas"`   // sorted by name; "" is the last one
	Devices   []Device   `json:"devices"` // sorted by id
	Executors []Executor `json:"executors"`
}

// Area is a place with devices. Name is "" for the devices without a place.
type Area struct {
	Name    string   `json:"name"`
	Devices []string `json:"devices"` // ids
}

// Device is one device with its last known state.
type Device struct {
	ID          string       `json:"id"` // EXECUTOR:DEVICE
	Executor    string       `json:"executor"`
	Device      string       `json:"device"` // its name in the registration
	Name        string       `json:"name"`   // for people
	Area        string       `json:"area,omitempty"`
	Class       string       `json:"class,omitempty"`
	State       string       `json:"state"` // one word; unknown without a report
	AsOf        mess.Time    `json:"as_of,omitempty"`
	Doing       string       `json:"doing,omitempty"`
	Readings    []Reading    `json:"readings,omitempty"`
	Limits      mess.Object  `json:"limits,omitempty"`
	Places      []string     `json:"places,omitempty"`
	Colour      string       `json:"colour,omitempty"` // that a light shows, as #rrggbb; "" for unknown, or for a white
	Hidden      bool         `json:"hidden,omitempty"` // pages leave it out of their first view
	Reachable   bool         `json:"reachable"`
	Unreachable *Unreachable `json:"unreachable,omitempty"`
	Locked      string       `json:"locked,omitempty"`
	Stopped     string       `json:"stopped,omitempty"`
	Drained     string       `json:"drained,omitempty"`
	Task        *Task        `json:"task,omitempty"`
	Last        *Result      `json:"last,omitempty"`
	Verbs       []Verb       `json:"verbs"`

	merged []Verb // that Verbs has under another name
}

// Reading is one known value of a device. A truth value is 0 or 1.
type Reading struct {
	Quantity  string    `json:"quantity"`
	Value     float64   `json:"value"`
	Unit      string    `json:"unit,omitempty"`
	AsOf      mess.Time `json:"as_of,omitempty"`
	Commanded bool      `json:"commanded,omitempty"` // the commanded value, with no reading since
	Estimated bool      `json:"estimated,omitempty"`
}

// Unreachable says since when and why a device does not work. Only operators see the reason that
// its executor reports, because it may have addresses.
type Unreachable struct {
	Since  mess.Time `json:"since,omitempty"`
	Reason string    `json:"reason"`
}

// Task is an open thread for a device. Others than its requester, operators and observers see only
// its status and verb.
type Task struct {
	Ref       string    `json:"ref,omitempty"`
	Status    mess.Code `json:"status"`
	Verb      string    `json:"verb"`
	Intent    string    `json:"intent,omitempty"`
	Requester string    `json:"requestor_id,omitempty"`
}

// Result is the result of the last ended thread that a verb has made for a device.
type Result struct {
	Ref      string        `json:"ref,omitempty"`
	Status   mess.Code     `json:"status"`
	Verb     string        `json:"verb"`
	Evidence mess.Evidence `json:"evidence,omitempty"`
	Reason   string        `json:"reason,omitempty"`
	At       string        `json:"at"`

	requester string
	ended     time.Time
}

// Verb is a capability of a device.
type Verb struct {
	Verb       string               `json:"verb"`
	Effect     string               `json:"effect,omitempty"` // query, idempotent or once
	Parameters map[string]Parameter `json:"parameters,omitempty"`
}

// Parameter describes an argument of a verb. A number has a range.
type Parameter struct {
	Type   string   `json:"type,omitempty"` // number, text, duration or list
	Unit   string   `json:"unit,omitempty"`
	Min    *float64 `json:"min,omitempty"`
	Max    *float64 `json:"max,omitempty"`
	Values []string `json:"values,omitempty"` // the permitted ones, if they are known
	Needed bool     `json:"needed,omitempty"`
}

// Executor is an executor of the home.
type Executor struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Person   bool   `json:"person"`
	Live     bool   `json:"live"`
	LastSeen string `json:"last_seen"`
	Stopped  string `json:"stopped"`
	Drained  string `json:"drained"`
}

// all reads every thread.
var all = exchange.Actor{ID: exchange.Self, Roles: exchange.Observer}

// Document returns the home as an actor may see it. The error is a *mess.Error.
func (h *Home) Document(ctx context.Context, actor exchange.Actor) (*Document, error) {
	d, err := h.build(ctx)
	if err != nil {
		return nil, err
	}
	d.documentFor(actor)
	return d, nil
}

// visibleTo returns the device as an actor may see it.
func (d Device) visibleTo(actor exchange.Actor) Device {
	d.Verbs = d.verbsFor(actor)
	d.Drained = drainedFor(actor, d.Drained)
	if d.Unreachable != nil && !actor.Has(exchange.Operator) {
		d.Unreachable = &Unreachable{Since: d.Unreachable.Since, Reason: "its executor cannot use it"}
	}
	if t := d.Task; t != nil && !actor.SeesAll() && t.Requester != actor.ID {
		d.Task = &Task{Status: t.Status, Verb: t.Verb}
	}
	if r := d.Last; r != nil && !actor.SeesAll() && r.requester != actor.ID {
		d.Last = &Result{Status: r.Status, Verb: r.Verb, Evidence: r.Evidence, At: r.At}
	}
	return d
}

// areasOf returns the areas of devices.
func areasOf(devices []Device) []Area {
	byName := map[string][]string{}
	for i := range devices {
		byName[devices[i].Area] = append(byName[devices[i].Area], devices[i].ID)
	}
	list := make([]Area, 0, len(byName))
	for name, ids := range byName {
		list = append(list, Area{name, ids})
	}
	slices.SortFunc(list, func(a, b Area) int {
		switch {
		case a.Name == "":
			return 1
		case b.Name == "" || a.Name < b.Name:
			return -1
		}
		return 1
	})
	return list
}
