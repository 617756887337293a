//go:build linux

package inside_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/stop"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/gpioinput"
	"github.com/messkit/messkit/internal/board"
)

func input(line string, change func(*gpioinput.Config)) *gpioinput.Input {
	cfg := gpioinput.DefaultConfig()
	cfg.Chip, cfg.Line, cfg.Bias = label, line, ""
	if change != nil {
		change(&cfg)
	}
	return gpioinput.New("door", cfg, board.Kernel{}, time.Now)
}

// wantLevel waits until an input reports a value.
func wantLevel(t *testing.T, d drivers.Sensor, want float64) {
	t.Helper()
	eventually(t, fmt.Sprintf("it says %v", want), func() error {
		list, err := d.Read(t.Context())
		if err == nil && list[0].Value != want {
			err = fmt.Errorf("it says %v", list[0].Value)
		}
		return err
	})
}

func TestBridgeInputSuite(t *testing.T) {
	plug(t)
	drivertest.Run(t, func(*testing.T) drivers.Device { return input("0", nil) })
}

// The driver reads levels, and catches a short pulse between two reads by the kernel's edge
// events.
func TestBridgeInput(t *testing.T) {
	b := plug(t)
	contact := input("0", nil)
	if err := contact.Start(); err != nil {
		t.Fatal(err)
	}
	wantLevel(t, contact, 1) // 0 V: closed
	b.drive(t, 0, true)
	wantLevel(t, contact, 0)
	if err := contact.Halt(); err != nil {
		t.Fatal(err)
	}

	motion := input("1", func(c *gpioinput.Config) {
		c.Quantity, c.ActiveLow, c.Debounce, c.Hold = "motion", false, time.Millisecond, time.Hour
	})
	if err := motion.Start(); err != nil {
		t.Fatal(err)
	}
	wantLevel(t, motion, 0)
	// The bridge's chip has no edge interrupts. The kernel's driver polls ten times per second,
	// so it misses shorter pulses.
	b.drive(t, 1, true)
	time.Sleep(300 * time.Millisecond)
	b.drive(t, 1, false)
	wantLevel(t, motion, 1)
	if err := motion.Halt(); err != nil {
		t.Error(err)
	}
}

// Watch reports a pressed stop button, its release, and the next press. It returns an error if
// the bridge disappears.
func TestBridgeStopButton(t *testing.T) {
	b := plug(t)
	cfg := stop.DefaultInputConfig()
	cfg.Chip, cfg.Line, cfg.Bias = label, 2, "none"
	var mu sync.Mutex
	stops := false
	ended := make(chan error)
	go func() {
		ended <- stop.NewInput(cfg).Watch(context.Background(), func(s bool) {
			mu.Lock()
			defer mu.Unlock()
			stops = s
		})
	}()
	for _, level := range []bool{true, false, true} {
		b.drive(t, 2, level)
		eventually(t, fmt.Sprintf("stops=%t", level), func() error {
			mu.Lock()
			defer mu.Unlock()
			if stops != level {
				return errors.New("not yet")
			}
			return nil
		})
	}
	b.unplug()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "its chip is gone") {
		t.Errorf("unplugged: %v", err)
	}
}
