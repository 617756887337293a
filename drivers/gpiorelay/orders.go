package gpiorelay

import (
	"encoding/json"
	"fmt"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/board"
)

// order sets a line to a level.
type order struct {
	board.Line
	Device    string `json:"device"`
	ActiveLow bool   `json:"active_low,omitempty"`
	OpenDrain bool   `json:"open_drain,omitempty"`
	Bias      string `json:"bias,omitempty"`
	On        bool   `json:"on"`
}

// WatchdogCommands returns the commands with which another process sets the line.
func (o *output) WatchdogCommands() drivers.WatchdogCommands {
	req := o.cfg.request(o.Name())
	return o.cfg.WatchdogCommands(func(on bool) any {
		return order{o.cfg.line(), o.Name(), req.ActiveLow, req.OpenDrain, req.Bias, on}
	})
}

// RunWatchdogCommand executes an order on a free line, or on a line that a frozen messkit
// process of the same user has.
func RunWatchdogCommand(chips board.Chips, data []byte) (changed bool, err error) {
	var o order
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("gpiorelay: invalid order: %w", err)
	}
	changed, err = board.ForceLevel(chips, o.Line, board.Request{
		Label: board.ConsumerName(o.Device), Start: board.StartLevel(o.On), ActiveLow: o.ActiveLow, OpenDrain: o.OpenDrain, Bias: o.Bias,
	})
	if err != nil {
		return false, fmt.Errorf("%s: %w", o.Device, err)
	}
	return changed, nil
}
