package homeassistant

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/family"
)

// coverTime is how long a cover may take from one end to the other.
const coverTime = 3 * time.Minute

func (e *entity) open(ctx context.Context) error { return e.drive(ctx, "open_cover", "open") }

func (e *entity) shut(ctx context.Context) error { return e.drive(ctx, "close_cover", "closed") }

// drive moves a cover to one end.
func (e *entity) drive(ctx context.Context, service, end string) error {
	return e.travel(ctx, service, nil, 0, func(s state) bool { return s.State == end && s.ended(end) })
}

// What a cover can, in its supported_features (CoverEntityFeature).
const (
	coverPosition = 4
	coverStop     = 8
)

// openTo moves a cover part of the way, in percent: Home Assistant's 100 is open,
// however its device counts.
func (e *entity) openTo(ctx context.Context, percent float64) error {
	percent = math.Round(percent)
	return e.travel(ctx, "set_cover_position", map[string]any{"position": percent}, coverPosition, func(s state) bool {
		p := s.Attributes.Position
		return (s.State == "open" || s.State == "closed") && p != nil && math.Abs(*p-percent) <= drivers.OpeningWithin
	})
}

// travel has a cover move, if it can what that needs, until it is there. One that may
// be on its way when that ends early, by ctx or because no answer comes, is stopped.
func (e *entity) travel(ctx context.Context, service string, data map[string]any, needs int, there func(state) bool) error {
	s, err := e.state(ctx)
	if err == nil && needs != 0 && s.Attributes.Features&needs == 0 {
		err = fmt.Errorf("%s cannot go part of the way, says Home Assistant (supported_features %d); leave out positions", e.cfg.Entity, s.Attributes.Features)
	}
	if err != nil {
		return drivers.NotDone(err)
	}
	err = e.orderOf(ctx, s, service, data)
	heard := err == nil
	if heard {
		err = e.obeyed(ctx, coverTime, service, there)
	}
	if err == nil || errors.Is(err, drivers.ErrNothingDone) {
		return err
	}
	var told error
	stop := e.web.Last(context.WithoutCancel(ctx), func(ctx context.Context) error { told = e.stopped(ctx); return told })
	if told == nil && errors.Is(stop, drivers.ErrMayAct) { // it stands, and may set out yet
		stop, heard = nil, false
	}
	return family.Cut(err, heard, stop)
}

// stand stops a cover, whoever has set it moving, and waits until it says that it
// stands.
func (e *entity) stand(ctx context.Context) error {
	s, err := e.state(ctx)
	if err == nil && s.Attributes.Features != 0 && s.Attributes.Features&coverStop == 0 {
		err = fmt.Errorf("%s cannot be stopped on its way, says Home Assistant", e.cfg.Entity)
	}
	if err != nil {
		return drivers.NotDone(err)
	}
	return e.stopped(ctx)
}

// stopped tells a cover to stop, and waits until it says that it stands.
func (e *entity) stopped(ctx context.Context) error {
	if err := e.order(ctx, "stop_cover", nil); err != nil {
		return err
	}
	return e.obeyed(ctx, e.cfg.Timeout, "stop_cover", state.stands)
}

// ended reports whether a cover that tells its position is at an end; some say
// open when they have hardly begun.
func (s state) ended(end string) bool {
	p := s.Attributes.Position
	return p == nil || end == "closed" && *p <= 1 || end == "open" && *p >= 99
}

// stands reports whether a cover is not on its way.
func (s state) stands() bool { return s.State == "open" || s.State == "closed" }

// moves reports whether a cover is on its way. One whose state is unknown, as that of
// a blind by radio, does not say so.
func (e *entity) moves(ctx context.Context) (bool, error) {
	s, err := e.state(ctx)
	return s.State == "opening" || s.State == "closing", err
}

// stands reports whether it says that it is not on its way.
func (e *entity) stands(ctx context.Context) (bool, error) {
	s, err := e.state(ctx)
	return s.stands(), err
}

// opening is how far a cover is open; without a position it is at an end.
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
		return 0, fmt.Errorf("it is %.40s", s.State)
	case p != nil && (*p < 0 || *p > 100):
		return 0, fmt.Errorf("it says that it is %g %% open", *p)
	case p != nil:
		return *p, nil
	case s.State == "open":
		return 100, nil
	}
	return 0, nil
}

// readCover gives a contact that is made when it is closed, and how far it is open,
// where it tells that.
func (e *entity) readCover(ctx context.Context) ([]drivers.Reading, error) {
	s, err := e.state(ctx)
	if err != nil {
		return nil, err
	}
	is, err := s.opening()
	if err != nil {
		return nil, err
	}
	return family.Openings(family.Place{Percent: is, Known: true, End: s.Attributes.Position == nil}, e.now())
}
