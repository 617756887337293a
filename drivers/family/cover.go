package family

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

// Cover is what opens and closes.
type Cover struct {
	Open, Shut func(context.Context) error
	Opening    func(context.Context) (float64, error) // in percent
	// To takes it part of the way, in percent; nil: it knows no way but to its ends.
	To func(ctx context.Context, percent float64) error
	// Stop has it stand, whoever has set it moving, and returns when it says that it
	// does; nil: nothing can.
	Stop func(context.Context) error
	// Moves reports whether it says that it is on its way, and Stands whether it is not:
	// some say nothing of that.
	Moves, Stands func(context.Context) (bool, error)
}

// NewCover is one that goes to its ends by open and shut, and by to, unless that is
// nil, to a place in percent.
func NewCover(open, shut Travel, to func(percent float64) Travel) *Cover {
	c := &Cover{
		Open: open.Do, Shut: shut.Do, Stop: open.Stand, Stands: open.stands,
		Opening: func(ctx context.Context) (float64, error) {
			p, err := open.Look(ctx)
			if err != nil {
				return 0, err
			}
			return Opening(p)
		},
	}
	c.Moves = func(ctx context.Context) (bool, error) {
		p, err := open.Look(ctx)
		return p.Moves, err
	}
	if to != nil {
		c.To = func(ctx context.Context, percent float64) error { return to(percent).Do(ctx) }
	}
	return c
}

// Place is where a cover is, as its device tells.
type Place struct {
	Percent float64 // open
	Known   bool    // Percent is
	End     bool    // a word says that it is closed, or not: Percent is 0, or 100 for wherever else
	Moves   bool
}

// Report is how a family tells of a cover in a word, where it does.
type Report struct {
	Moving []string `yaml:"moving"` // words while it moves
	Open   []string `yaml:"open"`   // words for wholly open, where it tells no position
	Closed []string `yaml:"closed"` // ... and closed
}

// Scale is how a family counts positions.
type Scale struct {
	Closed string `yaml:"closed"` // what closed is: 0, or 100 where it counts the other way; may hold {names}
}

func (s Scale) reversed(v Values) bool { return v.Text(s.Closed) == "100" }

// Percent is a position of the family as how far it is open; ok is false for what
// is none: a device that is not calibrated says -1, 101 or nothing.
func (s Scale) Percent(v Values, found any) (percent float64, ok bool) {
	n, number := Number(found)
	if !number || n < 0 || n > 100 {
		return 0, false
	}
	if s.reversed(v) {
		return 100 - n, true
	}
	return n, true
}

// Word is {position} for how far it shall be open.
func (s Scale) Word(v Values, percent float64) string {
	percent = math.Round(percent)
	if s.reversed(v) {
		percent = 100 - percent
	}
	return strconv.FormatFloat(percent, 'f', -1, 64)
}

