package gpioinput_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/gpioinput"
	"github.com/messkit/messkit/internal/board/boardtest"
)

const chip, line = "gpiochip0", 27

func input(c *boardtest.Chips, now func() time.Time, change func(*gpioinput.Config)) *gpioinput.Input {
	cfg := gpioinput.DefaultConfig()
	cfg.Line = "GPIO27"
	if change != nil {
		change(&cfg)
	}
	return gpioinput.New("door", cfg, c, now)
}

func TestSuite(t *testing.T) {
	drivertest.Run(t, func(*testing.T) drivers.Device { return input(boardtest.Pi(), time.Now, nil) })
}

func reads(t *testing.T, i *gpioinput.Input, quantity string, want float64) {
	t.Helper()
	r, err := i.Read(t.Context())
	if err != nil || len(r) != 1 || r[0].Quantity != quantity || r[0].Value != want || r[0].Unit != "" {
		t.Errorf("Read = %+v, %v; want %s %v", r, err, quantity, want)
	}
}

func TestContact(t *testing.T) {
	c := boardtest.Pi()
	i := input(c, time.Now, nil)
	if err := i.Start(); err != nil {
		t.Fatal(err)
	}
	reads(t, i, "contact", 0) // open contact: pulled up
	c.Pull(chip, line, false)
	reads(t, i, "contact", 1)
	c.Unplug(chip)
	if _, err := i.Read(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "door: ") {
		t.Errorf("without its chip: %v", err)
	}
	c.Replug(chip)
	c.Pull(chip, line, true)
	reads(t, i, "contact", 0)
	if err := i.Halt(); err != nil {
		t.Error(err)
	}
}

// A short event ends before the first Read.
func TestHold(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	c := boardtest.Pi()
	i := input(c, func() time.Time { return at }, func(c *gpioinput.Config) {
		c.Quantity, c.ActiveLow, c.Bias, c.Hold = "motion", false, "down", 30*time.Second
	})
	if err := i.Start(); err != nil {
		t.Fatal(err)
	}
	reads(t, i, "motion", 0)
	c.Pull(chip, line, true)
	c.Pull(chip, line, false)
	at = at.Add(30 * time.Second)
	reads(t, i, "motion", 1)
	at = at.Add(time.Nanosecond)
	reads(t, i, "motion", 0)
}

// A caller that waits for a change need not poll.
func TestChanges(t *testing.T) {
	c := boardtest.Pi()
	i := input(c, time.Now, nil)
	if err := i.Start(); err != nil {
		t.Fatal(err)
	}
	changed := i.Changes()
	select {
	case <-changed:
		t.Fatal("nothing has changed")
	default:
	}
	c.Pull(chip, line, false)
	<-changed
	if err := i.Halt(); err != nil {
		t.Error(err)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*gpioinput.Config){
		"line: is missing":                func(c *gpioinput.Config) { c.Line = "" },
		"quantity: empty":                 func(c *gpioinput.Config) { c.Quantity = "" },
		`bias: "left" is unknown`:         func(c *gpioinput.Config) { c.Bias = "left" },
		"debounce: -1ns is not between 0": func(c *gpioinput.Config) { c.Debounce = -1 },
		"hold: 2h0m0s is not between 0":   func(c *gpioinput.Config) { c.Hold = 2 * time.Hour },
	} {
		cfg := gpioinput.DefaultConfig()
		cfg.Line = "GPIO27"
		if err := cfg.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Validate = %v, want %s", err, want)
		}
	}
}
