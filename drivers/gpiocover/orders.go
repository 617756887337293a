package gpiocover

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/board"
)

// order turns both relays off.
type order struct {
	Lines     []board.Line `json:"lines"`
	Device    string       `json:"device"`
	ActiveLow bool         `json:"active_low,omitempty"`
	OpenDrain bool         `json:"open_drain,omitempty"`
	Bias      string       `json:"bias,omitempty"`
}

// WatchdogCommands returns the commands with which another process stops the cover.
func (c *Cover) WatchdogCommands() drivers.WatchdogCommands {
	req := c.cfg.request(c.Name())
	data, _ := json.Marshal(order{[]board.Line{c.cfg.line(c.cfg.Up), c.cfg.line(c.cfg.Down)}, c.Name(), req.ActiveLow, req.OpenDrain, req.Bias}) // JSON can represent all of its fields
	return drivers.WatchdogCommands{Off: data, Safe: data}
}

// RunWatchdogCommand executes an order on both lines. An error of the first line does not
// prevent the second.
func RunWatchdogCommand(chips board.Chips, data []byte) (changed bool, err error) {
	var o order
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("gpiocover: invalid order: %w", err)
	}
	for _, line := range o.Lines {
		has, fault := board.ForceLevel(chips, line, board.Request{
			Label: board.ConsumerName(o.Device), Start: board.Off, ActiveLow: o.ActiveLow, OpenDrain: o.OpenDrain, Bias: o.Bias,
		})
		changed, err = changed || has, errors.Join(err, fault)
	}
	if err != nil {
		return changed, fmt.Errorf("%s: %w", o.Device, err)
	}
	return changed, nil
}
