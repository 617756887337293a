// Package stop implements the emergency stop of an executor: a latch that survives restarts and
// power cuts. Any authorized client may set it; only a local operator may reset it. It knows
// three methods of the safety policy, and no threads.
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

// Order is one order to stop.
type Order struct {
	ID     string    `json:"id"` // the same order may arrive twice
	Reason string    `json:"why"`
	By     string    `json:"by"` // a person, an actor of the exchange, or a line
	At     time.Time `json:"at"` // by the clock of this node, which may be wrong
}

func (o Order) String() string {
	s := o.Reason
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

// Limits of the stored data: an order is short, and many orders mean the same.
const (
	maxOrders = 16
	maxText   = 512 // bytes of a reason or a name
)

// bounded returns o with each text as one short line.
func (o Order) bounded() Order {
	o.Reason, o.By, o.ID = oneLine(o.Reason), oneLine(o.By), oneLine(o.ID)
	return o
}

func oneLine(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	return strings.ToValidUTF8(s[:min(len(s), maxText)], "")
}

// record is a file of a stop: the active orders, or the orders that a reset has cleared.
type record struct {
	Orders []Order `json:"orders"`
	// Fields of a reset.
	Clear string    `json:"clear,omitempty"` // its id
	By    string    `json:"by,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// parse decodes and validates a record. With an error it returns no orders.
func parse(data []byte) (record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("it is not the JSON of a stop: %w", err)
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

// hasOrder reports whether a list contains an order with an id.
func hasOrder(orders []Order, id string) bool {
	for _, o := range orders {
		if o.ID == id {
			return true
		}
	}
	return false
}
