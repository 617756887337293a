// Package board adds two features to Gobot's adaptors for boards, below the same
// interfaces: lines of the kernel's GPIO character device, and its I2C buses, on any Linux
// host.
//
// The package finds a line by its name or by the label of its chip, because a Pi 5 numbers
// its chips differently from a Pi 4. A line has its level from the moment of the request.
// The package can read an output back, and it requests a line again after its chip has
// vanished and returned. Source: the kernel's Documentation/userspace-api/gpio (version 2
// of the interface; version 1 before Linux 5.10, without debouncing).
//
// It knows no devices. Drivers know the purpose of a line or a bus.
package board

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Line identifies a GPIO line.
type Line struct {
	Chip string `json:"chip,omitempty"` // gpiochip0, or the label of a chip; "": the chip that has the line
	Line string `json:"line"`           // name (GPIO17), or number on the chip
}

func (l Line) String() string {
	if l.Chip == "" {
		return "line " + l.Line
	}
	return "line " + l.Line + " of " + l.Chip
}

// Identity returns an identity that is equal for all known spellings of a line. "GPIO17" equals
// 17 on the header of a Raspberry Pi, which is the default chip and gpiochip0.
func (l Line) Identity() string {
	name, chip := strings.TrimSpace(l.Line), strings.TrimPrefix(strings.TrimSpace(l.Chip), "/dev/")
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "GPIO")); err == nil {
		name = strconv.Itoa(n)
	}
	if chip == "gpiochip0" || slices.Contains(header, chip) {
		chip = ""
	}
	return strings.TrimSpace("line " + name + " " + chip)
}

// Location returns the position of the line on this host, such as "gpiochip0 17", or "" if
// this host has no such line.
func (l Line) Location(k Chips) string {
	p, err := Find(k, l)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d", p.Chip.Name, p.Offset)
}

// maxLine is above the number of any line: the chips of the kernel have some hundreds.
const maxLine = 4096

// Validate returns the first error in the values. The error begins with the key.
func (l Line) Validate() error {
	if strings.TrimSpace(l.Line) == "" {
		return errors.New("line: is missing; write the name or number of a line, such as GPIO17; gpioinfo (package gpiod) lists them")
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(l.Line), "GPIO")); err == nil && (n < 0 || n > maxLine) {
		return fmt.Errorf("line: no chip has line %s; write the name or the number that gpioinfo (package gpiod) shows, such as GPIO17", l.Line)
	}
	return nil
}

// Start is the state of a line at its request.
type Start int

// Values of Start.
const (
	Keep  Start = iota // an output that keeps its present level
	Off                // an inactive output
	On                 // an active output
	Input              // an input
)

// StartLevel returns On or Off.
func StartLevel(on bool) Start {
	if on {
		return On
	}
	return Off
}

// Request contains the options of a requested line.
type Request struct {
	Label     string // consumer name that other processes can read; the kernel stores 31 bytes
	Start     Start
	ActiveLow bool   // 0 V is active
	OpenDrain bool   // the output drives only 0 V
	Bias      string // up, down or none; "" keeps the present bias
	Debounce  time.Duration
	Edge      func(active bool) // called at each change of an input; it must not block
}

