package gate

import (
	"errors"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// askedError is what was wrong with a question to a device. That nothing was done goes
// without saying there, and would be read of the act that it was asked about.
type askedError struct{ err error }

func (e *askedError) Error() string {
	return strings.ReplaceAll(e.err.Error(), drivers.ErrNothingDone.Error()+": ", "")
}

func (e *askedError) Unwrap() error { return e.err }

// asked words an error of a verb that reads.
func asked(err error) error {
	if !errors.Is(err, drivers.ErrNothingDone) {
		return err
	}
	return &askedError{err}
}
