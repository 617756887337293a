package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
)

// order takes a line that is kept in a file to a level.
type order struct {
	File   string `json:"file"` // absolute
	Device string `json:"device"`
	On     bool   `json:"on"`
}

// Orders are how another process switches this relay's line: what is kept in
// memory alone, it cannot.
func (r *Relay) Orders() drivers.Orders {
	if r.cfg.File == "" {
		return drivers.Orders{}
	}
	word := func(on bool) []byte {
		data, _ := json.Marshal(order{r.cfg.File, r.Name(), on}) // two strings and a truth value always can be
		return data
	}
	orders := drivers.Orders{Off: word(false)}
	if r.cfg.Safe != "keep" {
		orders.Safe = word(r.cfg.Safe == "on")
	}
	return orders
}

// obey carries out an order, where the line is not so already.
func obey(data []byte) (changed bool, err error) {
	var o order
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("sim: an order cannot be read: %w", err)
	}
	is, err := file(o.File).on()
	if err == nil && is == o.On {
		return false, nil
	}
	// A line that cannot be read is switched all the same.
	if err := file(o.File).set(o.Device+" (guard)", o.On, time.Now()); err != nil {
		return false, fmt.Errorf("%s: %w", o.Device, err)
	}
	return true, nil
}
