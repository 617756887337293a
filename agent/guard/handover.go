package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// Left is a device that is on though its agent is gone, until its time is over.
// The guard of the agent's next run takes it over.
type Left struct {
	Device
	In time.Duration `json:"in"` // ns until it has to be off
}

// Yield has a guard end whose agent is gone, and leave the rest to another one.
// Where its agent is there it goes on.
func (g *Guard) Yield() { wait.Notify(g.yield) }

// Expect keeps a guard from ending before Adopt was called. It is called before
// Run.
func (g *Guard) Expect() { g.heir = true }

// Adopt gives a guard that runs what another one has left, nil for nothing.
func (g *Guard) Adopt(list []Left) { g.adopted <- list }

// Rest is what a guard that has ended leaves.
func (g *Guard) Rest() []Left {
	var list []Left
	for _, t := range g.things {
		if t.on && !t.due.IsZero() {
			list = append(list, Left{t.Device, max(1, time.Until(t.due))})
		}
	}
	return list
}

// adopt watches over what another guard has left, where the agent has not said
// anything about it that is newer.
func (g *Guard) adopt(list []Left) {
	g.heir = false
	for _, l := range list {
		l.Safe = nil // that was the order of an agent that is gone
		t := g.things[l.Name]
		if t == nil {
			t = &thing{Device: l.Device}
			g.things[l.Name] = t
		}
		due := time.Now().Add(l.In)
		if !t.known && (!t.on || t.due.IsZero() || due.Before(t.due)) {
			t.on, t.due = true, due
		}
	}
}

// ParseLeft reads what PrintLeft has written.
func ParseLeft(data []byte) ([]Left, error) {
	list, err := parse[[]Left](data)
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

// PrintLeft is a list as it is kept in a file.
func PrintLeft(list []Left) ([]byte, error) { return json.Marshal(list) }
