// Package board is what Gobot's adaptors for boards leave to be wished, below the
// same interfaces: lines of the kernel's GPIO character device and its I2C buses,
// on any Linux machine.
//
// A line is found by its name or by its chip's label, as a Pi 5 numbers its chips
// otherwise than a Pi 4. It has its level from the moment it is requested, can be
// read back while it is an output, and may vanish with its chip and come back.
// The source is the kernel's Documentation/userspace-api/gpio (version 2 of the
// interface; version 1 before Linux 5.10, without debouncing).
//
// It knows no devices: what a line or a bus is for, its drivers know.
package board

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Line says which GPIO line is meant.
type Line struct {
	Chip string `json:"chip,omitempty"` // gpiochip0, or a chip's label; "": the chip that has the line
	Line string `json:"line"`           // its name, GPIO17, or its number on the chip
}

func (l Line) String() string {
	if l.Chip == "" {
		return "line " + l.Line
	}
	return "line " + l.Line + " of " + l.Chip
}

// Same is the same for all spellings of a line, as far as they tell: "GPIO17" is 17 on
// a Raspberry Pi's header, which is gpiochip0 where no chip is said.
func (l Line) Same() string {
	name, chip := strings.TrimSpace(l.Line), strings.TrimPrefix(strings.TrimSpace(l.Chip), "/dev/")
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "GPIO")); err == nil {
		name = strconv.Itoa(n)
	}
	if chip == "gpiochip0" || slices.Contains(header, chip) {
		chip = ""
	}
	return strings.TrimSpace("line " + name + " " + chip)
}

// Found is where the line is on this machine, in words; "" where it is not.
func (l Line) Found(k Chips) string {
	p, err := Find(k, l)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d", p.Chip.Name, p.Offset)
}

// maxLine is above the number of any line: the kernel's chips have some hundreds.
const maxLine = 4096

// Validate tells what cannot be, each mistake beginning with its key.
func (l Line) Validate() error {
	if strings.TrimSpace(l.Line) == "" {
		return errors.New("line: is missing; write a line's name or number, such as GPIO17; gpioinfo (package gpiod) lists them")
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(l.Line), "GPIO")); err == nil && (n < 0 || n > maxLine) {
		return fmt.Errorf("line: %s is on no chip; write the name or the number that gpioinfo (package gpiod) shows, such as GPIO17", l.Line)
	}
	return nil
}

// Start is what a line is when it is requested.
type Start int

// Values of Start.
const (
	Keep  Start = iota // an output at the level that it has
	Off                // an output that is inactive
	On                 // an output that is active
	Input              // an input
)

// StartOf is Off or On.
func StartOf(on bool) Start {
	if on {
		return On
	}
	return Off
}

// Request is how a line is to be held.
type Request struct {
	Label     string // who holds it, for others to read; the kernel keeps 31 bytes
	Start     Start
	ActiveLow bool   // active is 0 V
	OpenDrain bool   // an output only pulls to 0 V
	Bias      string // up, down or none; "": as it is
	Debounce  time.Duration
	Edge      func(active bool) // an input's changes; it must not block
}

// Held is a line that was requested. Its values are logical: active or not.
// Errors that are ErrGone tell that its chip has vanished.
type Held interface {
	Value() (bool, error)
	Set(on bool) error
	Close() error
}

// Chip is a GPIO chip.
type Chip struct {
	Name  string // gpiochip0
	Label string // pinctrl-bcm2711
	Lines int
}

// Info is what can be known of a line without holding it.
type Info struct {
	Name     string // GPIO17; "" for none
	Used     bool
	Consumer string // who holds it; "" where the kernel does not say
	Output   bool
}

// Chips are the machine's GPIO chips, or what plays them in a test.
type Chips interface {
	List() ([]Chip, error)
	Info(chip string, offset int) (Info, error)
	Request(chip string, offset int, r Request) (Held, error)
	// Borrow is a line that another process holds, of this user: both have it then.
	// holder is the line's Consumer.
	Borrow(chip string, offset int, holder string) (Held, error)
}

