package board

import (
	"errors"
	"fmt"
	"os"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"
)

// labelPrefix begins the consumer name of each line that messkit requests. The process ID
// and the name of the device follow.
const labelPrefix = "messkit "

// ConsumerName returns the consumer name of a line that this process requests for a device.
func ConsumerName(device string) string {
	return fmt.Sprintf("%s%d %s", labelPrefix, os.Getpid(), device)
}

// Output is an output line as a Gobot adaptor. Each pin name writes this line. It is safe
// for concurrent use.
type Output struct{ pin }

var (
	_ gobot.Adaptor      = (*Output)(nil)
	_ gpio.DigitalWriter = (*Output)(nil)
	_ gpio.DigitalReader = (*Output)(nil)
)

// NewOutput returns an output for a device; req.Start is its initial level. It does not
// request the line yet.
func NewOutput(k Chips, l Line, req Request) *Output {
	return &Output{pin{chips: k, line: l, req: req, name: "board"}}
}

// Connect takes the line to its initial level, also if this process already has the line.
func (o *Output) Connect() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held != nil && o.req.Start != Keep {
		return o.set(o.req.Start == On)
	}
	return o.open(o.req.Start)
}

// Finalize releases the line. The chip's driver in the kernel decides its level after that:
// many drivers keep it, older drivers of a Pi make the line an input.
func (o *Output) Finalize() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held == nil {
		return nil
	}
	err := o.held.Close()
	o.held = nil
	return err
}

// DigitalWrite makes the line active (1) or inactive (0). It requests the line at that
// level if this process does not have it, or if its chip has vanished and returned.
func (o *Output) DigitalWrite(_ string, level byte) error {
	if level > 1 {
		return fmt.Errorf("%s: unknown level %d; write 0 or 1", o.line, level)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.set(level == 1)
}

// DigitalRead reads back the level of the output: 1 is active.
func (o *Output) DigitalRead(string) (int, error) { return o.read(Keep) }

// set makes the line active or inactive. The caller holds mu.
func (o *Output) set(on bool) error {
	return o.use(StartLevel(on), func() error { return o.held.Set(on) })
}

// Status finds the line and describes its state, without a request. It returns a *BusyError
// if another consumer has the line.
func (o *Output) Status() (string, error) {
	p, err := Find(o.chips, o.line)
	if err != nil {
		return "", err
	}
	info, err := o.chips.Info(p.Chip.Name, p.Offset)
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w; %s", p, err, advise(err))
	case info.Used:
		return "", &BusyError{p, info.Consumer}
	}
	return fmt.Sprintf("%s exists and is free", p), nil
}

// Open finds a line and requests it.
func Open(k Chips, l Line, req Request) (RequestedLine, Position, error) {
	p, err := Find(k, l)
	if err != nil {
		return nil, p, err
	}
	h, err := k.Request(p.Chip.Name, p.Offset, req)
	switch {
	case err == nil:
		return h, p, nil
	case errors.Is(err, ErrBusy):
		info, _ := k.Info(p.Chip.Name, p.Offset) // if Info fails, the holder remains unknown
		return nil, p, &BusyError{p, info.Consumer}
	}
	return nil, p, cannotBeHad(p, err)
}

// cannotBeHad returns an error for a line that the kernel does not grant.
func cannotBeHad(what fmt.Stringer, err error) error {
	return fmt.Errorf("%s: request failed: %w; %s", what, err, advise(err))
}

func advise(err error) string {
	if errors.Is(err, os.ErrPermission) {
		return "add the user of messkit to the group of /dev/gpiochip* (sudo usermod -aG gpio USER on a Pi), and log in again"
	}
	return "check that the line is neither input only nor reserved"
}
