package gpiocover

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/board"
)

// order switches both relays off.
type order struct {
	Lines     []board.Line `json:"lines"`
	Device    string       `json:"device"`
	ActiveLow bool         `json:"active_low,omitempty"`
	OpenDrain bool         `json:"open_drain,omitempty"`
	Bias      string       `json:"bias,omitempty"`
}

// Orders are how another process stops it.
func (c *Cover) Orders() drivers.Orders {
	req := c.cfg.request(c.Name())
	data, _ := json.Marshal(order{[]board.Line{c.cfg.line(c.cfg.Up), c.cfg.line(c.cfg.Down)}, c.Name(), req.ActiveLow, req.OpenDrain, req.Bias}) // strings and truth values always can be
	return drivers.Orders{Off: data, Safe: data}
}

// Obey carries out an order: both lines, the second whatever became of the first.
func Obey(chips board.Chips, data []byte) (changed bool, err error) {
	var o order
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("gpiocover: an order cannot be read: %w", err)
	}
	for _, line := range o.Lines {
		has, fault := board.Force(chips, line, board.Request{
			Label: board.Label(o.Device), Start: board.Off, ActiveLow: o.ActiveLow, OpenDrain: o.OpenDrain, Bias: o.Bias,
		})
		changed, err = changed || has, errors.Join(err, fault)
	}
	if err != nil {
		return changed, fmt.Errorf("%s: %w", o.Device, err)
	}
	return changed, nil
}
