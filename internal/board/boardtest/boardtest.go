// Package boardtest simulates GPIO chips in memory: lines with one consumer at a time,
// external levels, and chips that vanish. It records each level that a consumer sets on a
// line, from the request on.
package boardtest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/messkit/messkit/internal/board"
)

// Chips simulates a set of chips. It is safe for concurrent use.
type Chips struct {
	mu    sync.Mutex
	chips []*chip
}

type chip struct {
	board.Chip
	lines []*line
	gone  bool
}

// line is one line; level is physical (true is high).
type line struct {
	name      string
	holder    *handle
	consumer  string
	output    bool
	level     bool
	activeLow bool
	log       []bool // levels that consumers set
	bias      string
}

var _ board.Chips = (*Chips)(nil)

// New returns a set of chips. Their lines are inputs without names.
func New(chips ...board.Chip) *Chips {
	c := &Chips{}
	for _, one := range chips {
		c.plug(one)
	}
	return c
}

// Pi returns the chips of a Raspberry Pi 4, whose lines have names.
func Pi() *Chips {
	c := New(board.Chip{Name: "gpiochip0", Label: "pinctrl-bcm2711", Lines: 58}, board.Chip{Name: "gpiochip1", Label: "raspberrypi-exp-gpio", Lines: 8})
	for n := range 28 {
		c.Name("gpiochip0", n, fmt.Sprintf("GPIO%d", n))
	}
	return c
}

func (c *Chips) plug(one board.Chip) {
	new := &chip{Chip: one}
	for range one.Lines {
		new.lines = append(new.lines, &line{})
	}
	c.chips = append(c.chips, new)
}

// Name sets the name of a line.
func (c *Chips) Name(chip string, offset int, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.line(chip, offset).name = name
}

// Take gives a line to another consumer.
func (c *Chips) Take(chip string, offset int, consumer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.line(chip, offset)
	l.holder, l.consumer = &handle{}, consumer
}

// Pull sets the level of a line from outside, also that of an output, as a defective
// circuit does. It calls the Edge function of the consumer.
func (c *Chips) Pull(chip string, offset int, level bool) {
	c.mu.Lock()
	l := c.line(chip, offset)
	changed := l.level != level
	l.level = level
	var edge func(bool)
	if changed && l.holder != nil {
		edge = l.holder.req.Edge
	}
	active := level != l.activeLow
	c.mu.Unlock()
	if edge != nil {
		edge(active)
	}
}

// Level returns the physical level of a line.
func (c *Chips) Level(chip string, offset int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.line(chip, offset).level
}

// Log returns every level that consumers set on a line.
func (c *Chips) Log(chip string, offset int) []bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.line(chip, offset).log)
}

// Unplug removes a chip. Level still returns the levels of its lines.
func (c *Chips) Unplug(name string) { c.set(name, true) }

// Replug returns the chip, with its lines as inputs.
func (c *Chips) Replug(name string) { c.set(name, false) }

func (c *Chips) set(name string, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.chips {
		if one.Chip.Name != name {
			continue
		}
		one.gone = gone
		for _, l := range one.lines {
			if l.holder != nil {
				l.holder.gone = true
			}
			l.holder, l.output = nil, false
		}
	}
}

// line returns a line. It panics if the chip does not exist, which is an error of the test.
// The caller holds mu.
func (c *Chips) line(name string, offset int) *line {
	for _, one := range c.chips {
		if one.Chip.Name == name {
			return one.lines[offset]
		}
	}
	panic("boardtest: no chip has the name " + name)
}

// List implements board.Chips.
func (c *Chips) List() ([]board.Chip, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []board.Chip
	for _, one := range c.chips {
		if !one.gone {
			list = append(list, one.Chip)
		}
	}
	return list, nil
}

// Info implements board.Chips.
func (c *Chips) Info(chip string, offset int) (board.Info, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.line(chip, offset)
	return board.Info{Name: l.name, Used: l.holder != nil, Consumer: l.consumer, Output: l.output}, nil
}

// Request implements board.Chips.
func (c *Chips) Request(chip string, offset int, r board.Request) (board.RequestedLine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.line(chip, offset)
	if l.holder != nil {
		return nil, board.ErrBusy
	}
	l.holder = &handle{chips: c, line: l, req: r}
	l.consumer, l.activeLow, l.output, l.bias = r.Label, r.ActiveLow, r.Start != board.Input, r.Bias
	switch r.Start {
	case board.On, board.Off:
		l.drive(r.Start == board.On)
	case board.Input:
		switch r.Bias {
		case "up":
			l.level = true
		case "down":
			l.level = false
		}
	}
	return l.holder, nil
}

// Borrow implements board.Chips.
func (c *Chips) Borrow(chip string, offset int, _ string) (board.RequestedLine, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.line(chip, offset)
	return &handle{chips: c, line: l, second: true}, nil
}

// drive sets the level for active or inactive. The caller holds mu.
func (l *line) drive(on bool) {
	l.level = on != l.activeLow
	l.log = append(l.log, l.level)
}

// handle is a requested line.
type handle struct {
	chips  *Chips
	line   *line
	req    board.Request
	gone   bool
	second bool
}

func (h *handle) Value() (bool, error) {
	h.chips.mu.Lock()
	defer h.chips.mu.Unlock()
	if h.gone {
		return false, board.ErrGone
	}
	return h.line.level != h.line.activeLow, nil
}

func (h *handle) Set(on bool) error {
	h.chips.mu.Lock()
	defer h.chips.mu.Unlock()
	if h.gone {
		return board.ErrGone
	}
	h.line.drive(on)
	return nil
}

func (h *handle) Close() error {
	h.chips.mu.Lock()
	defer h.chips.mu.Unlock()
	if h.line.holder == h {
		h.line.holder = nil
	}
	return nil
}
