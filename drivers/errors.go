package drivers

import (
	"errors"
	"fmt"
	"time"
)

// Errors that every driver words for itself and wraps, so that a caller can
// tell them apart with errors.Is.
var (
	// ErrNotStarted: a verb was called before Start or after Halt. Nothing was
	// done.
	ErrNotStarted = errors.New("not started")
	// ErrBusy: the device does one thing at a time and is at another. Nothing
	// was done; the error's text says what it is doing.
	ErrBusy = errors.New("busy")
	// ErrHalted: the device was halted while it was at it. How far it came is not
	// known, unless the error is ErrNothingDone too.
	ErrHalted = errors.New("halted meanwhile")
	// ErrMayAct: whatever the device says of itself now, it may do yet what it was
	// told: it has not said that it heard, or could not be stopped.
	ErrMayAct = errors.New("it may still act")
	// ErrStopped: another request has ended what it was at.
	ErrStopped = errors.New("stopped by another request")
	// ErrLostSight: a robot was out of reach while it was at its task, and stands
	// somewhere since.
	ErrLostSight = errors.New("it was out of reach while it was at it, and stands still now, and not in its dock: whether it has done is not known")
	// ErrNoPrint: the printer was asked, and has no such print.
	ErrNoPrint = errors.New("it is not that print")
	// ErrNoReading: it was asked what it measures, and has told nothing: others of its
	// kind measure something.
	ErrNoReading = errors.New("it measures nothing of what its family may measure")
	// ErrSilent: it tells what it measures by itself, and has not done so yet. A sensor
	// with a battery may sleep for hours. It is ErrNoReading too.
	ErrSilent = fmt.Errorf("it has told nothing yet: %w", ErrNoReading)
	// ErrUnmoved: it was told to go, and stands where it stood before. Whether it has heard
	// is not known.
	ErrUnmoved = errors.New("it has not moved")
	// ErrNothingDone: the device has not heard of it, or has refused it. Nothing was
	// done. NotDone wraps it.
	ErrNothingDone = errors.New("nothing was done")
)

// NotDone is err of what the device has not heard of, or has refused: it is
// ErrNothingDone too. Its text does not say so, or one would read that of a look at what
// has been done; who tells what came of an act says it, once. nil stays nil.
func NotDone(err error) error {
	if err == nil || errors.Is(err, ErrNothingDone) {
		return err
	}
	return &notDone{err}
}

type notDone struct{ error }

func (e *notDone) Unwrap() []error { return []error{e.error, ErrNothingDone} }

// LateTime is how long a command may still take effect that the device has not answered:
// a hub waits so long for a device on its radio network.
const LateTime = time.Minute

// Unanswered is err of a command that the device may have received and has not answered:
// it is ErrMayAct too. Its text does not say so, as that of NotDone does not. nil stays
// nil, and so does an error that says that nothing was done.
func Unanswered(err error) error {
	if err == nil || errors.Is(err, ErrMayAct) || errors.Is(err, ErrNothingDone) {
		return err
	}
	return &unanswered{err}
}

type unanswered struct{ error }

func (e *unanswered) Unwrap() []error { return []error{e.error, ErrMayAct} }

// HelpError is a device that does not go on until a person has been there.
type HelpError struct {
	Problem string // "its wheel is stuck"
	Help    string // "free the wheel and set it on the floor"
}

func (e *HelpError) Error() string { return e.Problem + "; " + e.Help }
