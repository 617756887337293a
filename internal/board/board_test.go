package board_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/board"
	"github.com/messkit/messkit/internal/board/boardtest"
)

// pi5 returns the chips of a Pi 5, whose header is not on gpiochip0.
func pi5() *boardtest.Chips {
	c := boardtest.New(
		board.Chip{Name: "gpiochip0", Label: "gpio-brcmstb@107d508500", Lines: 32},
		board.Chip{Name: "gpiochip4", Label: "pinctrl-rp1", Lines: 54},
	)
	c.Name("gpiochip4", 17, "GPIO17")
	c.Name("gpiochip0", 5, "PWR_BUTTON")
	c.Name("gpiochip0", 6, "TWICE")
	c.Name("gpiochip4", 6, "TWICE")
	return c
}

func TestFind(t *testing.T) {
	one := boardtest.New(board.Chip{Name: "gpiochip0", Label: "cp2112_gpio", Lines: 8})
	two := boardtest.New(board.Chip{Name: "gpiochip0", Label: "a", Lines: 8}, board.Chip{Name: "gpiochip1", Label: "b", Lines: 8})
	for _, tt := range []struct {
		name  string
		chips board.Chips
		line  board.Line
		want  string // a place, or the end of an error
	}{
		{"by name on a Pi 4", boardtest.Pi(), board.Line{Line: "GPIO17"}, "line 17 of gpiochip0 (GPIO17)"},
		{"by number on a Pi 4", boardtest.Pi(), board.Line{Line: "17"}, "line 17 of gpiochip0"},
		{"by name on a Pi 5", pi5(), board.Line{Line: "GPIO17"}, "line 17 of gpiochip4 (GPIO17)"},
		{"by number on a Pi 5", pi5(), board.Line{Line: "17"}, "line 17 of gpiochip4"},
		{"without names on a Pi 5", pi5(), board.Line{Line: "GPIO22"}, "line 22 of gpiochip4"},
		{"another chip", pi5(), board.Line{Line: "PWR_BUTTON"}, "line 5 of gpiochip0 (PWR_BUTTON)"},
		{"by a chip's label", pi5(), board.Line{Chip: "pinctrl-rp1", Line: "3"}, "line 3 of gpiochip4"},
		{"by a chip's name", pi5(), board.Line{Chip: "gpiochip0", Line: "3"}, "line 3 of gpiochip0"},
		{"by a chip's file", pi5(), board.Line{Chip: "/dev/gpiochip4", Line: "3"}, "line 3 of gpiochip4"},
		{"the only chip", one, board.Line{Line: "7"}, "line 7 of gpiochip0"},
		{"a name twice", pi5(), board.Line{Line: "TWICE"}, "write chip: as well"},
		{"a name twice, and its chip", pi5(), board.Line{Chip: "gpiochip4", Line: "TWICE"}, "line 6 of gpiochip4 (TWICE)"},
		{"several chips", two, board.Line{Line: "7"}, `write chip: with one of gpiochip0 "a", gpiochip1 "b"`},
		{"no such number", one, board.Line{Line: "8"}, "gpiochip0 has lines 0 to 7; write one of those numbers, or a name"},
		{"no such name", one, board.Line{Line: "GPIO17"}, `or its number and chip: (gpiochip0 "cp2112_gpio")`},
		{"no such chip", one, board.Line{Chip: "pinctrl-rp1", Line: "1"}, `its chips: gpiochip0 "cp2112_gpio"`},
		{"no chip", boardtest.New(), board.Line{Line: "1"}, "check that messkit may open /dev/gpiochip*"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := board.Find(tt.chips, tt.line)
			got := p.String()
			if err != nil {
				got = err.Error()
			}
			if got != tt.want && (err == nil || !strings.HasSuffix(got, tt.want)) {
				t.Errorf("Find(%v) = %s, want %s", tt.line, got, tt.want)
			}
		})
	}
}

