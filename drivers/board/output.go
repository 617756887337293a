package board

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"
)

// labelPrefix is what the consumer of each of our lines begins with; the number
// of the process follows, then the device.
const labelPrefix = "messkit "

// Label is the consumer of a line that this process holds for a device.
func Label(device string) string { return fmt.Sprintf("%s%d %s", labelPrefix, os.Getpid(), device) }

// Output is a line as a Gobot adaptor: whatever pin is written, it is this line.
// It is safe for concurrent use.
type Output struct {
	chips Chips
	line  Line
	req   Request

	mu   sync.Mutex
	name string
	held Held // nil while it is not open
	at   Place
}

var (
	_ gobot.Adaptor      = (*Output)(nil)
	_ gpio.DigitalWriter = (*Output)(nil)
	_ gpio.DigitalReader = (*Output)(nil)
)

// NewOutput makes an output for a device; req.Start is its initial level.
func NewOutput(k Chips, l Line, req Request) *Output {
	return &Output{chips: k, line: l, req: req, name: "board"}
}

// Name is that of the adaptor.
func (o *Output) Name() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.name
}

// SetName changes it.
func (o *Output) SetName(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.name = name
}

// Connect takes the line to its initial level. One that is held already goes to
// that level as well.
func (o *Output) Connect() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.held != nil && o.req.Start != Keep {
		return o.set(o.req.Start == On)
	}
	return o.open(o.req.Start)
}

// Finalize lets go of the line. What its level is then, the chip's driver in the
// kernel decides: many keep it, older ones of a Pi make it an input.
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

// DigitalWrite makes the line active (1) or inactive (0). Where it is not held,
// or its chip has vanished and come back, it is requested at that level.
func (o *Output) DigitalWrite(_ string, level byte) error {
	if level > 1 {
		return fmt.Errorf("%s: there is no level %d; write 0 or 1", o.line, level)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.set(level == 1)
}

// DigitalRead reads the line back, as the output that it is.
func (o *Output) DigitalRead(string) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var on bool
	err := o.use(Keep, func() (err error) { on, err = o.held.Value(); return err })
	if err != nil || !on {
		return 0, err
	}
	return 1, nil
}

// set makes the line active or not. mu is held.
func (o *Output) set(on bool) error {
	return o.use(StartOf(on), func() error { return o.held.Set(on) })
}

// use does something with the line, once more where its chip has vanished and may
// be back. Nothing can have been done by a chip that was gone. mu is held.
func (o *Output) use(start Start, f func() error) error {
	for again := true; ; again = false {
		if err := o.open(start); err != nil {
			return err
		}
		err := f()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("%s: %w", o.at, err)
		if !errors.Is(err, ErrGone) {
			return err
		}
		_ = o.held.Close() // there is nothing any more that it could fail for
		o.held = nil
		if !again {
			return err
		}
	}
}

// open requests the line if it is not held. mu is held.
func (o *Output) open(start Start) (err error) {
	if o.held != nil {
		return nil
	}
	req := o.req
	req.Start = start
	o.held, o.at, err = Open(o.chips, o.line, req)
	return err
}

// Look finds the line and says how it is, without requesting it. It is a *BusyError
// where somebody holds it.
func (o *Output) Look() (string, error) {
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
	return fmt.Sprintf("%s is there and free", p), nil
}

// Open finds a line and requests it.
func Open(k Chips, l Line, req Request) (Held, Place, error) {
	p, err := Find(k, l)
	if err != nil {
		return nil, p, err
	}
	h, err := k.Request(p.Chip.Name, p.Offset, req)
	switch {
	case err == nil:
		return h, p, nil
	case errors.Is(err, ErrBusy):
		info, _ := k.Info(p.Chip.Name, p.Offset) // without it the holder is not known
		return nil, p, &BusyError{p, info.Consumer}
	}
	return nil, p, cannotBeHad(p, err)
}

// cannotBeHad is a line, or where it was found, that the kernel does not give.
func cannotBeHad(what fmt.Stringer, err error) error {
	return fmt.Errorf("%s: cannot be had: %w; %s", what, err, advise(err))
}

func advise(err error) string {
	if errors.Is(err, os.ErrPermission) {
		return "let messkit's user into the group that /dev/gpiochip* has (sudo usermod -aG gpio USER on a Pi), and log in again"
	}
	return "is it an input alone, or reserved?"
}
