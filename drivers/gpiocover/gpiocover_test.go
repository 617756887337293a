package gpiocover_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/gpiocover"
	"github.com/messkit/messkit/internal/board"
	"github.com/messkit/messkit/internal/board/boardtest"
)

const (
	chip     = "gpiochip0"
	up, down = 17, 27
)

func config() gpiocover.Config {
	c := gpiocover.DefaultConfig()
	c.Up, c.Down, c.TravelTime = "GPIO17", "GPIO27", 20*time.Second
	return c
}

// blind simulates a motor with limit switches on two relays. It records its real position,
// whether both relays were ever on, and the shortest pause between two directions.
type blind struct {
	*boardtest.Chips
	full   time.Duration // travel time
	mu     sync.Mutex
	at     float64 // 0..1 open
	on     [2]bool // up, down
	since  time.Time
	was    int // last relay that was on: 0 none, 1 up, 2 down
	off    time.Time
	rest   time.Duration // shortest pause between two directions
	both   bool
	starts int
}

func newBlind(at float64) *blind {
	return &blind{Chips: boardtest.Pi(), at: at, full: 20 * time.Second, rest: time.Hour}
}

func (b *blind) Request(chip string, offset int, r board.Request) (board.RequestedLine, error) {
	h, err := b.Chips.Request(chip, offset, r)
	if err != nil {
		return nil, err
	}
	b.driven(offset, r.Start == board.On)
	return &relay{h, b, offset}, nil
}

type relay struct {
	board.RequestedLine
	b      *blind
	offset int
}

func (r *relay) Set(on bool) error {
	err := r.RequestedLine.Set(on)
	if err == nil {
		r.b.driven(r.offset, on)
	}
	return err
}

// driven moves the blind by the run time since the last change.
func (b *blind) driven(offset int, on bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	i := 0
	if offset == down {
		i = 1
	}
	if on && !b.on[i] {
		if b.starts++; b.was != 0 && b.was != i+1 {
			b.rest = min(b.rest, time.Since(b.off))
		}
		b.was = i + 1
	}
	if !on && b.on[i] {
		b.off = time.Now()
	}
	b.on[i] = on
	b.both = b.both || b.on[0] && b.on[1]
}

func (b *blind) settle() {
	way := float64(time.Since(b.since)) / float64(b.full)
	switch {
	case b.on[0]:
		b.at = min(1, b.at+way)
	case b.on[1]:
		b.at = max(0, b.at-way)
	}
	b.since = time.Now()
}

func (b *blind) is() (percent float64, still bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
	return 100 * b.at, !b.on[0] && !b.on[1]
}

// moving runs a test in fake time with a started cover.
func moving(t *testing.T, at float64, story func(t *testing.T, c *gpiocover.Cover, b *blind)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBlind(at)
		c := gpiocover.New("blind", config(), b)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		story(t, c, b)
		if err := c.Halt(); err != nil {
			t.Error(err)
		}
		if _, still := b.is(); !still || b.both || b.rest < 500*time.Millisecond {
			t.Errorf("at rest: %t, both relays were on: %t, reversed after %v", still, b.both, b.rest)
		}
	})
}

func TestSuite(t *testing.T) {
	for _, low := range []bool{false, true} {
		t.Run(fmt.Sprintf("active low %t", low), func(t *testing.T) {
			cfg := config()
			cfg.TravelTime, cfg.Overrun, cfg.DeadTime, cfg.ActiveLow = 40*time.Millisecond, time.Millisecond, time.Millisecond, low
			var b *blind
			on := func() bool { return b.Level(chip, up) != low || b.Level(chip, down) != low }
			drivertest.Run(t, func(*testing.T) drivers.Device {
				b = newBlind(0.5)
				return gpiocover.New("blind", cfg, b)
			},
				drivertest.Safe(func() error {
					if on() || b.both {
						return fmt.Errorf("a relay is on, or both were: %t", b.both)
					}
					return nil
				}),
				drivertest.Acts(func() int { b.mu.Lock(); defer b.mu.Unlock(); return b.starts }),
				drivertest.Level(on),
				drivertest.Force(func(on bool) { b.Pull(chip, up, on != low) }),
				drivertest.RunWatchdogCommand(func(order []byte) (bool, error) { return gpiocover.RunWatchdogCommand(b.Chips, order) }),
			)
		})
	}
}

