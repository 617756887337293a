package homeassistant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/template"
)

// coverTime is the longest time of a cover from one end to the other.
const coverTime = 3 * time.Minute

func (e *entity) open(ctx context.Context) error { return e.drive(ctx, "open_cover", "open") }

func (e *entity) shut(ctx context.Context) error { return e.drive(ctx, "close_cover", "closed") }

// drive moves a cover to one end.
func (e *entity) drive(ctx context.Context, service, end string) error {
	return e.travel(ctx, service, nil, 0, func(s state) bool { return s.State == end && s.ended(end) })
}

// Features of a cover (CoverEntityFeature).
const (
	coverPosition = 4
	coverStop     = 8
)

// openTo moves a cover to a position in percent. 100 is open in Home Assistant, no matter
// which scale the device uses.
func (e *entity) openTo(ctx context.Context, percent float64) error {
	percent = math.Round(percent)
	return e.travel(ctx, "set_cover_position", map[string]any{"position": percent}, coverPosition, func(s state) bool {
		p := s.Attributes.Position
		return (s.State == "open" || s.State == "closed") && p != nil && math.Abs(*p-percent) <= drivers.OpeningTolerance
	})
}

// travel moves a cover to the position that there accepts, if the cover has the features in
// needs. If ctx or a missing answer ends the movement early, travel stops the cover.
func (e *entity) travel(ctx context.Context, service string, data map[string]any, needs int, there func(state) bool) error {
	s, err := e.state(ctx)
	if err == nil && needs != 0 && s.Attributes.Features&needs == 0 {
		err = fmt.Errorf("%s has no positions according to Home Assistant (supported_features %d); remove positions from the configuration", e.cfg.Entity, s.Attributes.Features)
	}
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	err = e.orderOf(ctx, s, service, data)
	acknowledged := err == nil
	if acknowledged {
		err = e.awaitState(ctx, coverTime, service, there)
	}
	if err == nil || errors.Is(err, drivers.ErrNothingDone) {
		return err
	}
	var stopErr error
	stop := e.web.RunLast(context.WithoutCancel(ctx), func(ctx context.Context) error { stopErr = e.stopped(ctx); return stopErr })
	if stopErr == nil && errors.Is(stop, drivers.ErrMayAct) { // the cover stands still, and may still set out
		stop, acknowledged = nil, false
	}
	return template.MovementError(err, acknowledged, stop)
}

// stopCover stops a cover, no matter which client moved it, and waits until it reports that it
// stands still.
func (e *entity) stopCover(ctx context.Context) error {
	s, err := e.state(ctx)
	if err == nil && s.Attributes.Features != 0 && s.Attributes.Features&coverStop == 0 {
		err = fmt.Errorf("%s has no stop command according to Home Assistant", e.cfg.Entity)
	}
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	return e.stopped(ctx)
}

// stopped sends a stop command, and waits until the cover reports that it stands still.
func (e *entity) stopped(ctx context.Context) error {
	if err := e.order(ctx, "stop_cover", nil); err != nil {
		return err
	}
	return e.awaitState(ctx, e.cfg.Timeout, "stop_cover", state.standsStill)
}

// ended reports whether the position of a cover is at the end. Some covers report open soon
// after they start.
func (s state) ended(end string) bool {
	p := s.Attributes.Position
	return p == nil || end == "closed" && *p <= 1 || end == "open" && *p >= 99
}

// standsStill reports whether a cover stands still.
func (s state) standsStill() bool { return s.State == "open" || s.State == "closed" }

// moves reports whether a cover moves. It returns false for an unknown state, which radio
// blinds have.
func (e *entity) moves(ctx context.Context) (bool, error) {
	s, err := e.state(ctx)
	return s.State == "opening" || s.State == "closing", err
}

// standsStill reports whether the state of the cover says that it stands still.
func (e *entity) standsStill(ctx context.Context) (bool, error) {
	s, err := e.state(ctx)
	return s.standsStill(), err
}

// opening returns the position of a cover in percent. A cover without positions is at one
// of its ends.
func (e *entity) opening(ctx context.Context) (float64, error) {
	s, err := e.state(ctx)
	if err != nil {
		return 0, err
	}
	return s.opening()
}

func (s state) opening() (float64, error) {
	p := s.Attributes.Position
	switch {
	case s.State != "open" && s.State != "closed":
		return 0, fmt.Errorf("the state of the cover is %.40s", s.State)
	case p != nil && (*p < 0 || *p > 100):
		return 0, fmt.Errorf("the cover reports a position of %g %%", *p)
	case p != nil:
		return *p, nil
	case s.State == "open":
		return 100, nil
	}
	return 0, nil
}

// readCover returns the contact of the closed position, and the position in percent if the
// cover reports it.
func (e *entity) readCover(ctx context.Context) ([]drivers.Reading, error) {
	s, err := e.state(ctx)
	if err != nil {
		return nil, err
	}
	is, err := s.opening()
	if err != nil {
		return nil, err
	}
	return template.Openings(template.CoverPosition{Percent: is, Known: true, End: s.Attributes.Position == nil}, e.now())
}
