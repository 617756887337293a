package output

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// ErrQuiet ends with exit code 1 where everything has been said.
var ErrQuiet = errors.New("failed")

// UsageError is a command line with a value that cannot be.
type UsageError struct {
	error
	Command *cobra.Command
}

// Usagef is an error of the command line that c found after it had begun.
func Usagef(c *cobra.Command, format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...), c}
}

// HintError is an error with what helps against it.
type HintError struct {
	error
	Hint string
}

// Unwrap returns the error without its hint.
func (h *HintError) Unwrap() error { return h.error }

// Hint adds to an error what helps against it.
func Hint(err error, format string, args ...any) error {
	return &HintError{err, fmt.Sprintf(format, args...)}
}