// After the cover has reached an end, the cover is moving to the requested positions.
func TestOpenTo(t *testing.T) {
	moving(t, 0.3, func(t *testing.T, c *gpiocover.Cover, b *blind) {
		for _, want := range []float64{100, 50, 50, 65, 20, 0, 30} {
			if err := c.OpenTo(t.Context(), want); err != nil {
				t.Fatal(err)
			}
			is, still := b.is()
			estimate, err := c.EstimatedOpening(t.Context())
			if math.Abs(is-want) > 1 || !still || estimate != want || err != nil {
				t.Errorf("OpenTo(%v): position %v, at rest: %t, estimate %v, %v", want, is, still, estimate, err)
			}
		}
		list, err := c.Read(t.Context())
		if err != nil || len(list) != 2 || list[1].Value != 30 || !list[0].Estimated || !list[1].Estimated {
			t.Errorf("%+v, %v", list, err)
		}
	})
}

// The position is unknown until the cover has reached an end, also after Start. The driver
// does not move the cover to find its position.
func TestPositionUnknownBeforeAnEnd(t *testing.T) {
	moving(t, 0.3, func(t *testing.T, c *gpiocover.Cover, b *blind) {
		unknown := func(when string) {
			t.Helper()
			is, err := c.EstimatedOpening(t.Context())
			_, readErr := c.Read(t.Context())
			before := b.starts
			moved := c.OpenTo(t.Context(), 50)
			if err == nil || readErr == nil || !errors.Is(moved, drivers.ErrNothingDone) || b.starts != before || !strings.Contains(moved.Error(), "blind: the position is unknown; open or close the cover completely first") {
				t.Errorf("%s: estimate %v, %v, %v, and OpenTo: %v", when, is, err, readErr, moved)
			}
		}
		unknown("at the start")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if err := c.Open(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		unknown("stopped on its way")
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if is, err := c.EstimatedOpening(t.Context()); is != 0 || err != nil {
			t.Errorf("closed, its estimate is %v, %v, want 0", is, err)
		}
		if err := errors.Join(c.Halt(), c.Start()); err != nil {
			t.Fatal(err)
		}
		unknown("after a start")
	})
}

// A cover that a stop interrupts stands still, and the driver estimates its position.
func TestStopDuringMove(t *testing.T) {
	moving(t, 0, func(t *testing.T, c *gpiocover.Cover, b *blind) {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- c.Open(t.Context()) }()
		time.Sleep(8*time.Second + 500*time.Millisecond) // includes the dead time
		if is, err := c.EstimatedOpening(t.Context()); err == nil {
			t.Errorf("the cover is moving, and its estimate is %v, want an error", is)
		}
		if err := c.Close(t.Context()); !errors.Is(err, drivers.ErrBusy) {
			t.Errorf("closed while it opens: %v", err)
		}
		if left, err := c.Stop(t.Context()); left != "" || err != nil {
			t.Error(left, err)
		}
		if err := <-ended; !errors.Is(err, drivers.ErrStopped) {
			t.Error(err)
		}
		is, still := b.is()
		estimate, err := c.EstimatedOpening(t.Context())
		if !still || math.Abs(is-40) > 1 || estimate != 40 || err != nil {
			t.Errorf("position %v, at rest: %t, estimate %v, %v", is, still, estimate, err)
		}
		time.Sleep(time.Minute)
		if again, _ := b.is(); again != is {
			t.Errorf("the cover moved on to %v", again)
		}
	})
}

// Halt stops the cover at once, and the cover does not start again.
func TestHaltDuringMove(t *testing.T) {
	moving(t, 0.5, func(t *testing.T, c *gpiocover.Cover, b *blind) {
		ended := make(chan error)
		go func() { ended <- c.Close(t.Context()) }()
		time.Sleep(3 * time.Second)
		if err := c.Halt(); err != nil {
			t.Fatal(err)
		}
		is, still := b.is()
		if err := <-ended; !still || !errors.Is(err, drivers.ErrNotStarted) {
			t.Errorf("at rest: %t, %v", still, err)
		}
		time.Sleep(time.Minute)
		if again, _ := b.is(); again != is {
			t.Errorf("the cover moved from %v to %v", is, again)
		}
		if still, err := c.AtRest(t.Context()); !still || err != nil {
			t.Error(still, err)
		}
	})
}

