package gpiorelay_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/gpiorelay"
	"github.com/messkit/messkit/internal/board"
	"github.com/messkit/messkit/internal/board/boardtest"
)

const chip, line = "gpiochip0", 17

func config(change func(*gpiorelay.Config)) gpiorelay.Config {
	c := gpiorelay.DefaultConfig()
	c.Line = "GPIO17"
	if change != nil {
		change(&c)
	}
	return c
}

func TestSuite(t *testing.T) {
	for name, change := range map[string]func(*gpiorelay.Config){
		"relay":      nil,
		"active low": func(c *gpiorelay.Config) { c.ActiveLow = true },
		"safe on":    func(c *gpiorelay.Config) { c.Safe = "on" },
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(change)
			var c *boardtest.Chips
			on := func() bool { return c.Level(chip, line) != cfg.ActiveLow }
			drivertest.Run(t, func(*testing.T) drivers.Device {
				c = boardtest.Pi()
				return gpiorelay.New("lamp", cfg, c)
			},
				drivertest.Safe(func() error {
					if on() != (cfg.Safe == "on") {
						return fmt.Errorf("on=%t", on())
					}
					return nil
				}),
				drivertest.Acts(func() int { return len(c.Log(chip, line)) }),
				drivertest.Level(on),
				drivertest.Force(func(on bool) { c.Pull(chip, line, on != cfg.ActiveLow) }),
				drivertest.RunWatchdogCommand(func(order []byte) (bool, error) { return gpiorelay.RunWatchdogCommand(c, order) }),
			)
		})
	}
}

// A button has no level to read back, so the rules of the suite for switches do not apply.
func TestButton(t *testing.T) {
	press := func(t *testing.T, story func(t *testing.T, b drivers.Switch, d drivers.Device, c *boardtest.Chips)) {
		synctest.Test(t, func(t *testing.T) {
			c := boardtest.Pi()
			d := gpiorelay.New("gate", config(func(c *gpiorelay.Config) { c.Pulse = time.Second }), c)
			if err := d.Start(); err != nil {
				t.Fatal(err)
			}
			story(t, d.(drivers.Switch), d, c)
		})
	}
	t.Run("pressed", func(t *testing.T) {
		press(t, func(t *testing.T, b drivers.Switch, _ drivers.Device, c *boardtest.Chips) {
			begin := time.Now()
			if err := b.Switch(t.Context(), true); err != nil || time.Since(begin) != time.Second {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
			if got := c.Log(chip, line); !slices.Equal(got, []bool{false, true, false}) {
				t.Errorf("levels %v", got)
			}
		})
	})
	t.Run("pressed by its own verb", func(t *testing.T) {
		press(t, func(t *testing.T, _ drivers.Switch, d drivers.Device, c *boardtest.Chips) {
			begin := time.Now()
			if err := d.(drivers.Presser).Press(t.Context()); err != nil || time.Since(begin) != time.Second {
				t.Errorf("after %v: %v", time.Since(begin), err)
			}
			if got := c.Log(chip, line); !slices.Equal(got, []bool{false, true, false}) {
				t.Errorf("levels %v", got)
			}
		})
	})
	t.Run("halted during the call", func(t *testing.T) {
		press(t, func(t *testing.T, b drivers.Switch, d drivers.Device, c *boardtest.Chips) {
			ended := make(chan error)
			go func() { ended <- b.Switch(t.Context(), true) }()
			synctest.Wait()
			if !c.Level(chip, line) {
				t.Fatal("the line is low during the press, want high")
			}
			if err := d.Halt(); err != nil || c.Level(chip, line) {
				t.Errorf("Halt: %v", err)
			}
			if err := <-ended; !errors.Is(err, drivers.ErrNotStarted) || !strings.Contains(err.Error(), "less than 1s") {
				t.Errorf("Switch: %v", err)
			}
		})
	})
	t.Run("verbs", func(t *testing.T) {
		d := gpiorelay.New("gate", config(func(c *gpiorelay.Config) { c.Pulse = time.Second }), boardtest.Pi())
		if _, reads := d.(drivers.SwitchReader); reads {
			t.Error("a button implements SwitchReader, want not")
		}
		if _, once := d.(drivers.Unrepeatable); !once {
			t.Error("a button can be pressed twice for one request")
		}
	})
}

func TestKeep(t *testing.T) {
	c := boardtest.Pi()
	c.Pull(chip, line, true)
	d := gpiorelay.New("lamp", config(func(c *gpiorelay.Config) { c.Initial, c.Safe = "keep", "keep" }), c)
	if err := errors.Join(d.Start(), d.Halt()); err != nil || !c.Level(chip, line) || len(c.Log(chip, line)) != 0 {
		t.Errorf("level %t, driven to %v: %v", c.Level(chip, line), c.Log(chip, line), err)
	}
	if d.(drivers.WatchdogTarget).WatchdogCommands().Safe != nil {
		t.Error("a guard would take it to a safe level")
	}
}

func TestValidate(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*gpiorelay.Config)
		want   []string
	}{
		"nothing":      {nil, nil},
		"no line":      {func(c *gpiorelay.Config) { c.Line = " " }, []string{"line: is missing"}},
		"levels":       {func(c *gpiorelay.Config) { c.Initial, c.Safe = "yes", "" }, []string{`initial: "yes" is unknown`, `safe: "" is unknown`}},
		"bias":         {func(c *gpiorelay.Config) { c.Bias = "left" }, []string{`bias: "left" is unknown`}},
		"a long pulse": {func(c *gpiorelay.Config) { c.Pulse = time.Minute }, []string{"pulse: 1m0s is not between"}},
		"a held pulse": {func(c *gpiorelay.Config) { c.Pulse, c.Safe = time.Second, "on" }, []string{`safe: "on" would keep the button pressed`}},
	} {
		t.Run(name, func(t *testing.T) {
			err := config(tt.change).Validate()
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

func FuzzObey(f *testing.F) {
	for _, order := range []string{`{"line":"GPIO17","device":"lamp","on":true}`, `{"chip":"gpiochip1","line":"3"}`, `{`, `[]`, `{"line":"-1"}`} {
		f.Add([]byte(order))
	}
	f.Fuzz(func(t *testing.T, order []byte) {
		c := boardtest.Pi()
		changed, err := gpiorelay.RunWatchdogCommand(c, order)
		if err != nil && changed {
			t.Errorf("the command changed the line and failed: %v", err)
		}
		if again, err := gpiorelay.RunWatchdogCommand(c, order); err == nil && again {
			t.Error("the same order twice has changed something twice")
		}
	})
}

// Inspect neither requests nor changes the line.
func TestInspect(t *testing.T) {
	chips := boardtest.Pi()
	cfg := gpiorelay.DefaultConfig()
	cfg.Line = "GPIO17"
	d := gpiorelay.New("porch-light", cfg, chips)
	what, err := d.(drivers.Inspector).Inspect(t.Context())
	if err != nil || !strings.Contains(what, "exists and is free") {
		t.Errorf("%q, %v", what, err)
	}
	if log := chips.Log("gpiochip0", 17); len(log) != 0 {
		t.Errorf("the line was set: %v", log)
	}
	if info, err := chips.Info("gpiochip0", 17); err != nil || info.Used {
		t.Errorf("%+v, %v", info, err)
	}
	chips.Take("gpiochip0", 17, "w1")
	if _, err := d.(drivers.Inspector).Inspect(t.Context()); !errors.Is(err, board.ErrBusy) || !strings.HasPrefix(err.Error(), "porch-light: ") {
		t.Errorf("a line that is taken: %v", err)
	}
}
