package gate

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// Stop cancels all that passes, has Run take every device to its safe state
// past all queues, and refuses everything until Clear. Stopped once more, it
// does so once more. It waits for nothing. It is not a safety function: that
// takes a switch in the wire.
func (g *Gate) Stop(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if why == "" {
		why = "stopped"
	}
	if g.stopped == "" {
		g.stopped = why // the first reason is the reason
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

// Clear ends a Stop. It is for a person at the place, never for the network.
func (g *Gate) Clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped == "" {
		return
	}
	g.stopped = ""
	g.log.Warn("stop cleared")
	g.tell()
}

// Stopped tells why the gate is stopped, "" if it is not.
func (g *Gate) Stopped() string {
	why, _ := g.Watch()
	return why
}

// Watch tells why the gate is stopped, "" if it is not, and when to ask again:
// changed is closed when that changes, or what Safety says does.
func (g *Gate) Watch() (why string, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopped, g.changed
}

// Refused is what the gate says to everything while it is stopped; nil if it is
// not.
func (g *Gate) Refused() *Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped == "" {
		return nil
	}
	return g.stop()
}

// Rounds is how often the gate was stopped. What was started before the last
// time has been halted since.
func (g *Gate) Rounds() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rounds
}

func (g *Gate) stop() *Refusal {
	return &Refusal{Rule: "stop", Text: fmt.Sprintf("everything here is stopped (%s) until a person at the place clears it", g.stopped)}
}

// notStopped is the rule that holds for what only reads as well.
func (g *Gate) notStopped(*device, capabilities.Plan) error {
	if g.stopped != "" {
		return g.stop()
	}
	return nil
}

// meet gives the gate a device, to look at for the sake of others and to stop,
// and refuses while everything is stopped.
func (g *Gate) meet(d drivers.Device, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	dev := g.device(name)
	dev.driver = d
	g.tell()
	return g.notStopped(dev, capabilities.Plan{})
}

// cameBackLate has a device made safe once more, where a call that began before
// the stop has come back after it: nobody knows what it has done last. mu is
// held.
func (g *Gate) cameBackLate(c *call) {
	if c.acts && g.stopped != "" {
		c.dev.makeSafe()
	}
}

// tell tells those who Watch. mu is held.
func (g *Gate) tell() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// makeSafe rings whoever keeps the device safe, now or when he begins.
func (d *device) makeSafe() { ring(d.again) }
