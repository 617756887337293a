package homeassistant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
)

// coverTime is how long a cover may take from one end to the other.
const coverTime = 3 * time.Minute

func (e *entity) open(ctx context.Context) error { return e.drive(ctx, "open_cover", "open") }

func (e *entity) shut(ctx context.Context) error { return e.drive(ctx, "close_cover", "closed") }

// drive moves a cover to one end. One that may be on its way when that ends early,
// by ctx or because no answer comes, is stopped.
func (e *entity) drive(ctx context.Context, service, end string) error {
	if _, err := e.state(ctx); err != nil {
		return fmt.Errorf("%w: %w", drivers.ErrNothingDone, err)
	}
	err := e.order(ctx, service, nil)
	if err == nil {
		err = e.obeyed(ctx, coverTime, service, func(s state) bool { return s.State == end && s.ended(end) })
	}
	if err == nil || errors.Is(err, drivers.ErrNothingDone) {
		return err
	}
	return errors.Join(err, e.halt(ctx))
}

// ended reports whether a cover that tells its position is at an end; some say
// open when they have hardly begun.
func (s state) ended(end string) bool {
	p := s.Attributes.Position
	return p == nil || end == "closed" && *p <= 1 || end == "open" && *p >= 99
}

// halt stops a cover on its way, whether or not ctx has ended.
func (e *entity) halt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Timeout)
	defer cancel()
	if err := e.order(ctx, "stop_cover", nil); err != nil {
		return fmt.Errorf("it could not be stopped: %v", err) // not wrapped: it moves
	}
	return nil
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

// readCover gives how far it is open, and a contact that is made when it is
// closed.
func (e *entity) readCover(ctx context.Context) ([]drivers.Reading, error) {
	s, err := e.state(ctx)
	if err != nil {
		return nil, err
	}
	is, err := s.opening()
	if err != nil {
		return nil, err
	}
	return []drivers.Reading{
		{Quantity: "contact", Value: truth(is < 1), At: e.now()}, {Quantity: "opening", Value: is, Unit: "%", At: e.now()},
	}, nil
}
