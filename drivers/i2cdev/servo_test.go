package i2cdev_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/i2cdev"
	"github.com/messkit/messkit/drivers/i2cdev/i2ctest"
)

// pulse returns the pulse of a channel of the board's PCA9685, in 4096ths of a period.
func pulse(b *i2ctest.Bus, channel int) (ticks int) {
	b.With(func() {
		c := b.Chips[0x40].(*i2ctest.Registers)
		ticks = int(c.Values[8+4*channel]) | int(c.Values[9+4*channel])<<8
	})
	return ticks
}

func writes(b *i2ctest.Bus) (n int) {
	b.With(func() { n = b.Writes })
	return n
}

// arm returns the configuration of a servo with 20 to 160 degrees.
func arm(change func(*i2cdev.ServoConfig)) i2cdev.ServoConfig {
	c := i2cdev.DefaultServoConfig()
	c.Min, c.Max, c.Settle = 20, 160, 20*time.Millisecond
	c.Positions = map[string]float64{"left": 30, "the door": 120}
	change(&c)
	return c
}

func TestSuiteOfServos(t *testing.T) {
	park := 90.0
	for name, tt := range map[string]struct {
		cfg  i2cdev.ServoConfig
		safe func(*i2ctest.Bus) bool
	}{
		"hold":    {arm(func(*i2cdev.ServoConfig) {}), func(*i2ctest.Bus) bool { return true }},
		"release": {arm(func(c *i2cdev.ServoConfig) { c.Safe = "release" }), func(b *i2ctest.Bus) bool { return pulse(b, 0) == 0 }},
		"park":    {arm(func(c *i2cdev.ServoConfig) { c.Safe, c.Park = "park", &park }), func(b *i2ctest.Bus) bool { return pulse(b, 0) == 307 }},
		"led":     {arm(func(c *i2cdev.ServoConfig) { c.Speed = 2000 }), func(*i2ctest.Bus) bool { return true }},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tt.cfg.Validate(); err != nil {
				t.Fatal(err)
			}
			var b *i2ctest.Bus
			drivertest.Run(
				t, func(*testing.T) drivers.Device { b = board(); return i2cdev.NewServo("arm", tt.cfg, b) },
				drivertest.Safe(func() error {
					if !tt.safe(b) {
						return fmt.Errorf("its pulse is %d", pulse(b, 0))
					}
					return nil
				}),
				drivertest.Acts(func() int { return writes(b) }),
			)
		})
	}
}

// A servo moves only on a command, and to the pulse of the requested angle: 1 ms to 2 ms
// for 180 degrees, at 50 Hz and 4096 parts of a period.
func TestServoTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := board()
		s := i2cdev.NewServo("arm", arm(func(*i2cdev.ServoConfig) {}), b)
		if err := s.Start(); err != nil || writes(b) != 0 {
			t.Fatalf("the start has written %d times: %v", writes(b), err)
		}
		for _, tt := range []struct {
			degrees float64
			ticks   int
		}{{20, 228}, {90, 307}, {160, 387}} {
			if err := s.TurnTo(t.Context(), tt.degrees); err != nil || pulse(b, 0) != tt.ticks {
				t.Errorf("%g degrees are %d ticks: %v; want %d", tt.degrees, pulse(b, 0), err, tt.ticks)
			}
		}
		before := writes(b)
		for _, degrees := range []float64{19, 161, -1, math.NaN(), math.Inf(-1)} {
			if err := s.TurnTo(t.Context(), degrees); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "20 to 160") {
				t.Errorf("%g degrees: %v", degrees, err)
			}
		}
		if writes(b) != before {
			t.Error("an angle outside of the limits was written")
		}
		if err := s.Halt(); err != nil || pulse(b, 0) != 387 {
			t.Errorf("hold: %d, %v", pulse(b, 0), err)
		}
	})
}

// With a speed the servo moves in steps, needs the corresponding time, and stops on the
// way.
func TestServoSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := board()
		s := i2cdev.NewServo("arm", arm(func(c *i2cdev.ServoConfig) { c.Speed = 45 }), b)
		if err := errors.Join(s.Start(), s.TurnTo(t.Context(), 20)); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := s.TurnTo(t.Context(), 110); err != nil || time.Since(began) < 2*time.Second {
			t.Errorf("90 degrees at 45 a second took %v: %v", time.Since(began), err)
		}
		if pulse(b, 0) != 330 {
			t.Errorf("pulse is %d, want 330", pulse(b, 0))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.TurnTo(ctx, 20); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error of the cancelled turn is %v, want DeadlineExceeded", err)
		}
		if at := pulse(b, 0); at < 270 || at > 290 { // 65 degrees are 279
			t.Errorf("after a second of two the pulse is %d, want 270 to 290", at)
		}
		at := pulse(b, 0)
		time.Sleep(time.Minute)
		if pulse(b, 0) != at {
			t.Errorf("the servo moved on to %d", pulse(b, 0))
		}
	})
}