// Add takes what a word says into a place.
func (r Report) Add(p *Place, word string) {
	p.Moves = slices.Contains(r.Moving, word)
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

// Travel is one way of a cover.
type Travel struct {
	Go   func(context.Context) error          // sets it moving
	Look func(context.Context) (Place, error) // where it is now, told anew
	Stop func(context.Context) error          // nil: nothing can stop it
	To   float64                              // percent
	// Limit is how long it may take; Every is the time between two looks.
	Limit, Every, Timeout time.Duration
}

// looks is how often in a row a cover has to tell the same place, without moving,
// before it is taken to stand there. Some tell where they are to go as if they were
// there, until they are asked again.
const looks = 2

// setsOut is how many looks a cover may take to begin to move.
const setsOut = 5

// Do moves a cover, and returns when it stands where it was told to. One that may
// be on its way when that ends early is stopped.
func (t Travel) Do(ctx context.Context) error {
	p, err := t.Look(ctx)
	if err == nil && !p.Known && !p.Moves && t.To > 0 && t.To < 100 {
		_, err = Opening(p)
	}
	if err != nil {
		return drivers.NotDone(err)
	}
	err = t.Go(ctx)
	heard := err == nil
	if heard {
		err = t.arrive(ctx, p)
	}
	if err == nil || errors.Is(err, drivers.ErrNothingDone) || errors.Is(err, errStands) {
		return err
	}
	return Cut(err, heard, t.brake(ctx))
}

// Cut is the error of a way that has ended early with err. heard is whether the cover has
// said that it was told to go, and stop why it could not be stopped after that.
func Cut(err error, heard bool, stop error) error {
	switch {
	case stop != nil:
		return fmt.Errorf("%w; %w: it could not be stopped: %v", err, drivers.ErrMayAct, stop) // not wrapped: it moves
	case !heard: // it may hear after it was told to stop
		return fmt.Errorf("%w; %w", err, drivers.ErrMayAct)
	}
	return err
}

// errStands is one that stands elsewhere.
var errStands = errors.New("it stands")

// arrive returns when it stands, which it did at from before.
func (t Travel) arrive(ctx context.Context, from Place) error {
	within, cancel := context.WithTimeout(ctx, t.Limit)
	defer cancel()
	tick := time.NewTicker(t.Every)
	defer tick.Stop()
	var last Place
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
			return fmt.Errorf("it is not there after %v", t.Limit)
		case err != nil:
			return fmt.Errorf("it was told, and does not say where it is: %v", err) // not wrapped: it may move
		case p.Moves:
			there, still = 0, 0
		case p.Known && math.Abs(p.Percent-t.To) <= drivers.OpeningWithin:
			if still = 0; p != last {
				there = 0 // it may move yet
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
			return fmt.Errorf("%w, and nobody knows where: %v", errStands, err)
		}
		if still >= setsOut && p == from {
			return fmt.Errorf("%w at %.0f %%; %w; is something in its way, or is it locked", errStands, p.Percent, drivers.ErrUnmoved)
		}
		if still >= setsOut {
			return fmt.Errorf("%w at %.0f %%; is something in its way, or is it locked", errStands, p.Percent)
		}
	}
}

// brake stops a cover, whether or not ctx has ended, and returns when it stands.
func (t Travel) brake(ctx context.Context) error {
	if t.Stop == nil {
		return errors.New("nothing can stop it on its way")
	}
	return t.Stand(context.WithoutCancel(ctx))
}

// Stand stops a cover, and returns when it says that it stands. It is told again while
// it moves.
func (t Travel) Stand(ctx context.Context) error {
	if err := t.Stop(ctx); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	tick := time.NewTicker(t.Every)
	defer tick.Stop()
	var last Place
	var unseen error // why it was not seen at the last look
	for n := 0; ; n++ {
		p, err := t.Look(within)
		if within.Err() == nil {
			unseen = err
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && n > 0 && !p.Moves && p == last:
			return nil
		case err == nil && n > 0 && p.Moves && within.Err() == nil:
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
			return fmt.Errorf("it was told to stop, and does not say where it is: %v", unseen) // not wrapped: it may move
		}
		return fmt.Errorf("it was told to stop, and still moves after %v; go there", t.Timeout)
	}
}

// stands looks twice whether it is at the same place, and does not move.
func (t Travel) stands(ctx context.Context) (bool, error) {
	was, err := t.Look(ctx)
	if err != nil || was.Moves {
		return false, err
	}
	if !wait.For(ctx, t.Every) {
		return false, ctx.Err()
	}
	is, err := t.Look(ctx)
	return err == nil && is == was, err
}

// Opening is how far open it is; what moves has none.
func Opening(p Place) (float64, error) {
	switch {
	case p.Moves:
		return 0, errors.New("it moves")
	case !p.Known:
		return 0, errors.New("it does not tell its position; calibrate it, or open or close it all the way")
	}
	return p.Percent, nil
}

// Openings are a contact that is made when it is closed, and how far it is open, where
// it tells that.
func Openings(p Place, at time.Time) ([]drivers.Reading, error) {
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
