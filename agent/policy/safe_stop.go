package policy

import (
	"fmt"

	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

// Stop cancels all running acts, makes Run take every device to its safe state without regard
// to queues, and rejects every new plan and every act until ResetStop. Another Stop repeats this. Stop does not wait.
// It is not a safety function: that needs a switch in the wire.
func (g *Policy) Stop(reason string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if reason == "" {
		reason = "stopped"
	}
	if g.stopReason == "" {
		g.stopReason = reason // the first reason stays
		g.log.Warn("stopped", "err", reason)
	}
	g.stopCount++
	for _, cancel := range g.runningCalls {
		cancel(g.stopRejection())
	}
	for _, d := range g.devices {
		d.safeResult = nil
		d.requestSafe()
	}
	g.notifyChanged()
}

// ResetStop resets a stop. Only the local operator may do this, never a network client.
func (g *Policy) ResetStop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopReason == "" {
		return
	}
	g.stopReason = ""
	g.log.Warn("stop reset")
	g.notifyChanged()
}

// Stopped returns the reason for the stop, "" if there is none.
func (g *Policy) Stopped() string {
	reason, _ := g.Watch()
	return reason
}

// Watch returns the reason for the stop, "" if there is none. The policy closes changed when the
// reason or the result of SafeResults changes.
func (g *Policy) Watch() (reason string, changed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopReason, g.changed
}

// StopRejection returns the rejection that applies to everything during a stop; nil if there is no
// stop.
func (g *Policy) StopRejection() *Rejection {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopReason == "" {
		return nil
	}
	return g.stopRejection()
}

// StopCount returns the number of stops. Each stop halts the devices that started before it.
func (g *Policy) StopCount() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.stopCount
}

func (g *Policy) stopRejection() *Rejection {
	return &Rejection{Rule: "stop", Text: fmt.Sprintf("a stop is active (%s); to reset it, run on the host: messkit clear", g.stopReason)}
}

// notStopped rejects every plan during a stop, also one that only reads. A pass from before the
// stop may still read.
func (g *Policy) notStopped(*device, capabilities.Plan) error {
	if g.stopReason != "" {
		return g.stopRejection()
	}
	return nil
}

// register registers a device for conditions of others and for stops. During a stop it returns a
// rejection.
func (g *Policy) register(d drivers.Device, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	dev := g.device(name)
	dev.driver = d
	g.notifyChanged()
	return g.notStopped(dev, capabilities.Plan{})
}

// returnedLate requests the safe state again if a call from before the stop returns after it:
// its last effect is unknown. The caller holds Policy.mu.
func (g *Policy) returnedLate(c *call) {
	if c.acts && g.stopReason != "" {
		c.dev.requestSafe()
	}
}

// notifyChanged wakes the callers of Watch. The caller holds Policy.mu.
func (g *Policy) notifyChanged() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// requestSafe wakes the goroutine that keeps the device safe, now or at its start.
func (d *device) requestSafe() { wait.Notify(d.safeAgain) }
