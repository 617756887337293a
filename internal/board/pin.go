package board

import (
	"errors"
	"fmt"
	"sync"
)

// pin is one line as a Gobot adaptor, which has this line under each pin name. It is safe for
// concurrent use.
type pin struct {
	chips Chips
	line  Line
	req   Request

	mu   sync.Mutex
	name string
	held RequestedLine // nil before the request of the line
	at   Position
}

// Name returns the name of the adaptor.
func (p *pin) Name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.name
}

// SetName changes the name of the adaptor.
func (p *pin) SetName(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.name = name
}

// read reads the line: 1 is active. start is the state for a new request of the line.
func (p *pin) read(start Start) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var on bool
	err := p.use(start, func() (err error) { on, err = p.held.Value(); return err })
	if err != nil || !on {
		return 0, err
	}
	return 1, nil
}

// use calls f with the line. If the chip has vanished, use requests the line again and
// calls f once more. The second call is safe, because a chip that was gone has done
// nothing. The caller holds mu.
func (p *pin) use(start Start, f func() error) error {
	for again := true; ; again = false {
		if err := p.open(start); err != nil {
			return err
		}
		err := f()
		if err == nil {
			return nil
		}
		err = fmt.Errorf("%s: %w", p.at, err)
		if !errors.Is(err, ErrGone) {
			return err
		}
		_ = p.held.Close() // an error does not matter, since the chip is gone
		p.held = nil
		if !again {
			return err
		}
	}
}

// open requests the line if this process does not have it. The caller holds mu.
func (p *pin) open(start Start) (err error) {
	if p.held != nil {
		return nil
	}
	req := p.req
	req.Start = start
	p.held, p.at, err = Open(p.chips, p.line, req)
	return err
}
