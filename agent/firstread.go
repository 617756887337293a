package agent

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/agent/gate"
	"github.com/messkit/messkit/agent/poll"
	"github.com/messkit/messkit/drivers"
)

// firstReads are the waits before each attempt to read the devices after the
// start. A device behind a broker may tell its state some seconds later.
var firstReads = []time.Duration{0, 10 * time.Second, time.Minute}

// readsAtOnce is how many devices are read at the same time.
const readsAtOnce = 8

// ReadFirst reads every device that can be read and that has not told its state,
// so that Status knows how the devices are before somebody uses them. It runs
// beside Run and returns after its last attempt, or when ctx ends. It never acts,
// and a device that does not answer has not failed.
func (a *Agent) ReadFirst(ctx context.Context) {
	for _, wait := range firstReads {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		a.readAll(ctx)
	}
}

// readAll reads each of them once. Those that do not answer hold up no others.
func (a *Agent) readAll(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	s := poll.New(readsAtOnce)
	var left atomic.Int64
	left.Store(1) // until all are added
	read := func() {
		if left.Add(-1) == 0 {
			end()
		}
	}
	for _, d := range a.devices {
		if canBeRead(d.Driver) && len(a.gate.Seen(d.Name)) == 0 {
			left.Add(1)
			host, atOnce := hostOf(d)
			s.Add(poll.Job{Host: host, AtOnce: atOnce, Every: time.Hour, Do: func(ctx context.Context) {
				a.readOnce(ctx, d)
				if ctx.Err() == nil { // else it comes again
					read()
				}
			}})
		}
	}
	read()
	_ = s.Run(ctx) // it returns nil
}

// readOnce reads a device in all the ways in which it tells its state. The gate
// keeps what it says.
func (a *Agent) readOnce(ctx context.Context, d *device) {
	a.stateOf(ctx, d)
	if s, ok := d.Driver.(drivers.Sensor); ok {
		glanced(ctx, a, d, func(ctx context.Context, p *gate.Pass) ([]drivers.Reading, error) { return p.Read(ctx, s) })
	}
	if t, ok := d.Driver.(drivers.TargetReader); ok {
		glanced(ctx, a, d, func(ctx context.Context, p *gate.Pass) (float64, error) { return p.Target(ctx, t) })
	}
}

// canBeRead reports whether a device tells its state when it is asked.
func canBeRead(d drivers.Device) bool {
	switch d.(type) {
	case drivers.SwitchReader, drivers.OpeningReader, drivers.LockReader, drivers.DockReader, drivers.Sensor, drivers.TargetReader:
		return true
	}
	return false
}
