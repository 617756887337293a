package output

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// ErrQuiet ends a command with exit code 1 and without a further message.
var ErrQuiet = errors.New("failed")

// UsageError is an error of the command line.
type UsageError struct {
	error
	Command *cobra.Command
}

// Usagef returns an error of the command line that c finds after its begin.
func Usagef(c *cobra.Command, format string, args ...any) error {
	return &UsageError{fmt.Errorf(format, args...), c}
}

// HintError is an error with a remedy.
type HintError struct {
	error
	Hint string
}

// Unwrap returns the error without its hint.
func (h *HintError) Unwrap() error { return h.error }

// Hint adds a remedy to an error.
func Hint(err error, format string, args ...any) error {
	return &HintError{err, fmt.Sprintf(format, args...)}
}
