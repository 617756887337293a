// Package gpiocover drives a roller shutter, a blind or a door with a tubular motor through
// two relays on GPIO lines: one relay opens, the other closes. It uses Gobot's relay driver
// twice, on lines of package board. The driver never turns on both relays, and it turns
// both off for a pause before a change of direction.
//
// The driver estimates the position from the run time of the motor. It knows a position
// only after the cover has reached an end. Not supported: motors without limit switches,
// contacts at the ends, and doors with a single button (use gpiorelay).
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
	"github.com/messkit/messkit/internal/board"
	"github.com/messkit/messkit/internal/wait"
)

var (
	_ drivers.Opener           = (*Cover)(nil)
	_ drivers.Positioner       = (*Cover)(nil)
	_ drivers.OpeningEstimator = (*Cover)(nil)
	_ drivers.Stopper          = (*Cover)(nil)
	_ drivers.Sensor           = (*Cover)(nil)
	_ drivers.RestReader       = (*Cover)(nil)
	_ drivers.SafeReader       = (*Cover)(nil)
	_ drivers.WatchdogTarget   = (*Cover)(nil)
	_ drivers.Inspector        = (*Cover)(nil)
	_ drivers.ResourceHolder   = (*Cover)(nil)
)

// Kind returns the driver kind for drivers/all.
func Kind() drivers.Kind {
	return drivers.Kind{
		Name: "gpiocover", Class: "door", About: "roller shutter, blind or door with a motor on two relays of GPIO lines",
		Open: drivers.NewFactory(DefaultConfig, func(env drivers.Env, cfg Config) (*Cover, error) {
			return New(env.Name, cfg, board.Kernel{}), nil
		}),
		RunWatchdogCommand: func(order []byte) (bool, error) { return RunWatchdogCommand(board.Kernel{}, order) },
	}
}

// New returns a cover for a valid configuration. It does not request the lines.
func New(name string, cfg Config, chips board.Chips) *Cover {
	c := &Cover{Base: drivers.NewBase(name), cfg: cfg, chips: chips, turn: make(chan struct{}, 1)}
	c.up, c.down = newDirection(chips, cfg, cfg.Up, name), newDirection(chips, cfg, cfg.Down, name)
	return c
}

// Cover moves to a position and keeps it.
type Cover struct {
	drivers.Base
	cfg       Config
	chips     board.Chips
	up, down  *direction
	exclusive drivers.ExclusiveTask
	turn      chan struct{} // semaphore for relay commands, because Gobot's driver is not safe for concurrent use

	mu      sync.Mutex
	percent float64 // estimated position: 0 closed, 100 open
	known   bool    // whether percent is valid
	moves   bool
	last    *direction // relay that was on last; nil if unknown
	off     time.Time  // when the last relay turned off, or when Start requested the lines
}

// Connection returns the Gobot adaptor of the line that opens.
func (c *Cover) Connection() gobot.Connection { return c.up.pin }

// Start requests both lines and turns both relays off. The position is unknown after it.
func (c *Cover) Start() error {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if err := errors.Join(c.up.start(), c.down.start()); err != nil {
		return c.WithName(err)
	}
	c.mu.Lock()
	c.known, c.last, c.off = false, nil, time.Now()
	c.mu.Unlock()
	c.MarkStarted()
	return nil
}

// Halt turns both relays off. They stay off for as long as the program runs.
func (c *Cover) Halt() error {
	c.StopVerbs()
	return c.WithName(c.switchRelaysOff())
}

// Open opens the cover completely. It ignores the estimate and runs the motor for the full
// travel time; the limit switch stops the motor earlier.
func (c *Cover) Open(ctx context.Context) error { return c.OpenTo(ctx, 100) }

// Close closes the cover in the same way.
func (c *Cover) Close(ctx context.Context) error { return c.OpenTo(ctx, 0) }

// OpenTo moves the cover to a position in percent. A position between the ends needs an
// estimate, which exists only after the cover has reached an end.
func (c *Cover) OpenTo(ctx context.Context, percent float64) error {
	return c.Do(ctx, func(ctx context.Context) error {
		if !(percent >= 0 && percent <= 100) {
			return drivers.MarkNothingDone(fmt.Errorf("%v %% is not between 0 and 100", percent))
		}
		ctx, release, err := c.exclusive.Begin(ctx, "moving")
		if err != nil {
			return err
		}
		defer release()
		err = c.to(ctx, percent)
		if err != nil && drivers.IsStopped(ctx) {
			return drivers.ErrStopped
		}
		return err
	})
}

func (c *Cover) to(ctx context.Context, percent float64) error {
	if percent == 0 || percent == 100 {
		up := percent == 100
		return c.run(ctx, up, c.cfg.travel(up)+c.cfg.Overrun)
	}
	at, known := c.estimate()
	if !known {
		return drivers.MarkNothingDone(errUnknown)
	}
	up := percent > at
	way := time.Duration(math.Abs(percent-at) / 100 * float64(c.cfg.travel(up)))
	if way < leastWay {
		return nil // the cover already has this position
	}
	return c.run(ctx, up, way)
}

