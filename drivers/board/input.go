package board

import (
	"errors"
	"fmt"
	"sync"

	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"
)

// Source is an input line as a Gobot adaptor. Each pin name reads this line. It is safe for
// concurrent use.
type Source struct {
	chips Chips
	line  Line
	req   Request

	mu   sync.Mutex
	name string
	held Held
	at   Place
}

var (
	_ gobot.Adaptor      = (*Source)(nil)
	_ gpio.DigitalReader = (*Source)(nil)
)

// NewSource returns an input. It does not request the line yet.
func NewSource(k Chips, l Line, req Request) *Source {
	req.Start = Input
	return &Source{chips: k, line: l, req: req, name: "board"}
}

// Name returns the name of the adaptor.
func (s *Source) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// SetName changes the name of the adaptor.
func (s *Source) SetName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.name = name
}

// Connect requests the line.
func (s *Source) Connect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open()
}

// Finalize releases the line.
func (s *Source) Finalize() error {
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
func (s *Source) DigitalRead(string) (int, error) {
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
func (s *Source) open() (err error) {
	if s.held != nil {
		return nil
	}
	s.held, s.at, err = Open(s.chips, s.line, s.req)
	return err
}
