package stop

import (
	"context"
	"reflect"
	"time"

	"github.com/messkit/messkit/internal/wait"
)

// reportDelay is how long a report waits for more changes.
const reportDelay = 20 * time.Millisecond

// report writes the results of a stop to the folder until ctx ends.
func (s *Latch) report(ctx context.Context) {
	var last Report
	for ctx.Err() == nil {
		_, devices := s.policy.Watch()
		orders, _, changed := s.Watch()
		if r := s.reportOf(orders); len(orders) > 0 && !reflect.DeepEqual(r, last) {
			if err := writeReport(s.cfg.Dir, r); err != nil {
				s.log.Error("cannot write the report of the stop", "err", err)
			}
			last = r
		}
		select {
		case <-ctx.Done():
		case <-devices:
		case <-changed:
		}
		wait.For(ctx, reportDelay)
	}
}

func (s *Latch) reportOf(orders []Order) Report {
	r := Report{Devices: s.cfg.Devices()}
	for _, o := range orders {
		r.Orders = append(r.Orders, o.ID)
	}
	return r
}
