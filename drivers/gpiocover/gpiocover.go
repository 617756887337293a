// Package gpiocover drives a roller shutter, a blind or a door with a tubular motor
// by two relays on GPIO lines: one opens, one closes. It is Gobot's relay driver, twice,
// on lines of package board. Never are both on, and between two directions both are
// off for a while.
//
// Where it stands is reckoned from the time that the motor ran, and known only after
// an end was reached. Not supported: motors without limit switches, contacts at the
// ends, and doors with a single button (gpiorelay presses that).
package gpiocover

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"gobot.io/x/gobot/v2"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/board"
)

var (
	_ drivers.Opener           = (*Cover)(nil)
	_ drivers.Positioner       = (*Cover)(nil)
	_ drivers.OpeningEstimator = (*Cover)(nil)
	_ drivers.Stopper          = (*Cover)(nil)
	_ drivers.Sensor           = (*Cover)(nil)
	_ drivers.RestReader       = (*Cover)(nil)
	_ drivers.SafeReader       = (*Cover)(nil)
	_ drivers.Guarded          = (*Cover)(nil)
	_ drivers.Inspector        = (*Cover)(nil)
	_ drivers.Holder           = (*Cover)(nil)
)

// Kind is the kind of driver for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{
		Name: "gpiocover", Class: "door", About: "roller shutter, blind or door with a motor on two relays of GPIO lines", Open: Open,
		Obey: func(order []byte) (bool, error) { return Obey(board.Kernel{}, order) },
	}
}

// Open is the drivers.Factory of this package. It touches no line.
func Open(env drivers.Env, decode func(any) error) (drivers.Device, error) {
	cfg := DefaultConfig()
	if err := decode(&cfg); err != nil {
		return nil, err
	}
	return New(env.Name, cfg, board.Kernel{}), nil
}

// New makes a cover of a valid configuration.
func New(name string, cfg Config, chips board.Chips) *Cover {
	c := &Cover{Life: drivers.NewLife(name), cfg: cfg, chips: chips, turn: make(chan struct{}, 1)}
	c.up, c.down = newDirection(chips, cfg, cfg.Up, name), newDirection(chips, cfg, cfg.Down, name)
	return c
}

// Cover opens and closes, and stands wherever it was stopped.
type Cover struct {
	drivers.Life
	cfg      Config
	chips    board.Chips
	up, down *direction
	errand   drivers.Errand
	turn     chan struct{} // held while a relay is switched: Gobot's driver is not made for two at once

	mu      sync.Mutex
	percent float64 // open, as reckoned
	known   bool    // percent is
	moves   bool
	last    *direction // that was on last; nil: nobody knows
	off     time.Time  // when it went off, or when the lines were taken
}

// Connection is the Gobot adaptor below the first of the two relays.
func (c *Cover) Connection() gobot.Connection { return c.up.pin }

// Start takes both lines, off. Where it stands, nobody knows.
func (c *Cover) Start() error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if err := errors.Join(c.up.start(), c.down.start()); err != nil {
		return c.Named(err)
	}
	c.mu.Lock()
	c.known, c.last, c.off = false, nil, time.Now()
	c.mu.Unlock()
	c.Opened()
	return nil
}

// Halt switches both off, and keeps them so for as long as the program runs.
func (c *Cover) Halt() error {
	c.Closed()
	return c.Named(c.rest())
}

// Open opens it all the way, whatever was reckoned: it runs for the whole time, and
// its limit switch stops it earlier.
func (c *Cover) Open(ctx context.Context) error { return c.OpenTo(ctx, 100) }

// Shut closes it in the same way.
func (c *Cover) Shut(ctx context.Context) error { return c.OpenTo(ctx, 0) }

// OpenTo takes it so far. Between its ends that can be reckoned only from an end.
func (c *Cover) OpenTo(ctx context.Context, percent float64) error {
	_, err := drivers.During(ctx, &c.Life, func(ctx context.Context) (struct{}, error) {
		if !(percent >= 0 && percent <= 100) {
			return struct{}{}, drivers.NotDone(fmt.Errorf("%v %% is not between 0 and 100", percent))
		}
		ctx, release, err := c.errand.Take(ctx, "moving")
		if err != nil {
			return struct{}{}, err
		}
		defer release()
		err = c.to(ctx, percent)
		if err != nil && drivers.Stopped(ctx) {
			return struct{}{}, drivers.ErrStopped
		}
		return struct{}{}, err
	})
	return err
}

func (c *Cover) to(ctx context.Context, percent float64) error {
	if percent == 0 || percent == 100 {
		up := percent == 100
		return c.run(ctx, up, c.cfg.travel(up)+c.cfg.Overrun)
	}
	at, known := c.place()
	if !known {
		return drivers.NotDone(errUnknown)
	}
	up := percent > at
	way := time.Duration(math.Abs(percent-at) / 100 * float64(c.cfg.travel(up)))
	if way < leastWay {
		return nil // it is there
	}
	return c.run(ctx, up, way)
}

// leastWay is the shortest time that a motor is switched on for: in less it hardly
// turns.
const leastWay = 5 * time.Millisecond

var errUnknown = errors.New("nobody knows where it stands until it was opened or closed all the way; do that first")

