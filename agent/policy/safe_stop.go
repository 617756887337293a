package policy

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

// Stop cancels all running acts, makes Run take every device to its safe state without regard
// to queues, and rejects everything until Clear. Another Stop repeats this. Stop does not wait.
// It is not a safety function: that needs a switch in the wire.
func (g *Policy) Stop(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if why == "" {
		why = "stopped"
	}
	if g.stopped == "" {
		g.stopped = why // the first reason stays
		g.log.Warn("stopped", "err", why)
	}
	g.rounds++
	for _, cancel := range g.running {
		cancel(g.stop())
	}
	for _, d := range g.devices {
		d.safe = nil
		d.makeSafe()
	}
	g.tell()
}

// ResetStop resets a stop. Only the local operator may do this, never a network client.
func (g *Policy) ResetStop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped == "" {
		return
	}
	g.stopped = ""
	g.log.Warn("stop cleared")
	g.tell()
}

// Stopped returns the reason for the stop, "" if there is none.
func (g *Policy) Stopped() string {
	why, _ := g.Watch()
	return why
}

// Watch returns the reason for the stop, "" if there is none. The gate closes changed when the
// reason or the result of Safety changes.
func (g *Policy) Watch() (why string, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopped, g.changed
}

// StopRejection returns the rejection that applies to everything during a stop; nil if there is no
// stop.
func (g *Policy) StopRejection() *Rejection {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped == "" {
		return nil
	}
	return g.stop()
}

// StopCount returns the number of stops. Each stop halts the devices that started before it.
func (g *Policy) StopCount() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rounds
}

func (g *Policy) stop() *Rejection {
	return &Rejection{Rule: "stop", Text: fmt.Sprintf("everything here is stopped (%s) until a person at the place clears it", g.stopped)}
}

// notStopped is the one rule that also applies to reading.
func (g *Policy) notStopped(*device, capabilities.Plan) error {
	if g.stopped != "" {
		return g.stop()
	}
	return nil
}

// meet registers a device for conditions of others and for stops. During a stop it returns a
// rejection.
func (g *Policy) meet(d drivers.Device, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	dev := g.device(name)
	dev.driver = d
	g.tell()
	return g.notStopped(dev, capabilities.Plan{})
}

// cameBackLate requests the safe state again if a call from before the stop returns after it:
// its last effect is unknown. The caller holds Gate.mu.
func (g *Policy) cameBackLate(c *call) {
	if c.acts && g.stopped != "" {
		c.dev.makeSafe()
	}
}

// tell wakes the callers of Watch. The caller holds Gate.mu.
func (g *Policy) tell() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// makeSafe wakes the goroutine that keeps the device safe, now or at its start.
func (d *device) makeSafe() { wait.Notify(d.again) }
