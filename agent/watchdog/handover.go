package watchdog

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// RemainingDevice is a device that is on without its agent until its time is over. The watchdog of the
// agent's next run takes it over.
type RemainingDevice struct {
	Device
	In time.Duration `json:"in"` // ns until it must be off
}

// Yield ends a watchdog whose agent is gone and leaves its devices to another one. It does
// nothing while the agent lives.
func (g *Watchdog) Yield() { wait.Notify(g.yield) }

// ExpectHandover keeps a watchdog from ending before Adopt. Call it before Run.
func (g *Watchdog) ExpectHandover() { g.expectsHandover = true }

// Adopt passes the remaining devices of another watchdog to a running one; nil for none. It
// blocks until Run takes the list.
func (g *Watchdog) Adopt(list []RemainingDevice) { g.adopted <- list }

// Remaining returns the remaining devices of a watchdog that has ended.
func (g *Watchdog) Remaining() []RemainingDevice {
	var list []RemainingDevice
	for _, t := range g.devices {
		if t.on && !t.due.IsZero() {
			list = append(list, RemainingDevice{t.Device, max(1, time.Until(t.due))})
		}
	}
	return list
}

// adopt takes over the devices of another watchdog, unless the agent has sent newer messages
// about them.
func (g *Watchdog) adopt(list []RemainingDevice) {
	g.expectsHandover = false
	for _, l := range list {
		l.Safe = nil // that order belongs to an agent that is gone
		t := g.devices[l.Name]
		if t == nil {
			t = &deviceState{Device: l.Device}
			g.devices[l.Name] = t
		}
		due := time.Now().Add(l.In)
		if !t.known && (!t.on || t.due.IsZero() || due.Before(t.due)) {
			t.on, t.due = true, due
		}
	}
}

// ParseRemaining decodes the result of EncodeRemaining and validates it.
func ParseRemaining(data []byte) ([]RemainingDevice, error) {
	list, err := parse[[]RemainingDevice](data)
	for _, l := range list {
		err = errors.Join(err, l.valid())
		if l.In <= 0 {
			err = errors.Join(err, fmt.Errorf("%s: in: is missing", l.Name))
		}
	}
	if err != nil {
		return nil, err
	}
	return list, nil
}

// EncodeRemaining encodes a list for a file.
func EncodeRemaining(list []RemainingDevice) ([]byte, error) { return json.Marshal(list) }
