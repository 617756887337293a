package main

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/messkit/messkit/agent"
	"github.com/messkit/messkit/agent/gate"
)

// outputs are the devices in their initial state, under their gate.
type outputs struct {
	gate    *gate.Gate
	devices []agent.Device
	stop    context.CancelFunc // ends the timers
	timers  errgroup.Group
}

// start takes the devices to their initial state. It comes before everything
// that can fail or take its time: the network, the exchange and its disk.
func (c *config) start(ctx context.Context, log *slog.Logger) *outputs {
	o := &outputs{gate: c.gate(log)}
	var still context.Context
	still, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	o.timers.Go(func() error { return o.gate.Run(still) })
	o.devices = agent.Start(ctx, o.gate, c.home.forAgent(), log)
	return o
}

// handOver ends the timers: the agent has its own.
func (o *outputs) handOver() {
	o.stop()
	_ = o.timers.Wait() // it returns nil when its context ends
}

// halt takes the devices to their safe state, where no agent has come of it.
func (o *outputs) halt(ctx context.Context) error {
	o.handOver()
	return agent.Halt(context.WithoutCancel(ctx), o.gate, o.devices)
}
