package drivers

import "errors"

// Errors that every driver words for itself and wraps, so that a caller can
// tell them apart with errors.Is.
var (
	// ErrNotStarted: a verb was called before Start or after Halt. Nothing was
	// done.
	ErrNotStarted = errors.New("not started")
	// ErrBusy: the device does one thing at a time and is at another. Nothing
	// was done; the error's text says what it is doing.
	ErrBusy = errors.New("busy")
)
