package template

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/wait"
)

// Cover contains the functions of a cover.
type Cover struct {
	Open, Close func(context.Context) error
	Opening     func(context.Context) (float64, error) // position in percent
	// To moves the cover to a position in percent. It is nil if the cover knows only its
	// two ends.
	To func(ctx context.Context, percent float64) error
	// Stop stops the cover, no matter which client moved it, and returns when the cover
	// reports that it stands still. It is nil if the cover cannot stop.
	Stop func(context.Context) error
	// IsMoving reports whether the device says that it moves. IsAtRest reports whether it stands
	// still; some devices do not report movement, so Stands compares positions.
	IsMoving, IsAtRest func(context.Context) (bool, error)

	look func(context.Context) (CoverPosition, error)
}

// NewCover returns a cover that moves to its ends by open and shut, and to a position in
// percent by to. to may be nil.
func NewCover(open, shut Movement, to func(percent float64) Movement) *Cover {
	c := &Cover{
		Open: open.Do, Close: shut.Do, Stop: open.StopAndWait, IsAtRest: open.isAtRest, look: open.Look,
		Opening: func(ctx context.Context) (float64, error) {
			p, err := open.Look(ctx)
			if err != nil {
				return 0, err
			}
			return Opening(p)
		},
	}
	c.IsMoving = func(ctx context.Context) (bool, error) {
		p, err := open.Look(ctx)
		return p.Moving, err
	}
	if to != nil {
		c.To = func(ctx context.Context, percent float64) error { return to(percent).Do(ctx) }
	}
	return c
}

// CoverPosition is the position that the device of a cover reports.
type CoverPosition struct {
	Percent float64 // 0 closed, 100 open
	Known   bool    // whether Percent is valid
	End     bool    // the device reports only a word for closed or open: Percent is 0, or 100 for any other position
	Moving  bool
}

// StateWords describes the words of a template for the state of a cover.
type StateWords struct {
	Moving []string `yaml:"moving"` // words for a moving cover
	Open   []string `yaml:"open"`   // words for a fully open cover, if it reports no position
	Closed []string `yaml:"closed"` // words for a closed cover
}

// PositionScale describes the position scale of a template.
type PositionScale struct {
	Closed string `yaml:"closed"` // position for closed: 0, or 100 for a reversed scale; may contain {names}
}

func (s PositionScale) reversed(v Values) bool { return v.Text(s.Closed) == "100" }

// Percent converts a position of the template to percent open. ok is false for an invalid
// position: an uncalibrated device reports -1, 101 or nothing.
func (s PositionScale) Percent(v Values, found any) (percent float64, ok bool) {
	n, number := Number(found)
	if !number || n < 0 || n > 100 {
		return 0, false
	}
	if s.reversed(v) {
		return 100 - n, true
	}
	return n, true
}

// Word returns the {position} for a position in percent open.
func (s PositionScale) Word(v Values, percent float64) string {
	percent = math.Round(percent)
	if s.reversed(v) {
		percent = 100 - percent
	}
	return strconv.FormatFloat(percent, 'f', -1, 64)
}

// Add adds the state in word to p.
func (r StateWords) Add(p *CoverPosition, word string) {
	p.Moving = slices.Contains(r.Moving, word)
	if p.Known {
		return
	}
	switch {
	case slices.Contains(r.Open, word):
		p.Percent, p.Known, p.End = 100, true, true
	case slices.Contains(r.Closed, word):
		p.Percent, p.Known, p.End = 0, true, true
	}
}

// Movement describes one movement of a cover.
type Movement struct {
	Go   func(context.Context) error                  // starts the movement
	Look func(context.Context) (CoverPosition, error) // reads the present position from the device
	Stop func(context.Context) error                  // nil if the cover cannot stop
	To   float64                                      // target in percent
	// Limit is the longest duration of the movement. Every is the poll interval. Timeout
	// limits the time until a stopped cover stands still.
	Limit, Every, Timeout time.Duration
}

// looks is how many successive readings must agree before the position counts as reached.
// Some devices report the target as the position until the next request.
const looks = 2

// setsOut is how many readings a cover may need until it begins to move.
const setsOut = 5

// Do moves the cover and returns when it has reached its target. If the movement fails
// early and the cover may still move, Do stops it.
func (t Movement) Do(ctx context.Context) error {
	p, err := t.Look(ctx)
	if err == nil && !p.Known && !p.Moving && t.To > 0 && t.To < 100 {
		_, err = Opening(p)
	}
	if err != nil {
		return drivers.MarkNothingDone(err)
	}
	err = t.Go(ctx)
	acknowledged := err == nil
	if acknowledged {
		err = t.arrive(ctx, p)
	}
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || errors.Is(err, errStands) {
		return err
	}
	return MovementError(err, acknowledged, t.brake(ctx))
}

