package board

import (
	"errors"
	"fmt"
	"sync"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"
)

// InputLine is an input line as a Gobot adaptor. Each pin name reads this line. It is safe for
// concurrent use.
type InputLine struct {
	chips Chips
	line  Line
	req   Request

	mu   sync.Mutex
	name string
	held RequestedLine
	at   Position
}

var (
	_ gobot.Adaptor      = (*InputLine)(nil)
	_ gpio.DigitalReader = (*InputLine)(nil)
)

// NewInputLine returns an input. It does not request the line yet.
func NewInputLine(k Chips, l Line, req Request) *InputLine {
	req.Start = Input
	return &InputLine{chips: k, line: l, req: req, name: "board"}
}

// Name returns the name of the adaptor.
func (s *InputLine) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// SetName changes the name of the adaptor.
func (s *InputLine) SetName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = name
}

// Connect requests the line.
func (s *InputLine) Connect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open()
}

// Finalize releases the line.
func (s *InputLine) Finalize() error {
	s.mu.Lock()
	held := s.held
	s.held = nil
	s.mu.Unlock()
	if held == nil {
		return nil
	}
	return held.Close() // waits for a running Edge function
}

// DigitalRead reads the line: 1 is active.
func (s *InputLine) DigitalRead(string) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for again := true; ; again = false {
		if err := s.open(); err != nil {
			return 0, err
		}
		active, err := s.held.Value()
		if err == nil {
			if active {
				return 1, nil
			}
			return 0, nil
		}
		err = fmt.Errorf("%s: %w", s.at, err)
		if !errors.Is(err, ErrGone) {
			return 0, err
		}
		_ = s.held.Close() // an error does not matter, since the chip is gone
		s.held = nil
		if !again {
			return 0, err
		}
	}
}

// open requests the line if this process does not have it. The caller holds mu.
func (s *InputLine) open() (err error) {
	if s.held != nil {
		return nil
	}
	s.held, s.at, err = Open(s.chips, s.line, s.req)
	return err
}