// run has the motor run in one direction, for as long as is said or until ctx ends.
func (c *Cover) run(ctx context.Context, up bool, long time.Duration) (err error) {
	if err := c.rest(); err != nil { // of both, before one
		return drivers.NotDone(err)
	}
	way := c.down
	if up {
		way = c.up
	}
	if err := c.pause(ctx, way); err != nil {
		return drivers.NotDone(err)
	}
	t := time.NewTimer(long)
	defer t.Stop()
	began, err := c.begin(ctx, way)
	if err == nil {
		select {
		case <-t.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	stopped := c.rest()
	c.reckon(up, time.Since(began), stopped == nil)
	if stopped != nil {
		return errors.Join(err, fmt.Errorf("its motor may run: %v", stopped)) // not wrapped: something was done
	}
	return err
}

// pause waits until the motor has stood still for long enough to be turned round.
func (c *Cover) pause(ctx context.Context, way *direction) error {
	c.mu.Lock()
	left := c.cfg.DeadTime - time.Since(c.off)
	same := c.last == way
	c.mu.Unlock()
	if same || left <= 0 {
		return nil
	}
	t := time.NewTimer(left)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin switches one relay on, if the other is off: that is read back from its line.
func (c *Cover) begin(ctx context.Context, way *direction) (time.Time, error) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if ctx.Err() != nil {
		return time.Now(), drivers.NotDone(ctx.Err())
	}
	other := c.up
	if way == c.up {
		other = c.down
	}
	switch on, err := other.on(); {
	case err != nil:
		return time.Now(), drivers.NotDone(err)
	case on:
		return time.Now(), drivers.NotDone(fmt.Errorf("%s reads back as on, and never are both; look at the relays", other.name))
	}
	c.mu.Lock()
	c.moves, c.last = true, way
	c.mu.Unlock()
	began := time.Now()
	if err := way.relay.On(); err != nil {
		return began, fmt.Errorf("it may have been switched on: %v", err) // not wrapped: it may move
	}
	return began, nil
}

// rest switches both relays off, the second whatever became of the first.
func (c *Cover) rest() error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if err := errors.Join(c.up.relay.Off(), c.down.relay.Off()); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.moves {
		c.moves, c.off = false, time.Now()
	}
	return nil
}

// reckon notes where it stands after the motor ran for a time.
func (c *Cover) reckon(up bool, ran time.Duration, stands bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole := c.cfg.travel(up)
	far := 100 * float64(ran) / float64(whole)
	switch {
	case !stands:
		c.known = false
	case ran >= whole: // from wherever it stood
		c.known, c.percent = true, map[bool]float64{true: 100, false: 0}[up]
	case up:
		c.percent = min(100, c.percent+far)
	default:
		c.percent = max(0, c.percent-far)
	}
}

func (c *Cover) place() (percent float64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.percent, c.known
}

// Stop switches both relays off, whoever has set it moving.
func (c *Cover) Stop(ctx context.Context) (left string, err error) {
	return drivers.During(ctx, &c.Life, func(ctx context.Context) (string, error) {
		return "", errors.Join(c.errand.End(ctx), c.rest())
	})
}

// EstimatedOpening is how far open it is, as reckoned from the time that its motor
// ran.
func (c *Cover) EstimatedOpening(ctx context.Context) (float64, error) {
	return drivers.During(ctx, &c.Life, func(context.Context) (float64, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case c.moves:
			return 0, errors.New("it moves")
		case !c.known:
			return 0, errUnknown
		}
		return math.Round(c.percent), nil
	})
}

// Read tells the same as measurements that are estimated.
func (c *Cover) Read(ctx context.Context) ([]drivers.Reading, error) {
	is, err := c.EstimatedOpening(ctx)
	if err != nil {
		return nil, err
	}
	closed := 0.0
	if is < 1 {
		closed = 1
	}
	at := time.Now()
	return []drivers.Reading{
		{Quantity: "contact", Value: closed, At: at, Estimated: true}, {Quantity: "opening", Value: is, Unit: "%", At: at, Estimated: true},
	}, nil
}

// AtRest reads both lines back.
func (c *Cover) AtRest(context.Context) (bool, error) {
	up, err := c.up.on()
	down, err2 := c.down.on()
	if err := errors.Join(err, err2); err != nil {
		return false, c.Named(err)
	}
	return !up && !down, nil
}

// Safe is to stand still.
func (c *Cover) Safe(ctx context.Context) (bool, error) { return c.AtRest(ctx) }

// Inspect looks whether both lines are there and free.
func (c *Cover) Inspect(context.Context) (string, error) {
	up, err := c.up.pin.Look()
	down, err2 := c.down.pin.Look()
	if err := errors.Join(err, err2); err != nil {
		return "", c.Named(err)
	}
	return up + ", and so " + down, nil
}

// Holds are its two lines.
func (c *Cover) Holds() []drivers.Hold {
	var list []drivers.Hold
	for _, way := range [][2]string{{"up", c.cfg.Up}, {"down", c.cfg.Down}} {
		l := c.cfg.line(way[1])
		list = append(list, drivers.Hold{Key: way[0], What: l.String(), Same: l.Same(), Place: func() string { return l.Found(c.chips) }})
	}
	return list
}
