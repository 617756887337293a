package sim

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
)

// order sets a line in a file to a level.
type order struct {
	File   string `json:"file"` // absolute
	Device string `json:"device"`
	On     bool   `json:"on"`
}

// WatchdogCommands returns the commands with which another process switches the line of this
// relay. There are none for a line in memory.
func (r *Relay) WatchdogCommands() drivers.WatchdogCommands {
	if r.cfg.File == "" {
		return drivers.WatchdogCommands{}
	}
	return r.cfg.WatchdogCommands(func(on bool) any { return order{r.cfg.File, r.Name(), on} })
}

// runWatchdogCommand executes an order, unless the line already has the level.
func runWatchdogCommand(data []byte) (changed bool, err error) {
	var o order
	if err := json.Unmarshal(data, &o); err != nil {
		return false, fmt.Errorf("sim: invalid order: %w", err)
	}
	is, err := file(o.File).on()
	if err == nil && is == o.On {
		return false, nil
	}
	// Switch a line that cannot be read, too.
	if err := file(o.File).set(o.Device+" (guard)", o.On, time.Now()); err != nil {
		return false, fmt.Errorf("%s: %w", o.Device, err)
	}
	return true, nil
}