// The watchdog sets the safe state if the servo does not have it, and no other state.
func TestServoOrders(t *testing.T) {
	park := 90.0
	for name, tt := range map[string]struct {
		cfg  i2cdev.ServoConfig
		want int
	}{
		"release": {arm(func(c *i2cdev.ServoConfig) { c.Safe = "release" }), 0},
		"park":    {arm(func(c *i2cdev.ServoConfig) { c.Safe, c.Park = "park", &park }), 307},
	} {
		b := board()
		s := i2cdev.NewServo("arm", tt.cfg, b)
		if err := errors.Join(s.Start(), s.TurnTo(t.Context(), 40)); err != nil {
			t.Fatal(err)
		}
		orders := s.WatchdogCommands()
		if orders.Off != nil || orders.Safe == nil {
			t.Fatalf("%s: %+v", name, orders)
		}
		for _, want := range []bool{true, false} {
			if changed, err := i2cdev.RunServoCommand(b, orders.Safe); err != nil || changed != want || pulse(b, 0) != tt.want {
				t.Errorf("%s: changed=%t %v, pulse %d", name, changed, err, pulse(b, 0))
			}
		}
	}
	if o := i2cdev.NewServo("arm", arm(func(*i2cdev.ServoConfig) {}), board()).WatchdogCommands(); o.Safe != nil || o.Off != nil {
		t.Errorf("commands of a servo without a safe state: %+v, want none", o)
	}
	for _, order := range []string{"", "{", `{"angle":181}`, `{"angle":-2}`, `{"angle":4,"pulses":{"channel":16}}`} {
		b := board()
		if changed, err := i2cdev.RunServoCommand(b, []byte(order)); err == nil || changed || writes(b) != 0 {
			t.Errorf("order %q is obeyed", order)
		}
	}
}

// The other channels of the board keep their pulses, and the error of a missing chip names
// it.
func TestServoKeepsOtherChannels(t *testing.T) {
	b := board()
	first := i2cdev.NewServo("first", arm(func(*i2cdev.ServoConfig) {}), b)
	second := i2cdev.NewServo("second", arm(func(c *i2cdev.ServoConfig) { c.Channel = 15; c.Safe = "release" }), b)
	if err := errors.Join(first.Start(), second.Start(), first.TurnTo(t.Context(), 90), second.TurnTo(t.Context(), 20), second.Halt()); err != nil {
		t.Fatal(err)
	}
	if pulse(b, 0) != 307 || pulse(b, 15) != 0 {
		t.Errorf("pulses are %d and %d", pulse(b, 0), pulse(b, 15))
	}
	chip := b.Chips[0x40]
	b.With(func() { delete(b.Chips, 0x40) })
	if err := first.TurnTo(t.Context(), 30); !errors.Is(err, drivers.ErrNothingDone) || !strings.Contains(err.Error(), "first: ") {
		t.Errorf("without its chip: %v", err)
	}
	b.With(func() { b.Chips[0x40] = chip })
	if err := first.TurnTo(t.Context(), 20); err != nil || pulse(b, 0) != 228 {
		t.Errorf("back again: %v, pulse %d", err, pulse(b, 0))
	}
}

func TestServoConfig(t *testing.T) {
	park := 170.0
	for want, change := range map[string]func(*i2cdev.ServoConfig){
		"channel: 16 is not between":              func(c *i2cdev.ServoConfig) { c.Channel = 16 },
		"address: the chip does not support 0x20": func(c *i2cdev.ServoConfig) { c.Address = 0x20 },
		"frequency: 5 Hz":                         func(c *i2cdev.ServoConfig) { c.Frequency = 5 },
		"travel: 0 degrees":                       func(c *i2cdev.ServoConfig) { c.Travel = 0 },
		"longest: a pulse of 3ms":                 func(c *i2cdev.ServoConfig) { c.Longest = 3 * time.Millisecond },
		"shortest: 2ms is not shorter":            func(c *i2cdev.ServoConfig) { c.Shortest = c.Longest },
		"min: 20 to 200 degrees is outside of":    func(c *i2cdev.ServoConfig) { c.Max = 200 },
		"min: 170 to 160":                         func(c *i2cdev.ServoConfig) { c.Min = 170 },
		"positions: up is 175 degrees":            func(c *i2cdev.ServoConfig) { c.Positions = map[string]float64{"up": 175} },
		"speed: 0.5 degrees":                      func(c *i2cdev.ServoConfig) { c.Speed = 0.5 },
		"settle: 0s is not":                       func(c *i2cdev.ServoConfig) { c.Settle = 0 },
		`safe: "off" is unknown; write hold`:      func(c *i2cdev.ServoConfig) { c.Safe = "off" },
		"park: is missing":                        func(c *i2cdev.ServoConfig) { c.Safe = "park" },
		"park: 170 degrees is outside of 20 to 1": func(c *i2cdev.ServoConfig) { c.Park = &park },
	} {
		if err := arm(change).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