func TestBusy(t *testing.T) {
	for _, tt := range []struct{ consumer, want string }{
		{"spi0 CS0", `line 17 of gpiochip0 (GPIO17) is in use by "spi0 CS0"; remove dtparam=spi=on`},
		{"onewire@0", `is in use by "onewire@0"; remove dtoverlay=w1-gpio`},
		{"gpioset", `is in use by "gpioset"; stop that program`},
		{board.ConsumerName("lamp"), `; two devices of the configuration`},
		{"", "is in use by the kernel; find the overlay"},
	} {
		c := boardtest.Pi()
		c.Take("gpiochip0", 17, tt.consumer)
		err := board.NewOutput(c, board.Line{Line: "GPIO17"}, board.Request{Start: board.Off}).Connect()
		if !errors.Is(err, board.ErrBusy) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.consumer, err, tt.want)
		}
	}
}

// An output has one level from its request on. When its chip returns, the output returns at
// the requested level.
func TestOutput(t *testing.T) {
	c := boardtest.Pi()
	o := board.NewOutput(c, board.Line{Line: "GPIO17"}, board.Request{Start: board.Off, ActiveLow: true})
	if err := o.Connect(); err != nil {
		t.Fatal(err)
	}
	if err := o.DigitalWrite("", 1); err != nil {
		t.Fatal(err)
	}
	c.Unplug("gpiochip0")
	if _, err := o.DigitalRead(""); err == nil {
		t.Error("a chip that is gone can be read")
	}
	if err := o.Finalize(); err != nil {
		t.Errorf("Finalize of a chip that is gone: %v", err)
	}
	c.Replug("gpiochip0")
	if err := o.DigitalWrite("", 1); err != nil {
		t.Fatal(err)
	}
	c.Unplug("gpiochip0")
	c.Replug("gpiochip0") // without a notice to the output
	if err := o.DigitalWrite("", 0); err != nil {
		t.Error(err)
	}
	// The device is off at a high level. A write right after a request writes the level
	// twice.
	if got := slices.Compact(c.Log("gpiochip0", 17)); !slices.Equal(got, []bool{true, false, true}) {
		t.Errorf("levels are %v, want true false true", got)
	}
	if err := o.DigitalWrite("", 2); err == nil {
		t.Error("level 2 was written")
	}
}

func TestForce(t *testing.T) {
	line := board.Line{Line: "GPIO17"}
	on, off := board.Request{Start: board.On}, board.Request{Start: board.Off}
	c := boardtest.Pi()
	c.Pull("gpiochip0", 17, true)
	check := func(what string, req board.Request, changed, level bool) {
		t.Helper()
		got, err := board.ForceLevel(c, line, req)
		if err != nil || got != changed || c.Level("gpiochip0", 17) != level {
			t.Errorf("%s: changed=%t, level %t: %v", what, got, c.Level("gpiochip0", 17), err)
		}
	}
	check("an input that reads high", off, true, false)
	check("an output that is low", off, false, false)
	check("an output that is low, high", on, true, true)
	o := board.NewOutput(c, line, board.Request{Start: board.On, Label: board.ConsumerName("lamp")})
	if err := o.Connect(); err != nil {
		t.Fatal(err)
	}
	check("held by a messkit", off, true, false)
	check("held by a messkit, again", off, false, false)
	if err := o.Finalize(); err != nil {
		t.Fatal(err)
	}
	c.Unplug("gpiochip0")
	check("a chip that is not there", on, false, false)
	c.Replug("gpiochip0")
	c.Take("gpiochip0", 17, "gpioset")
	if _, err := board.ForceLevel(c, line, off); !errors.Is(err, board.ErrBusy) {
		t.Errorf("held by another program: %v", err)
	}
}

func TestLineSame(t *testing.T) {
	want := board.Line{Line: "27"}.Identity()
	for _, l := range []board.Line{{Line: "GPIO27"}, {Line: " 027 "}, {Chip: "gpiochip0", Line: "27"}, {Chip: "/dev/gpiochip0", Line: "GPIO27"}, {Chip: "pinctrl-rp1", Line: "27"}} {
		if l.Identity() != want {
			t.Errorf("%s: %q, want %q", l, l.Identity(), want)
		}
	}
	for _, l := range []board.Line{{Line: "GPIO2"}, {Line: "LED27"}, {Chip: "gpiochip1", Line: "27"}} {
		if l.Identity() == want {
			t.Errorf("%s is another", l)
		}
	}
}
