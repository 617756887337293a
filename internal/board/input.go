package board

import (
	"gobot.io/x/gobot/v2"
	"gobot.io/x/gobot/v2/drivers/gpio"
)

// InputLine is an input line as a Gobot adaptor. Each pin name reads this line. It is safe for
// concurrent use.
type InputLine struct{ pin }

var (
	_ gobot.Adaptor      = (*InputLine)(nil)
	_ gpio.DigitalReader = (*InputLine)(nil)
)

// NewInputLine returns an input. It does not request the line yet.
func NewInputLine(k Chips, l Line, req Request) *InputLine {
	return &InputLine{pin{chips: k, line: l, req: req, name: "board"}}
}

// Connect requests the line.
func (s *InputLine) Connect() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(Input)
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
func (s *InputLine) DigitalRead(string) (int, error) { return s.read(Input) }
