package device

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/poll"
	"github.com/messkit/messkit/drivers"
)

// firstReadDelays holds the delays before each attempt to read the devices after the start. A
// device behind a broker may report its state some seconds later.
var firstReadDelays = []time.Duration{0, 10 * time.Second, time.Minute}

// maxFirstReadings limits simultaneous readings.
const maxFirstReadings = 8

// ReadFirst reads every readable device without a known state. It returns after its last
// attempt, or when ctx ends. It never acts, and a device that does not answer does not count as
// failing.
func (s *Set) ReadFirst(ctx context.Context) {
	for _, wait := range firstReadDelays {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		s.readAll(ctx)
	}
}

// readAll reads each device once. Slow devices do not delay others.
func (s *Set) readAll(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	polls := poll.New(maxFirstReadings)
	var left atomic.Int64
	left.Store(1) // until all jobs exist
	read := func() {
		if left.Add(-1) == 0 {
			end()
		}
	}
	for d := range s.All() {
		if IsReadable(d.Driver) && len(s.Gate.LastStates(d.Name)) == 0 {
			left.Add(1)
			host, atOnce := hostOf(d)
			polls.Add(poll.Job{Host: host, AtOnce: atOnce, Every: time.Hour, Do: func(ctx context.Context) {
				s.readDevice(ctx, d)
				if ctx.Err() == nil { // else the job runs again
					read()
				}
			}})
		}
	}
	read()
	_ = polls.Run(ctx) // it returns nil
}

// readDevice calls all reading methods of a device. The safety policy stores the results.
func (s *Set) readDevice(ctx context.Context, d *Handle) {
	s.State(ctx, d)
	s.readSensors(ctx, d)
}

// readSensors reads the values of a device besides its state.
func (s *Set) readSensors(ctx context.Context, d *Handle) {
	if m, ok := d.Driver.(drivers.Sensor); ok {
		ReadState(ctx, s, d, func(ctx context.Context, p *policy.Pass) ([]drivers.Reading, error) { return p.Read(ctx, m) })
	}
	if t, ok := d.Driver.(drivers.TargetReader); ok {
		ReadState(ctx, s, d, func(ctx context.Context, p *policy.Pass) (float64, error) { return p.Target(ctx, t) })
	}
	if l, ok := d.Driver.(drivers.LevelReader); ok {
		ReadState(ctx, s, d, func(ctx context.Context, p *policy.Pass) (float64, error) { return p.Level(ctx, l) })
	}
	if a, ok := d.Driver.(drivers.AngleReader); ok {
		ReadState(ctx, s, d, func(ctx context.Context, p *policy.Pass) (float64, error) { return p.Angle(ctx, a) })
	}
}