// RequestedLine is a line that this process has requested. Its values are logical: active or
// not. Its methods return ErrGone if the chip has vanished.
type RequestedLine interface {
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

// Info describes a line without a request.
type Info struct {
	Name     string // GPIO17; "" if the line has no name
	Used     bool
	Consumer string // process or driver that uses the line; "" if the kernel does not report it
	Output   bool
}

// Chips gives access to the GPIO chips of the host, or to simulated chips in a test.
type Chips interface {
	List() ([]Chip, error)
	Info(chip string, offset int) (Info, error)
	Request(chip string, offset int, r Request) (RequestedLine, error)
	// Borrow returns a line that another process of the same user has requested. Both
	// processes then control it. holder is the Consumer of the line.
	Borrow(chip string, offset int, holder string) (RequestedLine, error)
}

var (
	// ErrGone reports that the chip vanished after the request of the line.
	ErrGone = errors.New("its chip is gone")
	// ErrAbsent reports that no chip has the line, or that its chip is not connected.
	ErrAbsent = errors.New("is not there")
	// ErrBusy reports that another process or driver uses the line.
	ErrBusy = errors.New("is in use")
)

// Position is the position of a line.
type Position struct {
	Chip   Chip
	Offset int
	Name   string // name of the line; "" if it has none
}

func (p Position) String() string {
	if p.Name == "" {
		return fmt.Sprintf("line %d of %s", p.Offset, p.Chip.Name)
	}
	return fmt.Sprintf("line %d of %s (%s)", p.Offset, p.Chip.Name, p.Name)
}

// header contains the labels of the chips that drive the header of a Raspberry Pi.
var header = []string{"pinctrl-rp1", "pinctrl-bcm2712", "pinctrl-bcm2711", "pinctrl-bcm2835"}

// Find searches all chips for a line, or only the chip that the line names.
func Find(k Chips, l Line) (Position, error) {
	all, err := k.List()
	if err != nil {
		return Position{}, cannotBeHad(l, err)
	}
	chips := slices.DeleteFunc(slices.Clone(all), func(c Chip) bool { return l.Chip != "" && !c.called(l.Chip) })
	switch {
	case len(all) == 0:
		return Position{}, fmt.Errorf("%s %w: this host has no GPIO chip; connect the chip, and check that messkit may open /dev/gpiochip*", l, ErrAbsent)
	case len(chips) == 0:
		return Position{}, fmt.Errorf("%s %w: the host has no such chip; its chips: %s", l, ErrAbsent, listed(all))
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

// byNumber returns the line with this number on the only chip, or on the header of a
// Raspberry Pi.
func byNumber(l Line, chips []Chip, n int) (Position, error) {
	c, ok := only(chips)
	switch {
	case !ok:
		return Position{}, fmt.Errorf("%s: several chips may have it; write chip: with one of %s", l, listed(chips))
	case n < 0 || n >= c.Lines:
		return Position{}, fmt.Errorf("%s: %s has lines 0 to %d; write one of those numbers, or a name", l, c.Name, c.Lines-1)
	}
	return Position{Chip: c, Offset: n}, nil
}

// only returns the only chip, or else the chip of the header of a Raspberry Pi.
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

// byName returns the line with this name. If the device tree of a Raspberry Pi names no
// lines, GPIO17 is number 17 on the header.
func byName(k Chips, l Line, chips []Chip) (Position, error) {
	var found []Position
	for _, c := range chips {
		for n := range c.Lines {
			if info, err := k.Info(c.Name, n); err == nil && info.Name == l.Line {
				found = append(found, Position{c, n, info.Name})
			}
		}
	}
	if len(found) == 1 {
		return found[0], nil
	}
	if len(found) > 1 {
		return Position{}, fmt.Errorf("%s: %d lines have that name (%s, %s); write chip: as well", l, len(found), found[0], found[1])
	}
	number, numbered := strings.CutPrefix(l.Line, "GPIO")
	if n, err := strconv.Atoi(number); numbered && err == nil {
		if c, ok := only(chips); ok && slices.Contains(header, c.Label) {
			return byNumber(l, []Chip{c}, n)
		}
	}
	return Position{}, fmt.Errorf("%s %w: no line has that name; write another name, or its number and chip: (%s)", l, ErrAbsent, listed(chips))
}

// listed returns the names of the chips for people.
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

// CheckBias returns an error for an unknown bias of a line.
func CheckBias(bias string) error {
	switch bias {
	case "", "up", "down", "none":
		return nil
	}
	return fmt.Errorf("bias: %q is unknown; write up, down or none, or omit the key", bias)
}
