//go:build linux

package inside_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"
	"gobot.io/x/gobot/v2/platforms/adaptors"
	"gobot.io/x/gobot/v2/system"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/drivertest"
	"github.com/messkit/messkit/drivers/gpiorelay"
	"github.com/messkit/messkit/internal/board"
)

func relay(line string, change func(*gpiorelay.Config)) gobot.Device {
	cfg := gpiorelay.DefaultConfig()
	cfg.Chip, cfg.Line = label, line
	if change != nil {
		change(&cfg)
	}
	return gpiorelay.New("lamp", cfg, board.Kernel{}).(gobot.Device)
}

// The driver test suite passes on the kernel's own lines.
func TestBridgeRelaySuite(t *testing.T) {
	b := plug(t)
	var last drivers.Device
	release := func() {
		if last != nil {
			_ = last.(gobot.Device).Connection().Finalize()
		}
	}
	defer release()
	drivertest.Run(t, func(*testing.T) drivers.Device {
		release() // two devices cannot share a line
		last = relay("3", nil)
		return last
	},
		drivertest.Safe(func() error {
			if b.level(t, 3) {
				return errors.New("line 3 is high")
			}
			return nil
		}),
		drivertest.Acts(func() int { return b.writes(t) }),
		drivertest.Level(func() bool { return b.level(t, 3) }),
		drivertest.Force(func(on bool) { b.drive(t, 3, on) }),
		drivertest.RunWatchdogCommand(gpiorelay.Kind().RunWatchdogCommand),
	)
}

// The line has its initial level as soon as it is an output, before any command.
func TestBridgeInitialLevel(t *testing.T) {
	b := plug(t)
	for _, tt := range []struct {
		line    string
		n       int
		initial string
		low     bool
		before  bool
		want    bool
	}{
		{"1", 1, "off", false, true, false},
		{"2", 2, "off", true, false, true}, // a relay that 0 V switches on
		{"3", 3, "on", false, false, true},
		{"4", 4, "keep", false, true, true},
		{"5", 5, "keep", true, false, false},
	} {
		b.drive(t, tt.n, tt.before)
		d := relay(tt.line, func(c *gpiorelay.Config) { c.Initial, c.ActiveLow = tt.initial, tt.low })
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
		if got := b.level(t, tt.n); got != tt.want || !b.isOutput(t, tt.n) {
			t.Errorf("%+v: the line is %t, output %t", tt, got, b.isOutput(t, tt.n))
		}
		if err := d.Connection().Finalize(); err != nil {
			t.Error(err)
		}
	}
}

// Gobot's own adaptor has these faults, which are the reasons for package board. If one of these
// checks fails, Gobot has fixed the fault.
func TestBridgeGobotFaults(t *testing.T) {
	b := plug(t)
	place, err := board.Find(board.Kernel{}, board.Line{Chip: label, Line: "0"})
	if err != nil {
		t.Fatal(err)
	}
	var line int
	a := adaptors.NewDigitalPinsAdaptor(system.NewAccesser(), func(string) (string, int, error) { return place.Chip.Name, line, nil })
	if err := a.Connect(); err != nil {
		t.Fatal(err)
	}
	line = 1
	r := gpio.NewRelayDriver(gobotPins{a}, "1")
	if err := r.Start(); err != nil || b.isOutput(t, 1) {
		t.Errorf("Start sets a level now: %v", err)
	}
	if err := errors.Join(r.On(), r.Halt()); err != nil || !b.level(t, 1) {
		t.Errorf("Halt switches off now: %v", err)
	}
	if _, err := a.DigitalRead("1"); err != nil || b.isOutput(t, 1) {
		t.Errorf("reading an output leaves it one now: %v", err)
	}
	b.unplug()
	eventually(t, "the chip is gone", func() error {
		if _, err := os.Stat("/dev/" + place.Chip.Name); err == nil {
			return errors.New("it is there")
		}
		return nil
	})
	defer func() {
		if recover() == nil {
			t.Error("Finalize does not panic any more when its chip has vanished")
		}
	}()
	_ = a.Finalize()
}

// gobotPins is a Gobot platform.
type gobotPins struct{ *adaptors.DigitalPinsAdaptor }

func (gobotPins) Name() string   { return "gobot" }
func (gobotPins) SetName(string) {}

func TestBridgeLineInUse(t *testing.T) {
	plug(t)
	first := relay("6", nil)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Connection().Finalize() }()
	err := relay("6", nil).Start()
	want := fmt.Sprintf(`is in use by "messkit %d lamp"; two devices`, os.Getpid())
	if !errors.Is(err, board.ErrBusy) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// If a process freezes with a relay on, another process of the same user can switch the relay
// off.
func TestBridgeFrozenHolder(t *testing.T) {
	b := plug(t)
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), "HIL_HOLDER=1")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stderr = os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil || !b.level(t, 7) {
		t.Fatalf("the holder has not switched on: %v", err)
	}
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	orders := relay("7", nil).(drivers.WatchdogTarget).WatchdogCommands()
	for _, want := range []bool{true, false} {
		if changed, err := gpiorelay.RunWatchdogCommand(board.Kernel{}, orders.Off); err != nil || changed != want {
			t.Errorf("changed=%t, want %t: %v", changed, want, err)
		}
		if b.level(t, 7) {
			t.Error("the line is high, want low")
		}
	}
}

// hold switches line 7 on, prints "on", and waits until the test kills it.
func hold() {
	d := relay("7", nil)
	if err := errors.Join(d.Start(), d.(drivers.Switch).Switch(context.Background(), true)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("on")
	<-time.After(time.Hour)
}

// The bridge disappears while the relay is on. Commands return errors, and work again when the
// bridge is back.
func TestBridgeReturns(t *testing.T) {
	b := plug(t)
	d := relay("3", nil)
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	s := d.(drivers.Switch)
	if err := s.Switch(t.Context(), true); err != nil || !b.level(t, 3) {
		t.Fatalf("on: %v", err)
	}
	b.unplug()
	eventually(t, "an error about the line", func() error {
		if err := s.Switch(t.Context(), false); err == nil || !strings.Contains(err.Error(), "lamp: ") {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
	b = plug(t)
	if err := s.Switch(t.Context(), true); err != nil || !b.level(t, 3) {
		t.Errorf("after it has come back: %v", err)
	}
	if err := d.Halt(); err != nil || b.level(t, 3) {
		t.Errorf("Halt: %v", err)
	}
}
