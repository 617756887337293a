// Package stop keeps the stop of an executor: one latch that survives restarts
// and power cuts, set by anybody who may, and cleared by a local act alone. It
// knows the gate by two methods, and nothing of threads.
//
// A stop in software is not a safety function (ISO 13850, IEC 61508).
package stop

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Order is one stop that somebody has ordered.
type Order struct {
	ID  string    `json:"id"` // the same order may come twice
	Why string    `json:"why"`
	By  string    `json:"by"` // a person, an actor of the exchange, a line
	At  time.Time `json:"at"` // by the clock of this board, which may be wrong
}

func (o Order) String() string {
	s := o.Why
	if s == "" {
		s = "no reason given"
	}
	if o.By != "" {
		s += ", by " + o.By
	}
	if !o.At.IsZero() {
		s += ", " + o.At.Local().Format(time.DateTime)
	}
	return s
}

// Bounds of what is kept: an order is short, and many of them mean the same.
const (
	maxOrders = 16
	maxText   = 512 // bytes of a reason or a name
)

// bounded is o with texts of one short line each.
func (o Order) bounded() Order {
	o.Why, o.By, o.ID = line(o.Why), line(o.By), line(o.ID)
	return o
}

func line(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "")
}

// record is a file of a stop: the orders that hold, or those that a clear has
// cleared.
type record struct {
	Orders []Order `json:"orders"`
	// Of a clear.
	Clear string    `json:"clear,omitempty"` // names it
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// parse reads a record. What is not whole is an error, and holds no order.
func parse(data []byte) (record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("is not what a stop looks like: %w", err)
	}
	if len(r.Orders) == 0 && r.Clear == "" {
		return record{}, errors.New("holds no order")
	}
	for i, o := range r.Orders {
		if r.Orders[i] = o.bounded(); r.Orders[i].ID == "" {
			return record{}, fmt.Errorf("order %d has no id", i+1)
		}
	}
	return r, nil
}

func (r record) print() ([]byte, error) {
	data, err := json.MarshalIndent(r, "", "  ")
	return append(data, '\n'), err
}

// holds reports whether one of some orders has an id.
func holds(orders []Order, id string) bool {
	for _, o := range orders {
		if o.ID == id {
			return true
		}
	}
	return false
}
