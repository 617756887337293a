package drivers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"
)

// Drivers wrap these errors in texts of their own, so that a caller can distinguish them
// with errors.Is.
var (
	// ErrNotStarted reports a verb before Start or after Halt. The driver did nothing.
	ErrNotStarted = errors.New("not started")
	// ErrBusy reports that the device already executes another task and can execute only
	// one. The driver did nothing. The text of the error names the other task.
	ErrBusy = errors.New("busy")
	// ErrHalted reports that Halt interrupted the verb. The progress is unknown, unless the
	// error is ErrNothingDone too.
	ErrHalted = errors.New("halted during the call")
	// ErrMayAct reports that the device may still execute the command, no matter what state
	// it reports now: it has not acknowledged the command, or the driver could not stop it.
	ErrMayAct = errors.New("it may still act")
	// ErrStopped reports that another request terminated the task.
	ErrStopped = errors.New("stopped by another request")
	// ErrOutcomeUnknown reports that a robot was unreachable during its task and now stands
	// still outside of its dock.
	ErrOutcomeUnknown = errors.New("outcome unknown: the robot was unreachable during its task, and now stands still outside of its dock")
	// ErrNoPrint reports that the printer answered and does not know the print.
	ErrNoPrint = errors.New("the printer does not know that print")
	// ErrNoReading reports that the device answered without a measurement. Other models of
	// the same template have sensors.
	ErrNoReading = errors.New("the device has none of the sensors of its template")
	// ErrNoReadingYet reports that the device sends its measurements on its own schedule and has
	// not sent any yet. A sensor with a battery may sleep for hours. The error is
	// ErrNoReading too.
	ErrNoReadingYet = fmt.Errorf("the device has sent no measurement yet: %w", ErrNoReading)
	// ErrNotMoved reports that the device got a command to move and stands where it stood
	// before. Whether it received the command is unknown.
	ErrNotMoved = errors.New("the device has not moved")
	// ErrNothingDone reports that the device did not receive the command or rejected it,
	// and did nothing. Use MarkNothingDone to wrap an error with it.
	ErrNothingDone = errors.New("nothing was done")
)

// MarkNothingDone marks err as ErrNothingDone: the device did not receive the command or
// rejected it. The text of err stays the same, because the caller that reports the outcome
// of the command adds "nothing was done" once. MarkNothingDone returns nil for nil.
func MarkNothingDone(err error) error {
	if err == nil || errors.Is(err, ErrNothingDone) {
		return err
	}
	return &notDone{err}
}

type notDone struct{ error }

func (e *notDone) Unwrap() []error { return []error{e.error, ErrNothingDone} }

// LateEffectTime is how long an unanswered command may still take effect. A hub waits this long
// for a device on its radio network.
const LateEffectTime = time.Minute

// MarkMayAct marks err as ErrMayAct: the device may have received the command and has not
// answered. The text of err stays the same, as in MarkNothingDone. MarkMayAct returns nil
// for nil, and returns an ErrNothingDone unchanged.
func MarkMayAct(err error) error {
	if err == nil || errors.Is(err, ErrMayAct) || errors.Is(err, ErrNothingDone) {
		return err
	}
	return &unanswered{err}
}

type unanswered struct{ error }

func (e *unanswered) Unwrap() []error { return []error{e.error, ErrMayAct} }

// HelpError reports that a device cannot continue until a person has helped it. Both texts are
// parts of a sentence without a full stop.
type HelpError struct {
	Problem string // "its wheel is stuck"
	Help    string // "free the wheel and set it on the floor"
}

func (e *HelpError) Error() string { return e.Problem + "; " + e.Help }

// Facts returns the problem and the help as facts of an observation.
func (e *HelpError) Facts() []Fact {
	return []Fact{{Name: "problem", Value: e.Problem}, {Name: "help", Value: e.Help}}
}

// DropUnsent sets whether Close of a connection discards the bytes that the kernel has not
// sent yet, or continues to send them. A command must not arrive minutes after its caller
// has given up, because the kernel repeats it.
func DropUnsent(conn net.Conn, drop bool) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	seconds := -1
	if drop {
		seconds = 0
	}
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetLinger(seconds) // a closed connection has nothing to drop
	}
}