// MovementError returns the error of a movement that failed with err. acknowledged reports whether
// the cover has acknowledged the command; stop is the error of the stop command after that,
// or nil.
func MovementError(err error, acknowledged bool, stop error) error {
	switch {
	case stop != nil:
		return fmt.Errorf("%w; %w: it does not stop: %v", err, drivers.ErrMayAct, stop) // stop without %w, because the cover moves: the error must not be ErrNothingDone
	case !acknowledged: // the cover may receive the command after the stop
		return fmt.Errorf("%w; %w", err, drivers.ErrMayAct)
	}
	return err
}

// errStands reports that the cover stands still outside of its target.
var errStands = errors.New("the cover stands still")

// arrive waits until the cover has reached its target. from is its position before the
// command.
func (t Movement) arrive(ctx context.Context, from CoverPosition) error {
	within, cancel := context.WithTimeout(ctx, t.Limit)
	defer cancel()
	tick := time.NewTicker(t.Every)
	defer tick.Stop()
	var last CoverPosition
	there, still := 0, 0
	for {
		select {
		case <-tick.C:
		case <-within.Done():
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p, err := t.Look(within)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case within.Err() != nil:
			return fmt.Errorf("the cover has not reached its target after %v", t.Limit)
		case err != nil:
			return fmt.Errorf("the cover has the command, and does not report its position: %v", err) // no %w, because the cover may move
		case p.Moving:
			there, still = 0, 0
		case p.Known && math.Abs(p.Percent-t.To) <= drivers.OpeningTolerance:
			if still = 0; p != last {
				there = 0 // the cover may still move
			}
			there++
		case p == last:
			there, still = 0, still+1
		default:
			there, still = 0, 0
		}
		if last = p; there >= looks {
			return nil
		}
		if still >= setsOut && !p.Known {
			_, err := Opening(p)
			return fmt.Errorf("%w at an unknown position: %v", errStands, err)
		}
		if still >= setsOut && p == from {
			return fmt.Errorf("%w at %.0f %%; %w; check for an obstacle or a lock", errStands, p.Percent, drivers.ErrNotMoved)
		}
		if still >= setsOut {
			return fmt.Errorf("%w at %.0f %%; check for an obstacle or a lock", errStands, p.Percent)
		}
	}
}

// brake stops the cover, even if ctx has ended, and returns when the cover stands still.
func (t Movement) brake(ctx context.Context) error {
	if t.Stop == nil {
		return errors.New("the cover has no stop command")
	}
	return t.StopAndWait(context.WithoutCancel(ctx))
}

// StopAndWait stops the cover and returns when the cover reports that it stands still. It
// repeats the command while the cover moves.
func (t Movement) StopAndWait(ctx context.Context) error {
	if err := t.Stop(ctx); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	tick := time.NewTicker(t.Every)
	defer tick.Stop()
	var last CoverPosition
	var unseen error // error of the last reading
	for n := 0; ; n++ {
		p, err := t.Look(within)
		if within.Err() == nil {
			unseen = err
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && n > 0 && !p.Moving && p == last:
			return nil
		case err == nil && n > 0 && p.Moving && within.Err() == nil:
			if err := t.Stop(within); err != nil && within.Err() == nil {
				return err
			}
		}
		last = p
		select {
		case <-tick.C:
			continue
		case <-within.Done():
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case unseen != nil:
			return fmt.Errorf("the cover has the stop command, and does not report its position: %v", unseen) // no %w, because the cover may move
		}
		return fmt.Errorf("the cover has the stop command, and still moves after %v; inspect it", t.Timeout)
	}
}

// isAtRest reads the position twice and reports whether it is the same and the cover does not
// move.
func (t Movement) isAtRest(ctx context.Context) (bool, error) {
	was, err := t.Look(ctx)
	if err != nil || was.Moving {
		return false, err
	}
	if !wait.For(ctx, t.Every) {
		return false, ctx.Err()
	}
	is, err := t.Look(ctx)
	return err == nil && is == was, err
}

// Readings returns a function that reads the contact and the position of the cover.
func (c *Cover) Readings(now func() time.Time) func(context.Context) ([]drivers.Reading, error) {
	return func(ctx context.Context) ([]drivers.Reading, error) {
		p, err := c.look(ctx)
		if err != nil {
			return nil, err
		}
		return Openings(p, now())
	}
}

// Opening returns the position in percent. It returns an error while the cover moves, or if
// the position is unknown.
func Opening(p CoverPosition) (float64, error) {
	switch {
	case p.Moving:
		return 0, errors.New("the cover is moving")
	case !p.Known:
		return 0, errors.New("the device does not report its position; calibrate it, or open or close it completely")
	}
	return p.Percent, nil
}

// Openings returns the contact of the closed position, and the position in percent if the
// device reports it.
func Openings(p CoverPosition, at time.Time) ([]drivers.Reading, error) {
	percent, err := Opening(p)
	if err != nil {
		return nil, err
	}
	contact := drivers.Reading{Quantity: "contact", At: at}
	if percent < 1 {
		contact.Value = 1
	}
	if p.End {
		return []drivers.Reading{contact}, nil
	}
	return []drivers.Reading{contact, {Quantity: "opening", Value: percent, Unit: "%", At: at}}, nil
}