var (
	// ErrGone: the chip has vanished while its line was held.
	ErrGone = errors.New("its chip is gone")
	// ErrAbsent: there is no such line, or its chip is not plugged in.
	ErrAbsent = errors.New("is not there")
	// ErrBusy: somebody else holds the line.
	ErrBusy = errors.New("is in use")
)

// Place is where a line was found.
type Place struct {
	Chip   Chip
	Offset int
	Name   string // of the line; "" for none
}

func (p Place) String() string {
	if p.Name == "" {
		return fmt.Sprintf("line %d of %s", p.Offset, p.Chip.Name)
	}
	return fmt.Sprintf("line %d of %s (%s)", p.Offset, p.Chip.Name, p.Name)
}

// header are the labels of the chips that a Raspberry Pi has its header on.
var header = []string{"pinctrl-rp1", "pinctrl-bcm2712", "pinctrl-bcm2711", "pinctrl-bcm2835"}

// Find looks for a line on all chips, or on the one that it names.
func Find(k Chips, l Line) (Place, error) {
	all, err := k.List()
	if err != nil {
		return Place{}, cannotBeHad(l, err)
	}
	chips := slices.DeleteFunc(slices.Clone(all), func(c Chip) bool { return l.Chip != "" && !c.called(l.Chip) })
	switch {
	case len(all) == 0:
		return Place{}, fmt.Errorf("%s %w: this machine has no GPIO chip; is it plugged in, and may messkit open /dev/gpiochip*?", l, ErrAbsent)
	case len(chips) == 0:
		return Place{}, fmt.Errorf("%s %w: there is no such chip; there are: %s", l, ErrAbsent, listed(all))
	}
	if n, err := strconv.Atoi(l.Line); err == nil {
		return byNumber(l, chips, n)
	}
	return byName(k, l, chips)
}

// called reports whether a chip has this name or label.
func (c Chip) called(name string) bool {
	return c.Name == strings.TrimPrefix(name, "/dev/") || c.Label == name
}

// byNumber is a number on the only chip, or on a Pi's header.
func byNumber(l Line, chips []Chip, n int) (Place, error) {
	c, ok := only(chips)
	switch {
	case !ok:
		return Place{}, fmt.Errorf("%s: it may be on any of several chips; write chip: with one of %s", l, listed(chips))
	case n < 0 || n >= c.Lines:
		return Place{}, fmt.Errorf("%s: %s has lines 0 to %d; write one of those, or the name of one", l, c.Name, c.Lines-1)
	}
	return Place{Chip: c, Offset: n}, nil
}

// only is the only chip, or a Pi's.
func only(chips []Chip) (Chip, bool) {
	if len(chips) == 1 {
		return chips[0], true
	}
	for _, label := range header {
		if i := slices.IndexFunc(chips, func(c Chip) bool { return c.Label == label }); i >= 0 {
			return chips[i], true
		}
	}
	return Chip{}, false
}

// byName is the line of that name. A Pi whose device tree names no lines has
// GPIO17 as number 17 of its header.
func byName(k Chips, l Line, chips []Chip) (Place, error) {
	var found []Place
	for _, c := range chips {
		for n := range c.Lines {
			if info, err := k.Info(c.Name, n); err == nil && info.Name == l.Line {
				found = append(found, Place{c, n, info.Name})
			}
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return Place{}, fmt.Errorf("%s: there are %d of that name (%s, %s); write chip: as well", l, len(found), found[0], found[1])
	}
	number, numbered := strings.CutPrefix(l.Line, "GPIO")
	if n, err := strconv.Atoi(number); numbered && err == nil {
		if c, ok := only(chips); ok && slices.Contains(header, c.Label) {
			return byNumber(l, []Chip{c}, n)
		}
	}
	return Place{}, fmt.Errorf("%s %w: no line has that name; write another, or its number and chip: (%s)", l, ErrAbsent, listed(chips))
}

// listed names chips for a person.
func listed(chips []Chip) string {
	names := make([]string, len(chips))
	for i, c := range chips {
		names[i] = c.Name
		if c.Label != "" {
			names[i] += " " + strconv.Quote(c.Label)
		}
	}
	return strings.Join(names, ", ")
}