// A relay that stays on prevents the other relay from turning on.
func TestStuckRelayBlocksTheOther(t *testing.T) {
	moving(t, 0.5, func(t *testing.T, _ *gpiocover.Cover, _ *blind) {
		b := newBlind(0.5)
		c := gpiocover.New("blind", config(), stuck{b})
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		b.Pull(chip, down, true)
		err := c.Open(t.Context())
		if !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "GPIO27 reads back as on, and both relays must never be on; inspect the relays") || b.starts != 0 {
			t.Errorf("%v, %d starts", err, b.starts)
		}
	})
}

// stuck simulates chips whose lines never change.
type stuck struct{ *blind }

func (s stuck) Request(chip string, offset int, r board.Request) (board.RequestedLine, error) {
	h, err := s.Chips.Request(chip, offset, r)
	return deaf{h}, err
}

type deaf struct{ board.RequestedLine }

func (deaf) Set(bool) error { return nil }

// After a chip vanishes during a move, the movement and the position are unknown.
func TestChipVanishesDuringMove(t *testing.T) {
	moving(t, 0.5, func(t *testing.T, c *gpiocover.Cover, b *blind) {
		if err := c.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() { ended <- c.OpenTo(t.Context(), 50) }()
		time.Sleep(5 * time.Second)
		b.Unplug(chip)
		err := <-ended
		if err == nil || errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "the motor may still run") {
			t.Error(err)
		}
		if still, err := c.AtRest(t.Context()); err == nil {
			t.Errorf("AtRest = %t, want an error", still)
		}
		b.Replug(chip)
		if _, err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if is, err := c.EstimatedOpening(t.Context()); err == nil {
			t.Errorf("estimate is %v, want an error", is)
		}
	})
}

func TestValidate(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*gpiocover.Config)
		want   []string
	}{
		"nothing":        {func(*gpiocover.Config) {}, nil},
		"no lines":       {func(c *gpiocover.Config) { c.Up, c.Down = "", " " }, []string{"up: is missing", "down: is missing"}},
		"one line twice": {func(c *gpiocover.Config) { c.Down = c.Up }, []string{"down: GPIO17 is also the line of up"}},
		"no time":        {func(c *gpiocover.Config) { c.TravelTime = 0 }, []string{"travel_time: is missing; measure the time from closed to open"}},
		"times": {
			func(c *gpiocover.Config) {
				c.TravelTime, c.TimeDown, c.Overrun, c.DeadTime = time.Hour, time.Millisecond, -1, 0
			},
			[]string{"travel_time: 1h0m0s is not between", "time_down: 1ms is not between", "overrun: -1ns is not between", "dead_time: 0s is not between 100ms and 10s; a shorter pause"},
		},
		"bias": {func(c *gpiocover.Config) { c.Bias = "left" }, []string{`bias: "left" is unknown`}},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config()
			tt.change(&cfg)
			err := cfg.Validate()
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("Validate = %v, want %q", err, tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Validate = %v, want %q", err, want)
				}
			}
		})
	}
}

// Each direction has its own travel time.
func TestTimeDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.TimeDown = 10 * time.Second
		c := gpiocover.New("blind", cfg, newBlind(0))
		if err := errors.Join(c.Start(), c.Open(t.Context())); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := c.OpenTo(t.Context(), 50); err != nil || time.Since(began) != 5*time.Second+500*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if err := c.Halt(); err != nil {
			t.Error(err)
		}
	})
}

// RunWatchdogCommand rejects invalid orders without a panic.
func FuzzObey(f *testing.F) {
	f.Add([]byte(`{"lines":[{"line":"GPIO17"},{"line":"GPIO27"}],"device":"blind"}`))
	f.Add([]byte(`{"lines":[{"line":""}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, order []byte) {
		c := boardtest.Pi()
		_, _ = gpiocover.RunWatchdogCommand(c, order) // both relays must be off after any result
		var o struct {
			ActiveLow bool `json:"active_low"`
		}
		_ = json.Unmarshal(order, &o) // as above
		for n := range 28 {
			if c.Level(chip, n) && !o.ActiveLow {
				t.Errorf("%q: line %d is on", order, n)
			}
		}
	})
}