// leastWay is the shortest run time of the motor. In less time it hardly turns.
const leastWay = 5 * time.Millisecond

var errUnknown = errors.New("the position is unknown; open or close the cover completely first")

// run runs the motor in one direction for the duration long, or until ctx ends.
func (c *Cover) run(ctx context.Context, up bool, long time.Duration) (err error) {
	if err := c.switchRelaysOff(); err != nil { // both relays off before one turns on
		return drivers.MarkNothingDone(err)
	}
	way := c.down
	if up {
		way = c.up
	}
	if err := c.pause(ctx, way); err != nil {
		return drivers.MarkNothingDone(err)
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
	stopped := c.switchRelaysOff()
	c.reckon(up, time.Since(began), stopped == nil)
	if stopped != nil {
		return errors.Join(err, fmt.Errorf("the motor may still run: %v", stopped)) // no %w, because the motor has run: the error must not be ErrNothingDone
	}
	return err
}

// pause waits until the motor has stood still for the dead time, if the direction changes.
func (c *Cover) pause(ctx context.Context, way *direction) error {
	c.mu.Lock()
	left := c.cfg.DeadTime - time.Since(c.off)
	same := c.last == way
	c.mu.Unlock()
	if same || left <= 0 || wait.For(ctx, left) {
		return nil
	}
	return ctx.Err()
}

// begin turns one relay on if the line of the other reads back as off.
func (c *Cover) begin(ctx context.Context, way *direction) (time.Time, error) {
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if ctx.Err() != nil {
		return time.Now(), drivers.MarkNothingDone(ctx.Err())
	}
	other := c.up
	if way == c.up {
		other = c.down
	}
	switch on, err := other.on(); {
	case err != nil:
		return time.Now(), drivers.MarkNothingDone(err)
	case on:
		return time.Now(), drivers.MarkNothingDone(fmt.Errorf("%s reads back as on, and both relays must never be on; inspect the relays", other.name))
	}
	c.mu.Lock()
	c.moves, c.last = true, way
	c.mu.Unlock()
	began := time.Now()
	if err := way.relay.On(); err != nil {
		return began, fmt.Errorf("the relay may be on: %v", err) // no %w, because the motor may move
	}
	return began, nil
}

// switchRelaysOff turns both relays off. An error of the first does not prevent the second.
func (c *Cover) switchRelaysOff() error {
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

// reckon updates the estimated position after a run of the motor. stands reports whether
// the motor has stopped.
func (c *Cover) reckon(up bool, ran time.Duration, stands bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	whole := c.cfg.travel(up)
	far := 100 * float64(ran) / float64(whole)
	switch {
	case !stands:
		c.known = false
	case ran >= whole: // the cover has reached this end from any position
		c.known, c.percent = true, map[bool]float64{true: 100, false: 0}[up]
	case up:
		c.percent = min(100, c.percent+far)
	default:
		c.percent = max(0, c.percent-far)
	}
}

func (c *Cover) estimate() (percent float64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.percent, c.known
}

// Stop turns both relays off, no matter which client moved the cover.
func (c *Cover) Stop(ctx context.Context) (left string, err error) {
	return drivers.DoValue(ctx, &c.Base, func(ctx context.Context) (string, error) {
		return "", errors.Join(c.exclusive.End(ctx), c.switchRelaysOff())
	})
}

// EstimatedOpening returns the estimated position in percent.
func (c *Cover) EstimatedOpening(ctx context.Context) (float64, error) {
	return drivers.DoValue(ctx, &c.Base, func(context.Context) (float64, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case c.moves:
			return 0, errors.New("the cover is moving")
		case !c.known:
			return 0, errUnknown
		}
		return math.Round(c.percent), nil
	})
}

// Read returns the estimated position as measurements.
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
		return false, c.WithName(err)
	}
	return !up && !down, nil
}

// Safe reports whether the cover stands still, which is its safe state.
func (c *Cover) Safe(ctx context.Context) (bool, error) { return c.AtRest(ctx) }

// Inspect checks whether both lines exist and are free.
func (c *Cover) Inspect(context.Context) (string, error) {
	up, err := c.up.pin.Status()
	down, err2 := c.down.pin.Status()
	if err := errors.Join(err, err2); err != nil {
		return "", c.WithName(err)
	}
	return up + "; and " + down, nil
}

// Resources returns the two lines.
func (c *Cover) Resources() []drivers.Resource {
	var list []drivers.Resource
	for _, way := range [][2]string{{"up", c.cfg.Up}, {"down", c.cfg.Down}} {
		l := c.cfg.line(way[1])
		list = append(list, drivers.Resource{Key: way[0], Label: l.String(), Identity: l.Identity(), Location: func() string { return l.Location(c.chips) }})
	}
	return list
}
