package template

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"
)

// Motor describes the movements of a cover by a template. M is a message to the device.
type Motor[M any] struct {
	Open, Close []M // none: the driver sends To with the position of the end
	To          []M // {position} is the target; none: the cover knows only its ends
	Stop        []M
	Scale       PositionScale
	Takes       time.Duration // longest time from one end to the other; 0: coverTime
	Values      Values
	Begin       func(ctx context.Context, messages []M, values Values) error // begins a movement
	End         func(ctx context.Context, messages []M, values Values) error // sends the stop messages
	Look        func(context.Context) (CoverPosition, error)                 // reads the present position
	Every       time.Duration                                                // poll interval during a movement
	Timeout     time.Duration                                                // for a stopped cover to stand still
}

// coverTime is the default time limit of a movement.
const coverTime = 3 * time.Minute

// Cover returns the verbs of the cover.
func (m Motor[M]) Cover() *Cover {
	var to func(float64) Movement
	if len(m.To) > 0 {
		to = func(percent float64) Movement { return m.travel(m.To, m.Scale.Word(m.Values, percent), percent) }
	}
	if len(m.Open) == 0 {
		return NewCover(to(100), to(0), to)
	}
	return NewCover(m.travel(m.Open, "", 100), m.travel(m.Close, "", 0), to)
}

func (m Motor[M]) travel(messages []M, position string, to float64) Movement {
	values := m.Values.With(Values{"position": position})
	return Movement{
		Go:   func(ctx context.Context) error { return m.Begin(ctx, messages, values) },
		Stop: func(ctx context.Context) error { return m.End(ctx, m.Stop, m.Values) },
		Look: m.Look, To: to, Limit: cmp.Or(m.Takes, coverTime), Every: m.Every, Timeout: m.Timeout,
	}
}

// CoverParts contains the parts of a cover that are the same for each transport.
type CoverParts struct {
	To, Position bool        // whether the template has these keys
	State        *StateWords // nil without words for the movement
	Scale        PositionScale
	Switch       bool // whether the template has a switch, too
}

// CheckCover returns the errors in the parts of a cover.
func CheckCover(c CoverParts, with map[string]Param) []error {
	errs := CheckPlaceholders("cover.closed", Placeholders(c.Scale.Closed), with)
	if c.To && !c.Position {
		errs = append(errs, errors.New("cover.position: is missing; a cover with positions must report its position"))
	}
	switch {
	case c.Position:
	case c.State == nil:
		errs = append(errs, errors.New("cover.position: is missing, and so is state; without readback the driver cannot know that the cover is closed"))
	case len(c.State.Open) == 0 || len(c.State.Closed) == 0:
		errs = append(errs, errors.New("cover.state: needs words for open and closed, because the template has no position"))
	}
	if closed := c.Scale.Closed; closed != "" && closed != "0" && closed != "100" && len(Placeholders(closed)) == 0 {
		errs = append(errs, fmt.Errorf("cover.closed: %q is invalid; write 0, or 100 for a reversed scale", closed))
	}
	if c.Switch {
		errs = append(errs, errors.New("cover: excludes switch; remove one of them"))
	}
	return errs
}
